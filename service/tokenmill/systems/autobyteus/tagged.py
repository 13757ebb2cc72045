"""Calls whose opening is a tag with attributes: `<tool name="NAME">…</tool>`, `<write_file path="PATH">…</write_file>`.

1. The tag is held until it ends: only then is it clear whether it is one. It ends with the first `>` outside quotes,
   and is given up, as text, at the first character that no tag has there.
2. The tag, or the attribute that names the tool, gives the *kind* of the call, and the kind determines its content.
   Where the content is the long argument of a tool, the kind is the tool's name, unless `segment_tools` gives another.
3. A tag that closes itself is a call without content.

Raw text up to a closing marker: the content of a call that has one long argument and nothing else.
"""

import re
from collections.abc import Mapping, Sequence
from html import unescape
from typing import Any, Protocol

import msgspec

from tokenmill.events import AnyEvent, ArgumentDelta, Encoding, ToolInputDelta
from tokenmill.limits import NAME_CHARS
from tokenmill.parser.markers import Marker, Scanner
from tokenmill.parser.run.rules import Rules
from tokenmill.parser.run.run import Reader, Run, Verdict, begin, grow, send_source, wants
from tokenmill.parser.run.state import OpenCall, State, looked_at


class TagState(msgspec.Struct, array_like=True, gc=False):
    """The position in the content of a call whose opening is a tag."""

    kind: str = ""
    """Kind of the content; empty as long as the tag is open."""
    path: str = ""
    """The path that the tag names, or its argument so far."""
    begin: int = -1
    """Where the content that is an argument begins; -1 until then."""
    end: int = -1
    """Where it ends, once it has."""
    phase: int = 0
    """Phase of the pieces: a `piped.Phase`."""
    style: int = 0
    """Spelling of the open element, as an index."""
    growing: bool = False
    """The content is sent as it grows."""
    raw: bool = False
    """Inside a section in which only its end is a marker."""
    trims: bool = False
    """Whether white space at the end of the content is layout."""


class ContentState(Protocol):
    """The part of a body's state that describes its content."""

    begin: int
    end: int
    growing: bool


class RawText:
    """Reads such a content; all state is in the body's."""

    def __init__(self, close: Marker) -> None:
        self._close = Scanner([(close, True)])

    def begin(self, run: Run, call: OpenCall, state: ContentState, offset: int, argument: str) -> None:
        """Begin the content at this offset of the source. Its text is an argument or, without a name, none."""
        state.begin = offset
        state.growing = bool(argument) and wants(run, call, argument)

    def quick(
        self, rules: Rules, parser: State, call: OpenCall, state: ContentState, text: str, argument: str
    ) -> list[AnyEvent] | None:
        """Return the events of a chunk that does not close the content; None if it must be read with care."""
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
        self, run: Run, call: OpenCall, state: ContentState, buffer: str, position: int, base: int, argument: str
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


def content_of(call: OpenCall, state: ContentState) -> str:
    """Return the text between opening and close."""
    return call.source.text()[state.begin : state.end] if state.end >= 0 else ""


TAG_CHARS = 4 * NAME_CHARS
"""Characters of a tag before it stops being one: a name, and a path in a deep tree."""

ANY_TOOL = "tool_call"
"""Kind of the calls whose tool has no content of its own."""

_NAME = r"[\w:.-]++"
_VALUE = r"(?:\"[^\"]*+\"|'[^']*+')"
_SOME = rf"(?:\s++{_NAME}(?:\s*+=\s*+{_VALUE})?+)*+"
_TAG = re.compile(rf"\w(?P<attributes>{_SOME})\s*+(?P<empty>/?)>")
_BEGUN = re.compile(rf"\w{_SOME}(?:\s*+/?|\s*+=\s*+(?:\"[^\"]*+|'[^']*+)?)\Z")
_ATTRIBUTE = re.compile(rf"\s({_NAME})\s*=\s*({_VALUE})")


class ContentReader(Protocol):
    """A compiled content; all state is in the call's."""

    encoding: Encoding

    def begin(self, run: Run, call: OpenCall, state: TagState, offset: int) -> None:
        """Begin the content at this offset of the source."""

    def quick(self, rules: Rules, parser: State, call: OpenCall, state: TagState, text: str) -> list[AnyEvent] | None:
        """Read a chunk quickly, as a body does."""

    def step(
        self, run: Run, call: OpenCall, state: TagState, buffer: str, position: int, base: int
    ) -> tuple[int, Verdict]:
        """Read on from `position`, as a body does; offsets into the source are `base` + a position."""

    def arguments(self, run: Run, call: OpenCall, state: TagState) -> tuple[dict[str, Any], bool]:
        """Return the arguments of the complete call and whether they were repaired. Raises `ValueError` with what is
        wrong.
        """


class Content(Protocol):
    """The data of a content."""

    def compile(self) -> ContentReader:
        """Return the reader of this content."""


class Raw(msgspec.Struct, frozen=True):
    """One raw argument, up to a closing tag; the path, where there is one, is an attribute."""

    close: Marker
    """Ends the call."""
    argument: str
    """Name of the argument that the text is."""
    path: bool = False
    """Whether there is an argument `path`, too."""

    def compile(self) -> ContentReader:
        """Return the reader of this content."""
        return _RawReader(self)


