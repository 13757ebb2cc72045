"""A call written as JSON with unescaped quotes in its strings: read if only one reading is possible.

1. The object of the call must be strict JSON around its arguments: `name`, then `arguments`, in either order.
2. A string ends at the first quote that is followed by the next key or by the end of the arguments.
3. What looks like another key inside such a string makes it ambiguous, and the call broken.
"""

import json
import re
from typing import Any

from tokenmill.parser.values.repair import Spelling, escaped, nested_too_deep

_STRING = r'"(?:[^"\\]|\\.)*+"'
_NAME = rf'"name"\s*+:\s*+(?P<name>{_STRING})'
_NAME_FIRST = re.compile(rf'\s*+\{{\s*+{_NAME}\s*+,\s*+"arguments"\s*+:\s*+\{{', re.DOTALL)
_NAME_LAST = re.compile(rf"\}}\s*+,\s*+{_NAME}\s*+\}}\s*+\Z", re.DOTALL)
_ARGUMENTS_FIRST = re.compile(r'\s*+\{\s*+"arguments"\s*+:\s*+\{')
_ENDS = re.compile(r"\}\s*+\}\s*+\Z")
_KEY = re.compile(rf"\s*+(?P<key>{_STRING})\s*+:\s*+", re.DOTALL)
_NEXT = re.compile(rf"\s*+(?:\Z|,(?=\s*+{_STRING}\s*+:))", re.DOTALL)
_AMBIGUOUS = re.compile(r',\s*+"[^"]*+"\s*+:')

_decoder = json.JSONDecoder(strict=False)


def read_unescaped(text: str) -> dict[str, Any]:
    """Return the call's object. Raises `ValueError` if it can't be read, or in more than one way."""
    name, inner = _outside(text)
    arguments: dict[str, Any] = {}
    position, size = 0, len(inner.rstrip())
    while position < size:
        key = _KEY.match(inner, position)
        if key is None:
            raise ValueError("the arguments are no JSON object")
        value, position = _value(inner, key.end())
        arguments[json.loads(key["key"], strict=False)] = value
    return {"name": json.loads(name, strict=False), "arguments": arguments}


def _outside(text: str) -> tuple[str, str]:
    """Return the literal of the name, and what stands between the brackets of the arguments."""
    if first := _NAME_FIRST.match(text):
        if end := _ENDS.search(text, first.end()):
            return first["name"], text[first.end() : end.start()]
    elif (first := _ARGUMENTS_FIRST.match(text)) and (end := _NAME_LAST.search(text, first.end())):
        return end["name"], text[first.end() : end.start()]
    raise ValueError("the call is no JSON object with name and arguments")


def _value(text: str, begin: int) -> tuple[Any, int]:
    """Return a value and the position of what follows it."""
    if text[begin : begin + 1] == '"':
        return _string(text, begin)
    try:
        value, end = _decoder.raw_decode(text, begin)
    except RecursionError:
        raise ValueError("nesting is too deep") from None
    if nested_too_deep(text[begin:end], around=2):  # the call, and its arguments
        raise ValueError("nesting is too deep")
    follows = _NEXT.match(text, end)
    if follows is None:
        raise ValueError("something stands behind a value")
    return value, follows.end()


def _string(text: str, begin: int) -> tuple[str, int]:
    quote = begin
    while (quote := text.find('"', quote + 1)) > 0:
        if _is_escaped(text, quote):
            continue
        if follows := _NEXT.match(text, quote + 1):
            return _unescaped(text[begin + 1 : quote]), follows.end()
    raise ValueError("a string does not end")


def _is_escaped(text: str, position: int) -> bool:
    """Whether an odd number of backslashes stands directly before a position."""
    first = position
    while text[first - 1] == "\\":
        first -= 1
    return (position - first) % 2 == 1


def _unescaped(content: str) -> str:
    if _AMBIGUOUS.search(content):
        raise ValueError("a quote that is not escaped may end its string or not")
    return str(json.loads(f'"{escaped(content, Spelling.WORDS)}"', strict=False))
