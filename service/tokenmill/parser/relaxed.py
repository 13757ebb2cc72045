"""JSON as models write it when they think of Python or JavaScript, rewritten as JSON.

Read as meant are comments, trailing commas, single quotes, unquoted keys, Python's words for constants, raw control
characters in strings and escapes that are none. Nothing is guessed: a missing value, quote or bracket stays an error.
With `words`, as some readers of JavaScript have it, a value may be a word without quotes, and a backslash in front of
what need not be escaped means nothing.

Written here because the libraries do not fit: json-repair makes a call of anything, json5 takes a second for a call of
the size that is allowed, and refuses Python's words.
"""

import json
import re

import msgspec

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.?)|\"", re.DOTALL)
_read_literal = msgspec.json.Decoder(str).decode
_KNOWN = frozenset('"\\/bfnrt')

_WORDS = {"True": "true", "False": "false", "None": "null"}
_CONSTANTS = frozenset({"true", "false", "null"})


def _tokens(word: str) -> re.Pattern[str]:
    """The tokens of relaxed JSON with this pattern for a word; every character is in one."""
    return re.compile(
        rf"""
        (?:(?P<skipped>\s++|//[^\n\r]*+|/\*.*?\*/)
        |(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+"|'[^'\\]*+(?:\\.[^'\\]*+)*+')
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


def to_json(text: str, *, words: bool = False) -> str:
    """The text as JSON, which may still be wrong. Raises `ValueError` at what no token of JSON is."""
    out: list[str] = []
    for token in (_WORD_OR_TOKEN if words else _TOKEN).finditer(text):
        kind = token.lastgroup
        if kind == "sign":
            _add_sign(out, token["sign"])
        elif kind == "none":
            raise ValueError(f"this is no JSON: {text[token.start() : token.start() + 20]!r}")
        elif kind != "skipped":
            out.append(_written(kind, token[kind or 0], words=words))
    return " ".join(out)


def _add_sign(out: list[str], sign: str) -> None:
    if sign in "}]" and out[-1:] == [","] and out[-2:-1] not in (["["], ["{"], [","], []):
        out.pop()
    out.append(sign)


def _written(kind: str | None, source: str, *, words: bool) -> str:
    if kind == "string":
        return f'"{escaped(source[1:-1], dropping=words)}"'
    if kind == "key":
        return f'"{source}"'
    if kind == "number":
        return source
    source = _WORDS.get(source, source)
    return json.dumps(source) if words and source not in _CONSTANTS else source


def escaped(content: str, *, dropping: bool = False) -> str:
    """A string's content as JSON has it: an escape that is none stands for itself, but an escaped `'` is one.

    `dropping` leaves out the backslash of all escapes that are none.
    """
    try:
        _read_literal(f'"{content}"')
    except (msgspec.DecodeError, UnicodeEncodeError):
        return _ESCAPE.sub(_dropped if dropping else _escape, content)
    return content  # nearly all are as JSON has them, and it may be a whole file


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
