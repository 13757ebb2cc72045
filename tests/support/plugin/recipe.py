"""Format `recipe`: a call is `@do NAME`, a line for each argument, `@done`. Its body is a grammar of its own."""

from collections.abc import Sequence
from typing import Any

import msgspec

from tokenmill.events import AnyEvent, Encoding
from tokenmill.parser import Call, Format, Header, Rules, Section
from tokenmill.parser.bodies import Reader
from tokenmill.parser.markers import Marker, Scanner, marker
from tokenmill.parser.run.run import Run, Verdict, send_source
from tokenmill.parser.run.state import OpenCall, State


class Lines:
    """Arguments as lines, `key: value`."""

    def compile(self, stops: Sequence[Marker]) -> Reader:  # noqa: ARG002 -- `@done` is its only end
        return LinesReader()


class LinesState(msgspec.Struct, array_like=True):
    """Where the lines begin and end in the call's source."""

    begin: int
    end: int = -1


class LinesReader:
    encoding: Encoding = "text"
    state_type = LinesState

    def __init__(self) -> None:
        self._end = Scanner([(marker("@done"), True)])

    def begin(self, call: OpenCall) -> LinesState:
        return LinesState(call.source.size)

    def quick(self, rules: Rules, parser: State, call: OpenCall, text: str) -> list[AnyEvent] | None:  # noqa: ARG002 -- always careful
        return None

    def step(self, run: Run, call: OpenCall, buffer: str, position: int) -> tuple[int, Verdict]:
        hit = self._end.find(buffer, position, final=run.final)
        stop = len(buffer) if hit is None else hit.start
        send_source(run, call, buffer[position:stop])
        if hit is None or hit.value is None:
            return stop, Verdict.MORE
        call.body.end = call.source.size + stop - position
        return hit.end, Verdict.DONE

    def result(self, run: Run, call: OpenCall) -> tuple[dict[str, Any], bool]:  # noqa: ARG002 -- values are text
        source = call.source.text()[call.body.begin : call.body.end]
        pairs = [line.partition(":") for line in source.strip().splitlines()]
        if wrong := [line for line, colon, _ in pairs if not colon]:
            raise ValueError(f"{wrong[0]!r} has no colon")
        return {key.strip(): value.strip() for key, _, value in pairs}, False


RECIPE = Format(
    name="Recipe",
    summary="`@do NAME`, lines of arguments, `@done`.",
    sample="First:\n@do stir\nbowl: large\nminutes: 3\n@done",
    aliases=("cookbook",),
    sections=(Section(None, None, (Call(marker("@do "), Lines(), Header(until=marker("\n"))),), bare="always"),),
)
