"""JSON as models write it when they think of Python or JavaScript, rewritten as JSON.

Read as meant are comments, trailing commas, single quotes, unquoted keys, Python's words for constants, raw control
characters in strings and escapes that are none. Nothing is guessed: a missing value, quote or bracket stays an error.
Where the text is Python's, its escapes with `x` and `U` are, too: `repr()` writes them. See `Spelling`.
With `words`, as some readers of JavaScript have it, a value may be a word without quotes, and a backslash in front of
what need not be escaped means nothing.

Written here because the libraries do not fit: json-repair makes a call of anything, json5 takes a second for a call of
the size that is allowed, and refuses Python's words.
"""

import json
import re
import sys
from collections.abc import Iterator

import msgspec

from tokenmill.limits import JSON_DEPTH

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.?)|\"", re.DOTALL)
_CHARACTER = re.compile(r"\\(?:x([0-9a-fA-F]{2})|U([0-9a-fA-F]{8})|.?)", re.DOTALL)
"""An escape; those of Python that JSON does not have are a group each."""
_SPACES = re.compile(r"\s*+")
_UNKNOWN = "\ufffd"
_SURROGATES = range(0xD800, 0xE000)
"""Halves of pairs, which nothing writes with eight digits."""
_read_literal = msgspec.json.Decoder(str).decode
_KNOWN = frozenset('"\\/bfnrt')


class Spelling:
    """How a string is written, which says what its escapes stand for. Plain numbers, as they stand in states."""

    JSON = 0
    """An escape that is none stands for itself."""
    PYTHON = 1
    """`x` with two digits and `U` with eight are escapes, too."""
    WORDS = 2
    """As some readers of JavaScript have it: the backslash of an escape that is none means nothing."""


_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}
_WORDS = {"True": "true", "False": "false", "None": "null"}
_CONSTANTS = frozenset({"true", "false", "null"})


def blotted(text: str, quotes: str = "\"'") -> str:
    """The text with escaped backslashes and quotes blotted out, each by as much: the next quote ends its string.

    Where text is long this takes a third of what a pattern does, which stops at each escape.
    """
    for character in ("\\", *quotes):
        text = text.replace(f"\\{character}", "\0\0")
    return text


def _tokens(word: str) -> re.Pattern[str]:
    """The tokens of relaxed JSON with this pattern for a word; every character is in one; of a string its quote."""
    return re.compile(
        rf"""
        (?:(?P<skipped>\s++|//[^\n\r]*+|/\*.*?\*/)
        |(?P<string>["'])
        |(?P<key>[A-Za-z_$][\w$-]*+)(?=\s*+:)
        |(?P<word>{word})
        |(?P<number>[-+.\d][-+.\w]*+)
        |(?P<sign>[\[\]{{}},:])
        |(?P<none>.))\s*+
        """,
        re.DOTALL | re.VERBOSE,
    )


_TOKEN = _tokens(r"[A-Za-z]++")
_WORD_OR_TOKEN = _tokens(r"[A-Za-z_$][\w$\-+.*?!|&%^/\#\\]*+")
"""With values without quotes; slashes in them begin no comment."""


_PRINTED = re.compile(
    r"""
    (?:(?P<string>["'])
    |(?P<word>True|False|None)(?!\w)
    |(?P<number>-?+\d[-+.\w]*+)
    |(?P<sign>[\[\]{},:])
    |(?P<none>.))\s*+
    """,
    re.DOTALL | re.VERBOSE,
)
"""The tokens of what `repr()` writes."""


