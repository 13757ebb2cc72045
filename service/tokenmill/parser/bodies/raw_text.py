"""Text as it stands up to a closing marker: the content of a call that has one long argument and nothing else."""

from typing import Protocol

import msgspec

from tokenmill.events import AnyEvent, ArgumentDelta, ToolInputDelta
from tokenmill.parser.markers import Marker, Scanner
from tokenmill.parser.run.calls import Verdict, grow, send_source, wants
from tokenmill.parser.run.rules import Rules
from tokenmill.parser.run.run import Run
from tokenmill.parser.run.state import OpenCall, State


class TagState(msgspec.Struct, array_like=True, gc=False):
    """Where the content of a call whose opening is a tag stands."""

    kind: str = ""
    """Which content; empty as long as the tag is open."""
    path: str = ""
    """The path that the tag names, or its argument so far."""
    begin: int = -1
    """Where the content that is an argument begins; -1 until then."""
    end: int = -1
    """Where it ends, once it has."""
    phase: int = 0
    """Where pieces stand: a `piped.Phase`."""
    style: int = 0
    """Which of its spellings the open element has."""
    growing: bool = False
    """The content is sent as it grows."""
    raw: bool = False
    """Inside a section in which nothing is a marker but its end."""
    trims: bool = False
    """White space at the end of the content is layout."""


class Content(Protocol):
    """What a body's state has of its content."""

    begin: int
    end: int
    growing: bool


class RawText:
    """Reads such a content; all state is in the body's."""

    def __init__(self, close: Marker) -> None:
        self._close = Scanner([(close, True)])

    def begin(self, run: Run, call: OpenCall, state: Content, offset: int, argument: str) -> None:
        """The content begins at this offset of the source; its text is an argument, or, without a name, none."""
        state.begin = offset
        state.growing = bool(argument) and wants(run, call, argument)

    def quick(
        self, rules: Rules, parser: State, call: OpenCall, state: Content, text: str, argument: str
    ) -> list[AnyEvent] | None:
        """The events of a chunk that does not close the content; None if it must be read with care."""
        if state.growing and rules.options.min_delta_chars:
            return None
        if self._close.first in text and (settled := self._close.settled(text)) < len(text):
            if settled < 0:
                return None
            parser.held, text = text[settled:], text[:settled]
        sends = text and call.begun and rules.streams_input and not call.dropped
        events: list[AnyEvent] = [ToolInputDelta(call.id, text)] if sends else []
        if state.growing and text:
            events.append(ArgumentDelta(call.id, argument, text))
        return events

    def step(
        self, run: Run, call: OpenCall, state: Content, buffer: str, position: int, base: int, argument: str
    ) -> tuple[int, Verdict]:
        """Read on from `position`; offsets into the source are `base` + a position."""
        hit = self._close.find(buffer, position, final=run.final)
        stop = len(buffer) if hit is None else hit.start
        text = buffer[position:stop]
        send_source(run, call, text)
        if state.growing:
            grow(run, call, argument, text)
        if hit is None or hit.value is None:
            return stop, Verdict.MORE
        state.end = base + stop
        return hit.end, Verdict.DONE


def content_of(call: OpenCall, state: Content) -> str:
    """The text between opening and close."""
    return call.source.text()[state.begin : state.end] if state.end >= 0 else ""
