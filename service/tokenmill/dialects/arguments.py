"""Arguments as JSON while they arrive: the common part of all dialects that stream them.

A dialect keeps one `GrowingArguments` for each open call in its state, under the call's id:

    tool-input-start                      GrowingArguments(name, json=encoding == "json")
    tool-input-delta, argument-delta      piece = call.more(event, envelope)       may be ""
    tool-call                             piece = call.rest(arguments)             whole(arguments) if none was begun
    error of its id, without a tool-call  piece = call.broken()                    may be ""

1. The pieces of a call that became a `tool-call` are, joined, one JSON object, whose value is the call's `arguments`.
2. The pieces of a call that failed are, joined, never a complete JSON text, so that no client executes it: it lacks at
   least the last bracket.
3. Every prefix of the pieces is the beginning of a JSON text that can still become any arguments that contain what was
   sent. That is how 1 is kept where the final arguments differ from the look of the source. Values that turn out
   differently are repeated at the end, and of a key that comes twice the last counts, as with all common readers of
   JSON.
4. Where the source is JSON, it is passed on unchanged, but only strict JSON, from one certain place to the next: keys
   with the beginning of their values, numbers and words when they are complete, strings without half an escape. From
   the first invalid JSON on, or the first argument that the tool's schema does not have or has as another type, all
   waits for the end: it may be read as something else, renamed or left out.
5. Elsewhere the object is built from the `argument-delta`s, one member for each argument; everything else comes at the
   end.

Deltas must be switched on: a dialect asks for them by `streams_arguments`. State is plain, is encoded in snapshots, and
is bounded by the cap of a call. The pieces depend on where the source was cut, their sum does not.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from tokenmill.dialects.dialect import Envelope
from tokenmill.dialects.json_text import json_bytes
from tokenmill.events import ArgumentDelta, DeclaredTool, Event, ToolInputDelta
from tokenmill.limits import JSON_DEPTH, NAME_CHARS
from tokenmill.parser.run.state import PIECE_BYTES, Source

HELD_CHARS = 2 * NAME_CHARS
"""Characters of source that may wait to become certain: a key with its quotes and the beginning of its value, or a
number."""

ESCAPE_CHARS = 6
"""The longest escape: `\\u` and four digits."""

_SPACE = r"[ \t\n\r]*+"
_CONTENT = r'(?:[^"\\\x00-\x1f\ud800-\udfff]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+'
_KEY = r'(?:[^"\\\x00-\x1f\ud800-\udfff]++|\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}))*+'
"""Content of a key, without halves of surrogate pairs: as text they become another key."""
_MEMBER = rf'{_SPACE}(?P<key>"{_KEY}"){_SPACE}:'
_SCALAR = rf"(?:-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null)(?={_SPACE}[,\]}}])"
_VALUE = rf'{_SPACE}(?P<value>[\[{{"]|{_SCALAR})'

_STRING = re.compile(_CONTENT)
_NEXT: dict[tuple[str, bool], re.Pattern[str]] = {
    ("", False): re.compile(rf"{_SPACE}(?P<value>{{)"),
    ("{", True): re.compile(rf"{_MEMBER}{_VALUE}|{_SPACE}}}"),
    ("{", False): re.compile(rf"{_SPACE},{_MEMBER}{_VALUE}|{_SPACE}}}"),
    ("[", True): re.compile(rf"{_VALUE}|{_SPACE}]"),
    ("[", False): re.compile(rf"{_SPACE},{_VALUE}|{_SPACE}]"),
}
"""What may follow, by the innermost open bracket and whether nothing stands after it yet."""

_CLOSING = {"{": "}", "[": "]"}
_NUMBER = frozenset({"number", "integer"})
_TYPES: dict[str, frozenset[str]] = {
    '"': frozenset({"string"}),
    "{": frozenset({"object"}),
    "[": frozenset({"array"}),
    "n": frozenset({"null"}),
    "t": frozenset({"boolean"}),
    "f": frozenset({"boolean"}),
    **dict.fromkeys("-0123456789", _NUMBER),
}
"""JSON types by a value's first character."""