class Tagged(msgspec.Struct, frozen=True):
    """A call that opens with a tag. The call's opening is the tag's beginning, up to its name."""

    contents: Mapping[str, Content]
    """Contents by kind."""
    kind: str = ""
    """The kind that the tag's own name gives. Empty: an attribute `name` names the tool, and the tool, ignoring case,
    is the kind, or `ANY_TOOL`."""
    required: str = ""
    """An attribute without which the tag is text."""

    def compile(self, stops: Sequence[Marker]) -> Reader:  # noqa: ARG002 -- contents have closes of their own
        """Return the reader of this body."""
        return _TaggedReader(self)


class _TaggedReader:
    encoding: Encoding = "xml"
    state_type = looked_at(TagState)

    def __init__(self, tagged: Tagged) -> None:
        self._tagged = tagged
        self._readers = {kind: content.compile() for kind, content in tagged.contents.items()}
        self._quick = {"": _in_tag, **{kind: reader.quick for kind, reader in self._readers.items()}}

    def begin(self, call: OpenCall) -> TagState:  # noqa: ARG002 -- other bodies note where they begin
        return TagState()

    def quick(self, rules: Rules, parser: State, call: OpenCall, text: str) -> list[AnyEvent] | None:
        state: TagState = call.body
        return self._quick[state.kind](rules, parser, call, state, text)

    def step(self, run: Run, call: OpenCall, buffer: str, position: int) -> tuple[int, Verdict]:
        state: TagState = call.body
        base, at = call.source.size - position, position
        if not state.kind:
            tag = _TAG.match(buffer, position, position + TAG_CHARS)
            if tag is None:
                waits = len(buffer) - position < TAG_CHARS and not run.final and _BEGUN.match(buffer, position)
                return position, Verdict.MORE if waits else Verdict.TEXT
            verdict, at = self._open(run, call, state, tag), tag.end()
            if verdict is not Verdict.MORE:
                return position, verdict
            self._readers[state.kind].begin(run, call, state, base + at)
            if tag["empty"]:
                return at, Verdict.DONE
        return self._readers[state.kind].step(run, call, state, buffer, at, base)

    def _open(self, run: Run, call: OpenCall, state: TagState, tag: re.Match[str]) -> Verdict:
        """Open the call: its tag is complete."""
        values = {name.lower(): unescape(value[1:-1]) for name, value in _ATTRIBUTE.findall(tag["attributes"])}
        if self._tagged.required and not values.get(self._tagged.required):
            return Verdict.TEXT
        if self._tagged.kind:
            kind, name = self._tagged.kind, ""
            told = {self._tagged.required: values[self._tagged.required]} if self._tagged.required else {}
        else:
            name = values.get("name", "").strip()
            if not name or len(name) > NAME_CHARS:
                return Verdict.TEXT
            kind, told = name.lower() if name.lower() in self._readers else ANY_TOOL, {"tool_name": name}
        tool = name if kind == ANY_TOOL else run.rules.options.segment_tools.get(kind, kind)
        verdict = begin(run, call, tool, "", self._readers[kind].encoding, attributes={"type": kind, **told})
        if verdict is Verdict.MORE:
            state.kind, state.path = kind, told.get("path", "")
        return verdict

    def result(self, run: Run, call: OpenCall) -> tuple[dict[str, Any], bool]:
        state: TagState = call.body
        return self._readers[state.kind].arguments(run, call, state)


def _in_tag(_rules: Rules, _parser: State, _call: OpenCall, _state: TagState, _text: str) -> None:
    """Read no content yet: the tag is still open."""


class _RawReader:
    encoding: Encoding = "text"

    def __init__(self, raw: Raw) -> None:
        self._argument = raw.argument
        self._path = raw.path
        self._text = RawText(raw.close)

    def begin(self, run: Run, call: OpenCall, state: TagState, offset: int) -> None:
        self._text.begin(run, call, state, offset, self._argument)

    def quick(self, rules: Rules, parser: State, call: OpenCall, state: TagState, text: str) -> list[AnyEvent] | None:
        return self._text.quick(rules, parser, call, state, text, self._argument)

    def step(
        self, run: Run, call: OpenCall, state: TagState, buffer: str, position: int, base: int
    ) -> tuple[int, Verdict]:
        return self._text.step(run, call, state, buffer, position, base, self._argument)

    def arguments(self, run: Run, call: OpenCall, state: TagState) -> tuple[dict[str, Any], bool]:  # noqa: ARG002 -- needs no tools
        return long_argument(self._argument, content_of(call, state), state.path if self._path else None), False


def long_argument(argument: str, text: str, path: str | None) -> dict[str, Any]:
    """Return the arguments of a call whose content is one of them; `path` is None where the call has none.

    Raises `ValueError` if a required value is missing: no path to write to, no command to run.
    """
    if path is None:
        if not text.strip():
            raise ValueError(f"the {argument} is empty")
        return {argument: text}
    if not path:
        raise ValueError("there is no path")
    return {"path": path, argument: text}
