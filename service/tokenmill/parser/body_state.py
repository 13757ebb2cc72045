"""The states of the bodies: plain data, one tagged struct for each kind."""

from typing import Any, TypeAlias

import msgspec


class JsonState(msgspec.Struct, tag="j", array_like=True, gc=False):
    """Where a JSON text stands. See `bodies.json_scan`."""

    stack: str = ""
    """Open brackets."""
    phase: int = 0
    quote: str = ""
    """Quote of the open string."""
    escaped: bool = False
    """The character before was an escaping backslash, or a slash that may begin a comment."""
    capture: bool = False
    """The open string or scalar is wanted: its raw text is collected."""
    text: str = ""
    """Raw text captured so far."""
    key: str = ""
    """Key of the value at depth 1."""
    argument: str = ""
    """Key of the value at depth 2, where arguments are watched."""
    name: str | None = None
    id: str | None = None
    root: int = 0
    """Where the JSON text begins in the call's source."""
    begin: int = -1
    """Where the value of the arguments begins."""
    end: int = -1
    """Where it ends, exclusive."""
    stringy: bool = False
    """The arguments are a string that holds JSON."""
    sending: bool = False
    """The value of the arguments is open, and its source is sent as it arrives."""
    tail: str = ""
    """Incomplete escape at the end of a string that is being decoded."""
    spelling: int = 0
    """How strings are written from here on: a `relaxed.Spelling`."""


class TaggedJsonState(JsonState, tag="m", array_like=True, gc=False):
    """Where a call between tags stands. See `bodies.tagged_json`."""

    first: int = 0
    """Where the text between the tags begins in the call's source."""
    stop: int = -1
    """Where it ends, once it has."""
    whole: int = -1
    """Where its object ends, once it has."""
    loose: bool = False
    """Only the next tag is looked for."""
    before: str = ""
    """The character in front of the last slash or quote with which a chunk began."""


class ParamsState(msgspec.Struct, tag="p", array_like=True, gc=False):
    """Where tagged parameters stand. See `bodies.params`."""

    begin: int = 0
    """Where the argument region begins."""
    end: int = -1
    """Where it ends, once it has."""
    key: str = ""
    """Parameter whose value is open."""
    wire_type: str = ""
    """What its tag says of its type."""
    tag: str = ""
    """Text of an open tag so far."""
    in_tag: bool = False
    value: int = -1
    """Where the open value begins; -1 between values."""
    values: list[tuple[str, str, int, int]] = []
    """Key, type on the wire, begin and end of each value."""
    growth: int = 0
    """Whether the open value is sent as it grows: a `params.Growth`."""
    fresh: int = 0
    """Characters at the beginning of the growing value that may still be layout."""
    verbatim: bool = False
    """The growing value has no layout."""
    raw: bool = False
    """Inside a section of the open value in which nothing is a marker but its end."""
    tail: str = ""
    """Its end, which may be layout; or all of it while it can still be `null`."""
    given: dict[str, bool] = {}
    """The parameters that came, as keys."""
    lined: bool = False
    """The open value begins on a line of its own."""
    led: bool = False
    """The last marker in it was the opening of a call."""
    calls: int = 0
    """Calls that are open in it."""
    within: int = 0
    """Parameters that are."""
    quoted: bool = False
    """A value has what looks like a marker."""
    forgot: bool = False
    """A closing was forgotten."""
    repeats: bool = False
    """A parameter came twice."""
    unclear: bool = False
    """What is a marker, and what only looks like one, can't be told."""


class ChildrenState(ParamsState, tag="c", array_like=True, gc=False):
    """Where parameters in tags of their own names stand. See `bodies.children`."""

    tool: str = ""
    """Name of the call's tag."""
    inner: int = 0
    """Tags in the open value that are like its own, and open."""
    outer: int = 0
    """The same for the call's tag."""
    blank: bool = True
    """Nothing stands between parameters but white space."""


