"""JSON in running text that begins like a call: `json_patterns` sets the beginnings, `json_profile` how it is read.

Where a JSON text has the tool's name and the arguments: one rule for each profile.

A profile finds calls in a decoded text. Its *head* finds the name in the beginning of a text that puts it first, so
that a long call need not wait for its end. The profile then decides whether that was the name.

A call in text that is JSON, all of which is its source; the option `json_profile` decides how it is read.

1. It ends where its first bracket is closed. Of several calls in it the first counts.
2. Its source is sent once its name is known: immediately if a name stands where the profile expects the first one,
   otherwise at the end.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from tokenmill.errors import BadOpen
from tokenmill.events import AnyEvent, Encoding, ToolInputDelta
from tokenmill.formats.notations import json_history
from tokenmill.limits import NAME_CHARS
from tokenmill.parser.bodies.json_scan import JsonScan, Token
from tokenmill.parser.markers import LEADING_SPACE, Marker, Scanner, literal, marker
from tokenmill.parser.options import Options
from tokenmill.parser.run.rules import Rules
from tokenmill.parser.run.run import Reader, Run, Verdict, begin, send_source
from tokenmill.parser.run.state import JsonState, OpenCall, State, looked_at
from tokenmill.parser.spec import Call, Format, Section
from tokenmill.parser.values.repair import decode_json

Found = tuple[str, Any]
"""A tool's name and the value of its arguments."""

_STRING = r'"(?:[^"\\]++|\\.)*+"'
_NAME = rf'"(?P<name>[^"\\]{{1,{NAME_CHARS}}})"\s*+[,}}]'


def _head(pattern: str) -> re.Pattern[str]:
    """Return a head: white space is allowed between its characters, `NAME` is the name in quotes."""
    words = [_NAME if word == "NAME" else word for word in pattern.split()]
    return re.compile(r"\s*+".join(words), re.DOTALL)


class Profile(NamedTuple):
    """One way of writing calls in JSON."""

    calls: Callable[[Any], Iterator[Found]]
    head: re.Pattern[str]


def _named(name: Any, arguments: Any) -> Iterator[Found]:
    if isinstance(name, str) and name:
        yield name, arguments


def _first(value: dict[str, Any], *keys: str) -> Any:
    """Return the first of these values that exists and is not null."""
    return next((value[key] for key in keys if value.get(key) is not None), None)


def _nested(value: Any) -> Iterator[Found]:
    """Yield from `{"tool": {"function": NAME or {"name": NAME}, "parameters" or "arguments": {…}}}`."""
    tool = value.get("tool") if isinstance(value, dict) else None
    if isinstance(tool, dict):
        function = tool.get("function")
        name = function.get("name") if isinstance(function, dict) else function
        yield from _named(name, _first(tool, "parameters", "arguments"))


def _openai(value: Any) -> Iterator[Found]:
    """Yield calls of the chat-completions protocol: alone, in a list, or in a list under `tool_calls` or `tools`."""
    if isinstance(value, dict):
        lists = (value[key] for key in ("tool_calls", "tools") if isinstance(value.get(key), list))
        value = next(lists, [value])
    for entry in value if isinstance(value, list) else ():
        if not isinstance(entry, dict):
            continue
        call = entry["tool"] if isinstance(entry.get("tool"), dict) else entry
        function = call["function"] if isinstance(call.get("function"), dict) else call
        yield from _named(function.get("name") or function.get("function"), _first(function, "arguments", "parameters"))


def _gemini(value: Any) -> Iterator[Found]:
    """Yield from `{"name": NAME, "args": {…}}`, alone or in a list."""
    for entry in value if isinstance(value, list) else [value]:
        if isinstance(entry, dict):
            yield from _named(entry.get("name"), entry.get("args"))


