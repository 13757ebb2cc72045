"""What a body is: the grammar of a call's arguments, as data that compiles to a reader."""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from tokenmill.events import AnyEvent, Encoding
from tokenmill.parser.markers import Marker
from tokenmill.parser.run.calls import Verdict
from tokenmill.parser.run.rules import Rules
from tokenmill.parser.run.run import Run
from tokenmill.parser.run.state import OpenCall, State


class Reader(Protocol):
    """A compiled body: reads one call's source. All state is in the call."""

    encoding: Encoding

    @property
    def state_type(self) -> type[msgspec.Struct]:
        """What it keeps of an open call, in `OpenCall.body`: plain data, for snapshots hold it."""

    def begin(self, call: OpenCall) -> msgspec.Struct:
        """The state in front of the body's first character."""

    def quick(self, rules: Rules, parser: State, call: OpenCall, text: str) -> list[AnyEvent] | None:
        """The events of a chunk that is content through and through; None if it must be read with care.

        What it does not read although it answers is put into the `held` of `parser`. The caller adds the rest to the
        source.
        """

    def step(self, run: Run, call: OpenCall, buffer: str, position: int) -> tuple[int, Verdict]:
        """Read on from `position`: the position read to, and what it means for the call.

        What is not read although the call goes on is held back: it can still become a marker.
        """

    def result(self, run: Run, call: OpenCall) -> tuple[dict[str, Any], bool]:
        """The arguments of a complete call and whether they were repaired. Raises `ValueError` with what is wrong."""


class Body(Protocol):
    """The data of a body; `stops` are markers that end it where it has no close of its own."""

    def compile(self, stops: Sequence[Marker]) -> Reader:
        """The reader of this body."""
