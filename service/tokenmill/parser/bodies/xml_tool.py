"""The content of a tool's tag: its arguments as elements. Their XML is the source; it is read once it is complete."""

from enum import Enum
from typing import Any

import msgspec

from tokenmill.events import AnyEvent, Encoding, ToolInputDelta
from tokenmill.parser.bodies.raw_text import TagState, content_of
from tokenmill.parser.bodies.tagged import ContentReader
from tokenmill.parser.bodies.xml_values import arguments_of
from tokenmill.parser.enums import plain_members
from tokenmill.parser.markers import Marker, Scanner, marker
from tokenmill.parser.run.calls import Verdict, send_source
from tokenmill.parser.run.rules import Rules
from tokenmill.parser.run.run import Run
from tokenmill.parser.run.state import OpenCall, State


@plain_members
class _Edge(Enum):
    END = "the call ends"
    RAW = "a section begins or ends in which nothing is a marker"


class XmlTool(msgspec.Struct, frozen=True):
    """Arguments as elements, up to the closing tag, which counts everywhere but in a CDATA section."""

    close: Marker
    """Ends the call."""

    def compile(self) -> ContentReader:
        """The reader of this content."""
        return _XmlToolReader(self.close)


class _XmlToolReader:
    encoding: Encoding = "xml"

    def __init__(self, close: Marker) -> None:
        self._markup = Scanner([(close, _Edge.END), (marker("<![CDATA["), _Edge.RAW)])
        self._raw = Scanner([(marker("]]>"), _Edge.RAW)])

    def begin(self, run: Run, call: OpenCall, state: TagState, offset: int) -> None:  # noqa: ARG002 -- others ask the tools
        state.begin = offset

    def quick(self, rules: Rules, parser: State, call: OpenCall, state: TagState, text: str) -> list[AnyEvent] | None:
        scanner = self._raw if state.raw else self._markup
        if scanner.first in text and (settled := scanner.settled(text)) < len(text):
            if settled < 0:
                return None
            parser.held, text = text[settled:], text[:settled]
        return [ToolInputDelta(call.id, text)] if text and rules.streams_input and not call.dropped else []

    def step(
        self, run: Run, call: OpenCall, state: TagState, buffer: str, position: int, base: int
    ) -> tuple[int, Verdict]:
        first = position
        while True:
            hit = (self._raw if state.raw else self._markup).find(buffer, position, final=run.final)
            stop = len(buffer) if hit is None else hit.start
            if hit is None or hit.value is not _Edge.RAW:
                break
            state.raw, position = not state.raw, hit.end
        send_source(run, call, buffer[first:stop])
        if hit is None or hit.value is None:
            return stop, Verdict.MORE
        state.end = base + stop
        return hit.end, Verdict.DONE

    def arguments(self, run: Run, call: OpenCall, state: TagState) -> tuple[dict[str, Any], bool]:
        return arguments_of(content_of(call, state), run.rules.shape(call.name))