class GrowingArguments(msgspec.Struct, array_like=True, gc=False):
    """How far the arguments of one open call have been sent."""

    name: str
    """Name of the tool."""
    json: bool
    """Whether the source is JSON."""
    sent: Source = msgspec.field(default_factory=Source)
    """All pieces so far."""
    stack: str = ""
    """Open brackets of what was sent."""
    fresh: bool = False
    """Whether nothing follows the innermost bracket yet."""
    string: bool = False
    """Whether a string value is open."""
    argument: str = ""
    """Name of that argument, where the object is built from deltas."""
    held: str = ""
    """Source that is not certain yet."""
    stopped: bool = False
    """Whether the rest waits for the end."""

    @property
    def memory(self) -> int:
        """About how many bytes it takes."""
        return PIECE_BYTES + self.sent.memory

    def more(self, event: Event, envelope: Envelope) -> str:
        """Return the next piece of JSON from a delta of the call; empty if there is none yet."""
        if self.json:
            piece = self._read(event.delta, envelope.request.tools) if isinstance(event, ToolInputDelta) else ""
        else:
            piece = self._grow(event.argument, event.delta) if isinstance(event, ArgumentDelta) else ""
        if piece:
            self.sent.add(piece)
        return piece

    def rest(self, arguments: Mapping[str, Any]) -> str:
        """Return the last piece: what the final arguments have besides what was sent."""
        if not self.sent.size:
            return whole(arguments)
        closed = '"' * self.string + "".join(_CLOSING[bracket] for bracket in reversed(self.stack[1:]))
        told = json.loads(f"{self.sent.text()}{closed}}}")
        final = json.loads(json_bytes(arguments))
        missing = {key: arguments[key] for key in final if key not in told or not _same(told[key], final[key])}
        return f"{closed}{',' if told and missing else ''}{whole(missing)[1:]}"

    def broken(self) -> str:
        """Return the last piece of a call that failed."""
        return "" if self.sent.size else "{"

    # Made of deltas

    def _grow(self, argument: str, delta: str) -> str:
        text = whole(delta)[1:-1]
        if self.string and argument == self.argument:
            return text
        lead = '"' * self.string + ("," if self.stack else "{")
        self.stack, self.string, self.argument = "{", True, argument
        return f'{lead}{whole(argument)}:"{text}'

    # Passed on

    def _read(self, delta: str, tools: Mapping[str, DeclaredTool]) -> str:
        if self.stopped:
            return ""
        if self.string and not self.held and _STRING.fullmatch(delta):  # nearly all of a long argument
            return delta
        text, position = self.held + delta, 0
        while (stop := self._content(text, position) if self.string else self._structure(text, position, tools)) >= 0:
            position = stop
        self.held = text[position:]
        if len(self.held) > HELD_CHARS:
            self.stopped = True
        if self.stopped:
            self.held = ""
        return text[:position]

    def _content(self, text: str, position: int) -> int:
        """Return where the open string, or its present part, ends; -1 if nothing more is certain."""
        found = _STRING.match(text, position)
        stop = found.end() if found else position
        if text[stop : stop + 1] == '"':
            self.string = False
            return stop + 1
        self.stopped = len(text) - stop >= ESCAPE_CHARS or text[stop : stop + 1] not in ("", "\\")
        return stop if stop > position else -1

    def _structure(self, text: str, position: int, tools: Mapping[str, DeclaredTool]) -> int:
        """Return where the next member, value or bracket ends; -1 if it is not certain, or all is complete."""
        found = _NEXT[self.stack[-1:], self.fresh].match(text, position)
        if found is None or self.stopped:
            return -1
        groups = found.groupdict()
        value = groups["value"]
        if value is None:
            if len(self.stack) == 1:  # the last bracket is the end's
                self.stopped = True
                return -1
            self.stack, self.fresh = self.stack[:-1], False
            return found.end()
        if len(self.stack) == JSON_DEPTH or (len(self.stack) == 1 and not self._fits(groups["key"], value, tools)):
            self.stopped = True
            return -1
        self.fresh = value in _CLOSING
        self.string = value == '"'
        self.stack += value if self.fresh else ""
        return found.end()

    def _fits(self, key: str, value: str, tools: Mapping[str, DeclaredTool]) -> bool:
        """Whether an argument fits the tool's declaration, if the message declares the tool."""
        tool = tools.get(self.name)
        if tool is None:
            return True
        types = tool.types.get(json.loads(key))
        return tool.others if types is None else not types or not _TYPES[value[0]].isdisjoint(types)


def whole(value: Any) -> str:
    """Return a value as JSON text, in one piece."""
    return json_bytes(value).decode()


def _same(told: Any, final: Any) -> bool:
    """Whether two values are written alike: 1 is not true, and what is not finite equals nothing."""
    return json.dumps(told, sort_keys=True) == json.dumps(final, sort_keys=True)
