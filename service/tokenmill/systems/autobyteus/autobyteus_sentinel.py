"""Segments between two markers, with a header in JSON in the first.

A segment between two markers, the first of which has a header in JSON: `[[SEG_START {"type": …}]]…[[SEG_END]]`.

1. The header is one JSON object and gives the segment's kind; whatever its strings contain is part of it. Without such
   a header the segment was text.
2. `text` is a block of text. The content of `write_file` and `run_bash` is their argument, unchanged.
3. A `tool` is named in the header or in the content, which is a call in JSON then. Arguments in the header take
   precedence over those of the content.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tokenmill.events import AnyEvent, Encoding
from tokenmill.formats.notations import NAME_ARGUMENTS, json_history
from tokenmill.limits import NAME_CHARS
from tokenmill.parser.bodies.json_scan import JsonScan, Token
from tokenmill.parser.markers import Marker, Scanner, marker
from tokenmill.parser.run.rules import Rules
from tokenmill.parser.run.run import Reader, Run, Verdict, begin, send_source
from tokenmill.parser.run.state import JsonState, OpenCall, State, looked_at
from tokenmill.parser.spec import Call, Format, Section
from tokenmill.parser.values.repair import decode_json, nested_too_deep
from tokenmill.systems.autobyteus.autobyteus_json import any_call, object_of
from tokenmill.systems.autobyteus.tagged import ANY_TOOL, RawText, content_of, long_argument

HEADER_CHARS = 64 * 1024
"""Characters of a header before it stops being one: it may contain a tool's arguments, but no files."""

BLOCK = "text"


class SegmentState(msgspec.Struct, array_like=True, gc=False):
    """The position in a segment whose header is JSON."""

    json: JsonState
    """State of the header's JSON."""
    kind: str = ""
    """Kind of the segment, once its header is read."""
    header: str = ""
    """The header as it was written, once it is read: a snapshot can't hold every number that JSON allows."""
    begin: int = -1
    """Where the content begins; -1 until then."""
    end: int = -1
    """Where it ends, once it has."""
    growing: bool = False
    """Whether the content is sent as it grows."""


class Sentinel(msgspec.Struct, frozen=True):
    """A segment. The call's opening is the first marker, up to its header."""

    until: str
    """What follows the header."""
    close: Marker
    """Ends the segment."""
    kinds: Mapping[str, str]
    """Kind by the header's `type`."""
    arguments: Mapping[str, str]
    """Name of the argument, for the kinds whose content is one."""
    paths: frozenset[str]
    """Kinds whose header has a path, which is an argument, too."""

    def compile(self, stops: Sequence[Marker]) -> Reader:  # noqa: ARG002 -- it has a close of its own
        """Return the reader of this body."""
        return _SentinelReader(self)


