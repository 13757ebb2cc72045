"""JSON as models write it when they think of Python or JavaScript, rewritten as JSON.

Read as meant are comments, trailing commas, single quotes, unquoted keys, Python's words for constants, raw control
characters in strings and escapes that are none. Nothing is guessed: a missing value, quote or bracket stays an error.

Written here because the libraries do not fit: json-repair makes a call of anything, json5 takes a second for a call of
the size that is allowed, and refuses Python's words.
"""

import re

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.?)|\"", re.DOTALL)
_KNOWN = frozenset('"\\/bfnrt')

_TOKEN = re.compile(
    r"""
    (?P<skipped>\s++|//[^\n]*+|/\*.*?\*/)
    |(?P<string>"(?:[^"\\]++|\\.)*+"|'(?:[^'\\]++|\\.)*+')
    |(?P<key>[A-Za-z_$][\w$-]*+)(?=\s*+:)
    |(?P<word>[A-Za-z]++)
    |(?P<number>[-+.\d][-+.\w]*+)
    |(?P<sign>[\[\]{},:])
    """,
    re.DOTALL | re.VERBOSE,
)
_WORDS = {"True": "true", "False": "false", "None": "null"}


def to_json(text: str) -> str:
    """The text as JSON, which may still be wrong. Raises `ValueError` at what no token of JSON is."""
    out: list[str] = []
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise ValueError(f"this is no JSON: {text[position : position + 20]!r}")
        position = token.end()
        _add(out, token.lastgroup or "", token.group())
    return " ".join(out)


def _add(out: list[str], kind: str, source: str) -> None:
    if kind == "string":
        out.append(f'"{escaped(source[1:-1])}"')
    elif kind == "key":
        out.append(f'"{source}"')
    elif kind == "word":
        out.append(_WORDS.get(source, source))
    elif kind != "skipped":
        if source in "}]" and out[-1:] == [","] and out[-2:-1] not in (["["], ["{"], [","], []):
            out.pop()
        out.append(source)


def escaped(content: str) -> str:
    """A string's content as JSON has it: an escape that is none stands for itself, but an escaped `'` is one."""
    return _ESCAPE.sub(_escape, content)


def _escape(found: re.Match[str]) -> str:
    if found.group() == '"':
        return '\\"'
    sign = found.group(1)
    if sign == "'":
        return "'"
    return found.group() if (sign and sign in _KNOWN) or len(sign) > 1 else f"\\\\{sign}"
