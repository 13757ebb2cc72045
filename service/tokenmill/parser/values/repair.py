"""JSON of models, read strictly where it is valid and leniently where it is not.

1. What was read leniently is marked, and only the final `arguments` are affected: source deltas are never repaired.
2. *Relaxed* JSON is what models write when they think of Python or JavaScript. Comments, trailing commas, single
   quotes, unquoted keys, Python's words for constants, raw control characters in strings and invalid escapes are read
   as meant. Nothing is guessed: a missing value, quote or bracket stays an error.
3. Where the text is Python's, its escapes with `x` and `U` are decoded, too: `repr()` writes them. See `Spelling`.
4. With `words`, as in some readers of JavaScript, a value may be a word without quotes, and a needless backslash means
   nothing.

Written here because the libraries do not fit: json-repair makes a call of anything. json5 takes a second for a call of
the allowed size, and refuses Python's words.
"""

import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import accumulate
from typing import Any

import msgspec

from tokenmill.limits import JSON_DEPTH
from tokenmill.parser.markers import end_of

# Relaxed JSON, rewritten as JSON.

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.?)|\"", re.DOTALL)
_CHARACTER = re.compile(r"\\(?:x([0-9a-fA-F]{2})|U([0-9a-fA-F]{8})|.?)", re.DOTALL)
"""An escape; those that Python has and JSON does not have are a group each."""
_SPACES = re.compile(r"\s*+")
_UNKNOWN = "\ufffd"
_SURROGATES = range(0xD800, 0xE000)
"""Halves of pairs, which nobody writes with eight digits."""
_read_literal = msgspec.json.Decoder(str).decode
_KNOWN = frozenset('"\\/bfnrt')


class Spelling:
    """How a string is written, which determines what its escapes mean. Plain numbers, as the states hold them."""

    JSON = 0
    """An invalid escape stands for itself."""
    PYTHON = 1
    """`x` with two digits and `U` with eight are escapes, too."""
    WORDS = 2
    """As in some readers of JavaScript: the backslash of an invalid escape means nothing."""


_NESTING = {"[": 1, "{": 1, "]": -1, "}": -1}
_WORDS = {"True": "true", "False": "false", "None": "null"}
_CONSTANTS = frozenset({"true", "false", "null"})


def blotted(text: str, quotes: str = "\"'") -> str:
    """Return the text with escaped backslashes and quotes blotted out, same length: the next quote ends its string.

    For long text this takes a third of the time of a pattern, which stops at each escape.
    """
    for character in ("\\", *quotes):
        text = text.replace(f"\\{character}", "\0\0")
    return text


HEX = "[0-9a-fA-F]"
HIGH, LOW = rf"\\u[dD][89abAB]{HEX}{{2}}", rf"\\u[dD][c-fC-F]{HEX}{{2}}"
"""Escapes of both halves of a pair."""


def whole_escapes(digits: Mapping[str, int], octal: str = "") -> re.Pattern[str]:
    """Return a pattern for as much of a string as can be decoded whatever follows: no half escape or pair at its end.

    `digits` is the number of digits of each escape that has some, by its letter; `octal` is the pattern of octal ones.
    """
    low_begun = rf"(?:\\(?:u(?:[dD](?:[c-fC-F]{HEX}?)?)?)?)?\Z"
    escapes = "|".join(  # with fewer digits it is none after all
        rf"{letter}(?:{HEX}{{{count}}}|(?={HEX}{{0,{count - 1}}}[^0-9a-fA-F]))" for letter, count in digits.items()
    )
    others = rf"[^{''.join(digits)}{'0-7' if octal else ''}]{octal}"
    return re.compile(rf"(?:[^\\]++|{HIGH}(?:{LOW}|(?!{low_begun}))|(?!{HIGH})\\(?:{escapes}|{others}))*+", re.DOTALL)


def _tokens(word: str) -> re.Pattern[str]:
    """Return the tokens of relaxed JSON, with this pattern for a word. They cover all characters, but of
    strings only the quote that begins them.
    """
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
"""Tokens with values without quotes; slashes in them do not begin a comment."""


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
"""The tokens that `repr()` writes."""


