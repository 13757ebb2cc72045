"""Where a JSON text has the tool's name and the arguments: one rule for each profile.

A profile finds calls in a decoded text. Its *head* finds the name in the beginning of a text that puts it first, so
that a long call need not wait for its end; whether that was the name, the profile decides.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tokenmill.limits import NAME_CHARS
from tokenmill.parser.values.repair import decode_json

Found = tuple[str, Any]
"""A tool's name and what stands for its arguments."""

_STRING = r'"(?:[^"\\]++|\\.)*+"'
_NAME = rf'"(?P<name>[^"\\]{{1,{NAME_CHARS}}})"\s*+[,}}]'


def _head(pattern: str) -> re.Pattern[str]:
    """A head: white space is tolerated between its signs, `NAME` is the name in quotes."""
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
    """The first of these values that is there and not null."""
    return next((value[key] for key in keys if value.get(key) is not None), None)


def _nested(value: Any) -> Iterator[Found]:
    """`{"tool": {"function": NAME or {"name": NAME}, "parameters" or "arguments": {…}}}`."""
    tool = value.get("tool") if isinstance(value, dict) else None
    if isinstance(tool, dict):
        function = tool.get("function")
        name = function.get("name") if isinstance(function, dict) else function
        yield from _named(name, _first(tool, "parameters", "arguments"))


def _openai(value: Any) -> Iterator[Found]:
    """Calls of the chat-completions protocol: alone, in a list, or in a list under `tool_calls` or `tools`."""
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
    """`{"name": NAME, "args": {…}}`, alone or in a list."""
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
"""Profile of a provider's models; of the others it is `default`."""


def any_call(value: Any) -> Iterator[Found]:
    """The first call in JSON of whatever profile: by `name`, `tool` or `function`."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        inner = value.get("function")
        function: dict[str, Any] = inner if isinstance(inner, dict) else {}
        name = _first(value, "name", "tool") or function.get("name")
        arguments = _first(value, "arguments", "parameters", "args")
        yield from _named(name, function.get("arguments") if arguments is None else arguments)


def object_of(arguments: Any) -> dict[str, Any]:
    """The arguments as an object: none are none, a string holds one. Raises `ValueError` for what is none."""
    if isinstance(arguments, str):
        arguments = decode_json(arguments)[0] if arguments.strip() else None
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        raise ValueError("the arguments are no JSON object")  # noqa: TRY004 -- what the source says is wrong, not a type
    return arguments