PROFILES = {
    "default": Profile(_nested, _head(r'\{ "tool" : \{ "function" : (?:\{\s*+"name"\s*+:)? NAME')),
    "openai": Profile(
        _openai,
        _head(
            r'(?:\[|\{\s*+"(?:tool_calls|tools)"\s*+:\s*+\[)? \{ (?:"tool"\s*+:\s*+\{)? '
            rf'(?:"(?:id|type)"\s*+:\s*+{_STRING}\s*+,\s*+)*+'
            r'(?:"function"\s*+:(?:\s*+\{\s*+"name"\s*+:)?|"name"\s*+:) NAME'
        ),
    ),
    "gemini": Profile(_gemini, _head(r'\[? \{ "name" : NAME')),
}

PROFILE_OF = {"openai": "openai", "gemini": "gemini", "google": "gemini"}
"""Profile of a provider's models; that of all others is `default`."""


def any_call(value: Any) -> Iterator[Found]:
    """Yield the first call in JSON of any profile: by `name`, `tool` or `function`."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        inner = value.get("function")
        function: dict[str, Any] = inner if isinstance(inner, dict) else {}
        name = _first(value, "name", "tool") or function.get("name")
        arguments = _first(value, "arguments", "parameters", "args")
        yield from _named(name, function.get("arguments") if arguments is None else arguments)


def object_of(arguments: Any) -> dict[str, Any]:
    """Return the arguments as an object: of no value, an empty one; of a string, the one in it. Raises `ValueError`
    otherwise.
    """
    if isinstance(arguments, str):
        arguments = decode_json(arguments)[0] if arguments.strip() else None
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        raise ValueError("the arguments are no JSON object")  # noqa: TRY004 -- the source is wrong, not a type
    return arguments


HEAD_CHARS = 4 * NAME_CHARS
"""Characters at the beginning of a text in which its name is searched for."""

_VERDICTS = {Token.END: Verdict.DONE, Token.BAD: Verdict.FAILED}
_NAMELESS = "this is not where the profile has a call"


class WholeJsonState(msgspec.Struct, array_like=True, gc=False):
    """The position in a call whose whole JSON is its source."""

    json: JsonState
    head: str = ""
    """Its beginning, as long as no name was found in it."""
    searched: bool = False
    """Whether the search for a name in its beginning is over."""


class JsonTool(msgspec.Struct, frozen=True):
    """A JSON text that is a call."""

    def compile(self, stops: Sequence[Marker]) -> Reader:  # noqa: ARG002 -- brackets end it
        """Return the reader of this body."""
        return _JsonToolReader()


def profile_of(options: Options) -> Profile:
    """Return how JSON is read: as the option sets it, else as the provider's models write it."""
    return PROFILES[options.json_profile or PROFILE_OF.get(options.provider.lower(), "default")]