def relaxed_tokens(text: str, *, words: bool) -> tuple[list[str], list[int]]:
    """Return the tokens of JSON, and which of them are strings: as written; with `words`, in double quotes.

    Raises `ValueError` for an invalid token, and where it is nested deeper than readers can handle.
    """
    out: list[str] = []
    strings: list[int] = []
    for kind, source in _tokens_of(_WORD_OR_TOKEN if words else _TOKEN, text):
        if kind == "string":
            strings.append(len(out))
        elif source in "}]" and out[-1:] == [","] and out[-2:-1] not in (["["], ["{"], [","], []):
            out.pop()
        if kind != "skipped":
            out.append(_written(kind, source, words=words))
    return out, strings


def joined_tokens(out: list[str], strings: list[int], *, words: bool, growing: bool) -> str:
    """Return tokens as JSON, which may still be wrong.

    Strings are Python's if any is in single quotes, or if each needs the double ones for a `'` in it. With `growing`,
    for texts whose strings are sent while they arrive, only those from the first in single quotes on are.
    """
    spelling = Spelling.WORDS if words else Spelling.JSON
    if not words and not growing and strings:  # Python writes strings without `'` between single quotes
        is_python = any(out[at][0] == "'" for at in strings) or all("'" in out[at] for at in strings)
        spelling = Spelling.PYTHON if is_python else spelling
    for at in strings:
        string = out[at]
        if string[0] == "'" and not words:
            spelling = Spelling.PYTHON
        out[at] = _respelled(string, spelling)
    return " ".join(out)


def _respelled(string: str, spelling: int) -> str:
    return f'"{escaped(string[1:-1], spelling)}"'


def printed(text: str) -> str:
    """Return `repr()`'s text of a JSON value as JSON, which may still be wrong. Raises `ValueError` for other text."""
    return " ".join(
        _respelled(source, Spelling.PYTHON) if kind == "string" else _WORDS.get(source, source)
        for kind, source in _tokens_of(_PRINTED, text)
    )


def _tokens_of(tokens: re.Pattern[str], text: str) -> Iterator[tuple[str, str]]:
    """Yield the tokens of a text by kind."""
    strings, at, depth = blotted(text), 0, 0
    while token := tokens.match(text, at):
        kind, at = token.lastgroup or "", token.end()
        begin, end = token.span(kind)
        if kind == "string":
            end = strings.find(token[kind], end) + 1
            at = end_of(_SPACES, text, end)
        if kind == "none" or not end:
            raise ValueError(f"this is no JSON: {text[begin : begin + 20]!r}")
        source = text[begin:end]
        if kind == "sign" and (depth := depth + _NESTING.get(source, 0)) > JSON_DEPTH:
            raise ValueError("nesting is too deep")
        yield kind, source


def _written(kind: str, source: str, *, words: bool) -> str:
    if kind == "key":
        return f'"{source}"'
    if words and kind == "string" and source[0] == "'":
        return _respelled(source, Spelling.WORDS)
    if kind != "word":
        return source
    source = _WORDS.get(source, source)
    return json.dumps(source) if words and source not in _CONSTANTS else source


def escaped(content: str, spelling: int = Spelling.JSON) -> str:
    """Return string content of this spelling as JSON writes it; an escaped `'` is an escape in all spellings."""
    if spelling == Spelling.PYTHON:
        content = _CHARACTER.sub(_character, content)
    try:
        _read_literal(f'"{content}"')
    except (msgspec.DecodeError, UnicodeEncodeError):
        return _ESCAPE.sub(partial(_escape, "" if spelling == Spelling.WORDS else r"\\"), content)
    return content  # nearly all are as JSON has them, and it may be a whole file


def _character(found: re.Match[str]) -> str:
    digits = found.group(1) or found.group(2)
    if digits is None:
        return found.group()
    code = int(digits, 16)
    return _UNKNOWN if code in _SURROGATES or code > sys.maxunicode else json.dumps(chr(code))[1:-1]


def _escape(backslash: str, found: re.Match[str]) -> str:
    """Return an escape as JSON writes it; `backslash` is that of one that JSON does not have."""
    sign = found.group(1)
    if not sign:
        return r"\\" if sign == "" else r"\""
    if sign in _KNOWN or len(sign) > 1:
        return found.group()
    return "'" if sign == "'" else backslash + sign


# From a JSON text to its value.

_BARE_KEY = re.compile(r"\s*+\{\s*+[^\"}\s]")
"""An object whose first key is not valid JSON."""

_HALF = re.compile("[\ud800-\udfff]")