def to_json(text: str, *, words: bool = False, growing: bool = False) -> str:
    """The text as JSON, which may still be wrong. Raises `ValueError` at what no token of JSON is, and where it is
    nested deeper than readers bear.

    Strings are Python's if any is in single quotes, or if each needs the double ones for a `'` in it. With `growing`,
    for texts of which strings are sent while they arrive, only those from the first in single quotes on are.
    """
    out: list[str] = []
    strings: list[int] = []
    for kind, source in _read(_WORD_OR_TOKEN if words else _TOKEN, text):
        if kind == "sign":
            _add_sign(out, source)
        elif kind == "string":
            strings.append(len(out))
            out.append(source)
        elif kind != "skipped":
            out.append(_written(kind, source, words=words))
    spelling = Spelling.WORDS if words else Spelling.JSON
    if not words and not growing and _is_python([out[at] for at in strings]):
        spelling = Spelling.PYTHON
    for at in strings:
        string = out[at]
        if string[0] == "'" and not words:
            spelling = Spelling.PYTHON
        out[at] = f'"{escaped(string[1:-1], spelling)}"'
    return " ".join(out)


def _is_python(strings: list[str]) -> bool:
    """Whether strings, with their quotes, are Python's: one that has no `'` in it would stand between two."""
    return any(string[0] == "'" for string in strings) or (bool(strings) and all("'" in string for string in strings))


def printed(text: str) -> str:
    """What `repr()` wrote of a JSON value, as JSON, which may still be wrong. Raises `ValueError` if it did not."""
    out: list[str] = []
    for kind, source in _read(_PRINTED, text):
        if kind == "string":
            out.append(f'"{escaped(source[1:-1], Spelling.PYTHON)}"')
        else:
            out.append(_WORDS.get(source, source))
    return " ".join(out)


def _read(tokens: re.Pattern[str], text: str) -> Iterator[tuple[str, str]]:
    """The tokens of a text by kind."""
    strings, at, depth = blotted(text), 0, 0
    while token := tokens.match(text, at):
        kind, at = token.lastgroup or "", token.end()
        begin, end = token.span(kind)
        if kind == "string":
            end = strings.find(token[kind], end) + 1
            at = _skip(text, end)
        if kind == "none" or not end:
            raise ValueError(f"this is no JSON: {text[begin : begin + 20]!r}")
        source = text[begin:end]
        if kind == "sign" and (depth := depth + _STEPS.get(source, 0)) > JSON_DEPTH:
            raise ValueError("nesting is too deep")
        yield kind, source


def _skip(text: str, at: int) -> int:
    """Where the white space ends that stands there."""
    spaces = _SPACES.match(text, at)
    assert spaces is not None  # the pattern matches the empty string, too
    return spaces.end()


def _add_sign(out: list[str], sign: str) -> None:
    if sign in "}]" and out[-1:] == [","] and out[-2:-1] not in (["["], ["{"], [","], []):
        out.pop()
    out.append(sign)


def _written(kind: str, source: str, *, words: bool) -> str:
    if kind == "key":
        return f'"{source}"'
    if kind == "number":
        return source
    source = _WORDS.get(source, source)
    return json.dumps(source) if words and source not in _CONSTANTS else source


def escaped(content: str, spelling: int = Spelling.JSON) -> str:
    """The content of a string that is written so, as JSON has it; an escaped `'` is an escape in all of them."""
    if spelling == Spelling.PYTHON:
        content = _CHARACTER.sub(_character, content)
    try:
        _read_literal(f'"{content}"')
    except (msgspec.DecodeError, UnicodeEncodeError):
        return _ESCAPE.sub(_dropped if spelling == Spelling.WORDS else _escape, content)
    return content  # nearly all are as JSON has them, and it may be a whole file


def _character(found: re.Match[str]) -> str:
    digits = found.group(1) or found.group(2)
    if digits is None:
        return found.group()
    code = int(digits, 16)
    return _UNKNOWN if code in _SURROGATES or code > sys.maxunicode else json.dumps(chr(code))[1:-1]


def _escape(found: re.Match[str]) -> str:
    if found.group() == '"':
        return '\\"'
    sign = found.group(1)
    if sign == "'":
        return "'"
    return found.group() if (sign and sign in _KNOWN) or len(sign) > 1 else f"\\\\{sign}"


def _dropped(found: re.Match[str]) -> str:
    sign = found.group(1)
    return _escape(found) if sign is None or not sign or sign in _KNOWN or len(sign) > 1 else sign