class _JsonToolReader:
    encoding: Encoding = "text"
    state_type = looked_at(WholeJsonState)

    def __init__(self) -> None:
        self._scan = JsonScan(0, Scanner([]))

    def begin(self, call: OpenCall) -> WholeJsonState:  # noqa: ARG002 -- other bodies note where they begin
        return WholeJsonState(JsonState())

    def quick(self, rules: Rules, parser: State, call: OpenCall, text: str) -> list[AnyEvent] | None:  # noqa: ARG002 -- other bodies hold text
        state: WholeJsonState = call.body
        json = state.json
        if not (call.begun or state.searched) or not self._scan.stays(json, text):
            return None
        return [ToolInputDelta(call.id, text)] if call.begun and rules.streams_input and not call.dropped else []

    def step(self, run: Run, call: OpenCall, buffer: str, position: int) -> tuple[int, Verdict]:
        state: WholeJsonState = call.body
        first, known = position, call.begun
        while True:
            position, token = self._scan.step(state.json, buffer, position)
            if token != Token.BEGIN:
                break
        text = buffer[first:position]
        if not known:
            size = call.source.size
            verdict, end = self._name(run, call, state, text, whole=token == Token.END)
            if verdict is not Verdict.MORE:
                return first + end - size, verdict
            text = call.source.text() + text if call.begun else ""
        send_source(run, call, text)
        return position, _VERDICTS.get(token, Verdict.MORE)

    def _name(self, run: Run, call: OpenCall, state: WholeJsonState, text: str, *, whole: bool) -> tuple[Verdict, int]:
        """Search for the name in the text so far. Also return the offset in the source up to which it was searched."""
        profile, name, end = profile_of(run.rules.options), "", call.source.size + len(text)
        if not state.searched:
            state.head += text[: HEAD_CHARS - len(state.head)]
            found = profile.head.match(state.head)
            name, end = (found["name"], found.end()) if found else ("", end)
            state.searched = bool(name) or len(state.head) == HEAD_CHARS
        if not name and whole:
            try:
                name = _call(profile, call.source.text() + text)[0][0]
            except ValueError:
                return Verdict.FAILED, end
        if not name:
            return Verdict.MORE, end
        state.head = ""
        if len(name) > NAME_CHARS:
            return Verdict.FAILED, end
        return begin(run, call, name, "", self.encoding, attributes={"type": "tool_call"}), end

    def result(self, run: Run, call: OpenCall) -> tuple[dict[str, Any], bool]:
        (name, arguments), repaired = _call(profile_of(run.rules.options), call.source.text())
        if name != call.name:
            raise ValueError(f"the call names {call.name!r:.100}, then {name!r:.100}")
        return object_of(arguments), repaired


def _call(profile: Profile, source: str) -> tuple[Found, bool]:
    """Return the first call of a JSON text, and whether it was repaired. Raises `ValueError` if there is none."""
    value, repaired = decode_json(source)
    call = next(profile.calls(value), None)
    if call is None:
        raise ValueError(_NAMELESS)
    return call, repaired


PATTERNS = (
    '{"tool"',
    '{"tool_calls"',
    '{"tools"',
    '{"function"',
    '{"name"',
    '[{"tool"',
    '[{"function"',
    '[{"name"',
)
"""Default beginnings of calls."""

BRACKETS = "{["


def _section(patterns: Sequence[str]) -> Section:
    """Return calls with these beginnings. A call's opening is its first bracket; the rest of the pattern must follow
    it.
    """
    tight = ["".join(pattern.split()) for pattern in patterns]
    behind = [(first, [_signs(text[1:]) for text in tight if text[0] == first]) for first in BRACKETS]
    calls = tuple(Call(marker(first, ahead=ahead), JsonTool()) for first, ahead in behind if ahead)
    return Section(open=None, close=None, calls=calls, bare="alone")


def _signs(text: str) -> list[str]:
    """Return characters with any white space between them: nothing, if the pattern is only a bracket."""
    return [piece for sign in text for piece in (LEADING_SPACE, *literal(sign))]


def _configured(format_: Format, options: Options) -> Format:
    if options.json_profile and options.json_profile not in PROFILES:
        raise BadOpen(f"option 'json_profile': unknown {options.json_profile!r}; known are {', '.join(PROFILES)}")
    wrong = [pattern for pattern in options.json_patterns if not pattern.strip().startswith(tuple(BRACKETS))]
    if wrong:
        raise BadOpen(f"option 'json_patterns': {wrong[0]!r:.100} does not begin with one of {' '.join(BRACKETS)}")
    if not options.json_patterns:
        return format_
    return msgspec.structs.replace(format_, sections=(_section(options.json_patterns),))


AUTOBYTEUS_JSON = Format(
    name="autobyteus_json",
    summary="JSON in running text that begins like a call, with name and arguments where a profile has them.",
    sample='I\'ll look it up.\n{"tool": {"function": "get_weather", "parameters": {"city": "Paris", "days": 3}}}',
    history=json_history('{"tool": {"function": $quoted, "parameters": $arguments}}'),
    sections=(_section(PATTERNS),),
    configured=_configured,
)