HALF_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")
"""Half of a surrogate pair in a JSON text: producers that cut their text by UTF-16 units write halves."""


_STEPS = {ord(bracket): step for bracket, step in _NESTING.items()}
_NO_BRACKETS = bytes(set(range(256)) - _STEPS.keys())
_NO_STRUCTURE = bytes(set(_NO_BRACKETS) - set(b'"\\/bfnrtu'))
"""What is neither a bracket nor a quote and can't stand in an escape: most of a text, and removed quickly."""


def decode_json(text: str, *, words: bool = False, growing: bool = False) -> tuple[Any, bool]:
    """Return the value of a JSON text, and whether it had to be repaired. Raises `ValueError` if it can't be read.

    Repairs concern raw control characters inside strings, numbers that are not finite (they become strings), halves of
    surrogate pairs (they become U+FFFD), and relaxed JSON: see `relaxed_tokens` for `words`, `joined_tokens` for
    `growing`.
    """
    if not _BARE_KEY.match(text) and not nested_too_deep(text):
        with suppress(msgspec.DecodeError, UnicodeEncodeError):
            return msgspec.json.decode(text), False
        with suppress(ValueError):
            return whole_characters(_lenient(text)), True
    tokens, strings = relaxed_tokens(text, words=words)
    if all(tokens[at][0] == '"' for at in strings):  # most are as JSON has them: then a file is read only once
        with suppress(msgspec.DecodeError, UnicodeEncodeError):
            return msgspec.json.decode(" ".join(tokens)), True
    return _read(joined_tokens(tokens, strings, words=words, growing=growing)), True


def decode_printed(text: str) -> Any:
    """Return the JSON value whose Python `repr()` this is. Raises `ValueError` if it is not one."""
    return _read(printed(text))


def _read(text: str) -> Any:
    try:
        return msgspec.json.decode(text)  # refuses halves of characters
    except (msgspec.DecodeError, UnicodeEncodeError):
        return whole_characters(_lenient(text))


def _finite(text: str) -> float | str:
    value = float(text)
    return value if math.isfinite(value) else text


_lenient = json.JSONDecoder(strict=False, parse_float=_finite, parse_constant=str).decode
"""Created once: to create a decoder costs more than to read a call with it."""


def whole_characters(value: Any) -> Any:
    """Return `value` with every half of a surrogate pair replaced, so that it can be encoded."""
    return _rewritten(value, _whole)


def single_halves(value: Any) -> Any:
    """Return `value` with each half of a surrogate pair replaced alone: two adjacent ones may have come separately."""
    return _rewritten(value, lambda text: text if text.isascii() else _HALF.sub("\ufffd", text))


def _rewritten(value: Any, change: Callable[[str], str]) -> Any:
    """Return `value` with all texts in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {_rewritten(key, change): _rewritten(item, change) for key, item in value.items()}
    return [_rewritten(item, change) for item in value] if isinstance(value, list) else value


def _whole(text: str) -> str:
    if text.isascii():  # cheap: a string stores this
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def nested_too_deep(text: str, around: int = 0) -> bool:
    """Whether a JSON text, inside `around` brackets, is nested deeper than readers can handle.

    The text itself is checked: the depth that a decoder reaches depends on its caller's.
    """
    most = JSON_DEPTH - around
    few = text.count("[") + text.count("{") <= most  # nearly always: no bytes need be made
    return not few and nested_deeper(text.encode("utf-8", "surrogatepass"), most)


def nested_deeper(data: bytes, most: int) -> bool:
    """Whether JSON is nested more than `most` deep. Of what is no JSON, the part before the error counts."""
    if data.count(b"[") + data.count(b"{") <= most:
        return False
    structure = data.translate(None, _NO_STRUCTURE)
    quotes = structure.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside = b"".join(quotes.split(b'"')[::2])  # every second piece is in a string
    return max(accumulate(map(_STEPS.__getitem__, outside.translate(None, _NO_BRACKETS))), default=0) > most


def decode_string(raw: str, spelling: int = Spelling.JSON) -> str:
    """Return the text of a string's content (without its quotes), leniently."""
    if "\\" not in raw:
        return raw
    try:
        return _read_literal(f'"{raw}"')
    except (msgspec.DecodeError, UnicodeEncodeError):
        return whole_characters(json.loads(f'"{escaped(raw, spelling)}"', strict=False))  # type: ignore[no-any-return] # -- a string literal