class _SentinelReader:
    encoding: Encoding = "text"
    state_type = looked_at(SegmentState)

    def __init__(self, sentinel: Sentinel) -> None:
        self._sentinel = sentinel
        self._scan = JsonScan(0, Scanner([]))
        self._until = Scanner([(marker(sentinel.until), True)], leading_space=True)
        self._text = RawText(sentinel.close)

    def begin(self, call: OpenCall) -> SegmentState:  # noqa: ARG002 -- other bodies note where they begin
        return SegmentState(JsonState())

    def quick(self, rules: Rules, parser: State, call: OpenCall, text: str) -> list[AnyEvent] | None:
        state: SegmentState = call.body
        return self._text.quick(rules, parser, call, state, text, self._argument(state)) if state.begin >= 0 else None

    def step(self, run: Run, call: OpenCall, buffer: str, position: int) -> tuple[int, Verdict]:
        state: SegmentState = call.body
        base = call.source.size - position
        if not state.kind:
            position, verdict = self._header(call, state, buffer, position, base)
            if not state.kind:
                return position, verdict
        if state.begin < 0:
            hit = self._until.at(buffer, position, final=run.final)
            if hit is None or hit.value is None:
                waits = hit is not None or (position == len(buffer) and not run.final)
                return position, Verdict.MORE if waits else Verdict.TEXT
            verdict = self._open(run, call, state)
            if verdict is not Verdict.MORE:
                return hit.end, verdict
            position = hit.end
            self._text.begin(run, call, state, base + position, self._argument(state))
        return self._read(run, call, state, buffer, position, base)

    def _header(
        self, call: OpenCall, state: SegmentState, buffer: str, position: int, base: int
    ) -> tuple[int, Verdict]:
        """Read on in the header."""
        first = position
        if not state.json.root:  # the last character of the opening
            position += 1
            state.json.root = base + position
        while True:
            position, token = self._scan.step(state.json, buffer, position)
            if token != Token.BEGIN:
                break
            if buffer[position] != "{" and not state.json.stack:
                return position, Verdict.TEXT
        if base + position > HEADER_CHARS:
            return first, Verdict.TEXT
        if token != Token.END:
            return position, Verdict.MORE if token == Token.MORE else Verdict.TEXT
        state.header = (call.source.text() + buffer[first:position])[state.json.root :]
        state.kind = self._kind_of(state.header)
        return position, Verdict.MORE if state.kind else Verdict.TEXT

    def _kind_of(self, header: str) -> str:
        """Return the kind of segment that a header gives; nothing if it is not a header."""
        if nested_too_deep(header):
            return ""
        try:
            said = msgspec.json.decode(header).get("type")
        except (msgspec.DecodeError, UnicodeEncodeError):
            return ""
        return self._sentinel.kinds.get(said.strip().lower(), "") if isinstance(said, str) else ""

    def _open(self, run: Run, call: OpenCall, state: SegmentState) -> Verdict:
        """Open the segment: the header and what follows it are complete."""
        kind = state.kind
        if kind == BLOCK:
            return Verdict.BLOCK
        said = _said(state).get("tool_name", "")
        name = said if kind == ANY_TOOL else run.rules.options.segment_tools.get(kind, kind)
        if not isinstance(name, str) or len(name) > NAME_CHARS:
            return Verdict.TEXT
        return self._begin(run, call, state, name) if name else Verdict.MORE

    def _begin(self, run: Run, call: OpenCall, state: SegmentState, name: str) -> Verdict:
        return begin(run, call, name, "", self.encoding, attributes=_said(state))

    def _argument(self, state: SegmentState) -> str:
        return self._sentinel.arguments.get(state.kind, "")

    def _read(
        self, run: Run, call: OpenCall, state: SegmentState, buffer: str, position: int, base: int
    ) -> tuple[int, Verdict]:
        stop, verdict = self._text.step(run, call, state, buffer, position, base, self._argument(state))
        if verdict is not Verdict.DONE or call.begun:
            return stop, verdict
        content = (call.source.text() + buffer[call.source.size - base : stop])[state.begin : state.end]
        found = _call_in(content)
        if found is None or len(found[0]) > NAME_CHARS:
            return stop, Verdict.FAILED
        verdict = self._begin(run, call, state, found[0])
        send_source(run, call, content)
        return stop, Verdict.DONE if verdict is Verdict.MORE else verdict

    def result(self, run: Run, call: OpenCall) -> tuple[dict[str, Any], bool]:  # noqa: ARG002 -- needs no tools
        state: SegmentState = call.body
        header, content, argument = _said(state), content_of(call, state), self._argument(state)
        if argument:
            path = header.get("path") if state.kind in self._sentinel.paths else None
            if state.kind in self._sentinel.paths and not isinstance(path, str):
                raise ValueError("there is no path")
            return long_argument(argument, content, path), False
        if header.get("arguments") is not None:
            return object_of(header["arguments"]), False
        if not content.strip():
            return {}, False
        value, repaired = decode_json(content)
        named = next(any_call(value), None)
        # The header names the tool, so a name without arguments is one of its arguments.
        is_call = named is not None and (named[1] is not None or named[0] == call.name)
        return object_of(named[1] if named and is_call else value), repaired


def _said(state: SegmentState) -> dict[str, Any]:
    """Return the header's content, with the segment's kind as its type; nothing before it is read."""
    return {**msgspec.json.decode(state.header), "type": state.kind} if state.kind else {}


def _call_in(content: str) -> tuple[str, Any] | None:
    """Return the call that a content names, if it names one."""
    try:
        return next(any_call(decode_json(content)[0]), None)
    except ValueError:
        return None


_CLOSE = marker("[[SEG_END]]")

AUTOBYTEUS_SENTINEL = Format(
    name="autobyteus_sentinel",
    summary='`[[SEG_START {"type": KIND, …}]]` and content up to `[[SEG_END]]`; KIND is a tool\'s, or `text`.',
    sample=(
        'I\'ll look it up.\n[[SEG_START {"type": "tool", "tool_name": "get_weather"}]]'
        '{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}[[SEG_END]]'
    ),
    history=json_history(f'[[SEG_START {{"type": "tool", "tool_name": $quoted}}]]{NAME_ARGUMENTS}[[SEG_END]]'),
    sections=(
        Section(
            open=None,
            close=None,
            calls=(
                Call(
                    open=marker("[[SEG_START", ahead=[[r"[\s{]"]]),
                    body=Sentinel(
                        until="]]",
                        close=_CLOSE,
                        kinds={
                            "text": BLOCK,
                            "tool": ANY_TOOL,
                            "tool_call": ANY_TOOL,
                            "write_file": "write_file",
                            "run_bash": "run_bash",
                        },
                        arguments={"write_file": "content", "run_bash": "command"},
                        paths=frozenset({"write_file"}),
                    ),
                ),
            ),
            bare="alone",
            layer="always",
            block=_CLOSE,
        ),
    ),
    unknown_tool="text",
)