class LiteralState(msgspec.Struct, tag="l", array_like=True, gc=False):
    """Where bare keys and marked strings stand. See `bodies.literal`."""

    begin: int = 0
    """Where the argument region begins."""
    end: int = -1
    """Where it ends, once it has."""
    stack: str = "{"
    """Open brackets."""
    quoted: bool = False
    """A string is open."""
    naming: bool = True
    """A key of the outermost level is open or expected."""
    key: str = ""
    """That key so far, or the key of the open value."""
    growth: int = 0
    """Whether the open string is sent as it grows: a `literal.Growth`."""
    waiting: str = ""
    """All of it while it can still be `null`."""


class TreeState(msgspec.Struct, tag="t", array_like=True, gc=False):
    """Where nested elements stand. See `bodies.tree`."""

    begin: int = 0
    """Where the argument region begins."""
    tag: str = ""
    """Text of an open tag so far."""
    in_tag: int = 0
    """Kind of the open tag, a `tree.Edge`; 0 outside of tags."""
    token: int = 0
    """Where the open tag begins."""
    stack: list[str] = []
    """Names of the open elements."""
    marks: list[tuple[bool, str, int, int]] = []
    """Of each tag: whether it opens, its name, begin and end."""
    growing: bool = False
    """The outermost open element is sent as it grows."""
    complete: bool = False
    """An outermost element is complete."""
    closer: str = ""
    """Source of the marker that began the open tag, while it may turn out to be text that is sent as it grows."""
    torn: bool = False
    """The open elements hold a closing that fits nothing."""


class PythonState(msgspec.Struct, tag="y", array_like=True, gc=False):
    """Where a call written in Python stands. See `bodies.pycalls`."""

    name: str = ""
    text: bool = False
    """It names no tool, so all of it is text."""
    begin: int = -1
    """Where the argument region begins: behind the call's bracket; -1 until then."""
    end: int = -1
    """Where it ends, once it has."""
    key: str = ""
    """Keyword of the open argument, or as much as there is of it."""
    value: int = -1
    """Where the open value begins; -1 between values."""
    stack: str = ""
    """Open brackets inside of it."""
    lead: str = ""
    """Its first characters in front of a string: the string's prefix, if any."""
    quote: str = ""
    """Quote of the open string."""
    escaped: bool = False
    """The character before was an escaping backslash in it."""
    growing: bool = False
    """The open string is sent as it grows."""
    tail: str = ""
    """Half an escape at its end."""
    values: list[tuple[str, int, int]] = []
    """Keyword, begin and end of each value."""
    torn: bool = False
    """The open string has had a bare quote that did not end it."""


class TagState(msgspec.Struct, tag="g", array_like=True, gc=False):
    """Where the content of a call whose opening is a tag stands. See `bodies.tagged`."""

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


class SegmentState(msgspec.Struct, tag="s", array_like=True, gc=False):
    """Where a segment whose header is JSON stands. See `bodies.sentinel`."""

    json: JsonState
    """Of the header."""
    header: dict[str, Any] | None = None
    """The header once it is read."""
    begin: int = -1
    """Where the content begins; -1 until then."""
    end: int = -1
    """Where it ends, once it has."""
    growing: bool = False
    """The content is sent as it grows."""


class WholeJsonState(msgspec.Struct, tag="w", array_like=True, gc=False):
    """Where a call stands whose whole JSON is its source. See `bodies.json_tool`."""

    json: JsonState
    head: str = ""
    """Its beginning, as long as no name was found in it."""
    searched: bool = False
    """Its beginning has no name, or had it."""


class OtherState(msgspec.Struct, tag="o", array_like=True, gc=False):
    """The state of a body that comes from elsewhere: whatever it needs, as plain data."""

    data: dict[str, Any] = {}


BodyState: TypeAlias = (
    TreeState
    | JsonState
    | TaggedJsonState
    | ParamsState
    | ChildrenState
    | LiteralState
    | PythonState
    | TagState
    | SegmentState
    | WholeJsonState
    | OtherState
)
