"""Follows lists and dictionaries in Python as they arrive, without building a value."""

import re
from functools import lru_cache
from typing import NamedTuple

from tokenmill.limits import JSON_DEPTH
from tokenmill.parser.bodies.json_scan import turned
from tokenmill.parser.markers import REMEMBERED, TOKEN_CHARS
from tokenmill.parser.values.python import CONTENT, Endings

_ENDINGS = Endings()


class Inside(NamedTuple):
    """What is open behind a chunk, and how much of the chunk is read: the rest must wait."""

    quote: str
    escaped: bool
    stack: str
    read: int


def follow(signs: re.Pattern[str], text: str, quote: str, stack: str, *, escaped: bool) -> Inside | None:
    """Read a chunk inside of brackets; None if it leaves them, or must be read with care.

    `quote` is that of the open string, `stack` are the open brackets; `escaped` says that the character before was an
    escaping backslash. `signs` finds quotes, brackets, and what can begin a marker outside of strings.
    """
    return (_remembered if len(text) <= TOKEN_CHARS else _follow)(signs, text, quote, stack, escaped)


def _follow(signs: re.Pattern[str], text: str, quote: str, stack: str, escaped: bool) -> Inside | None:  # noqa: FBT001 -- a key of the cache
    at = 0
    while at < len(text):
        if quote:
            at, escaped = content_end(quote, text, at, escaped=escaped)
            closes = string_closes(quote, text, at, stack[-1], _ENDINGS, final=False)
            if closes is None:
                break
            at += len(quote) if closes else at < len(text)
            quote = "" if closes else quote
            continue
        found = signs.search(text, at)
        if found is None:
            at = len(text)
        elif found.group() in "\"'":
            at = found.start()
            opened = opening_quote(text, at, final=False)
            if opened is None:
                break
            quote = opened
            at += len(quote)
        else:
            inner = turned(stack, found.group(), JSON_DEPTH - 1)
            if not inner:
                return None
            at, stack = found.end(), inner
    return Inside(quote, escaped, stack, at)


_remembered = lru_cache(REMEMBERED)(_follow)


def opening_quote(text: str, at: int, *, final: bool) -> str | None:
    """The quote that opens a string at this character, which may be three of them; None if that can't be told yet."""
    sign, quotes = text[at], text[at : at + 3]
    if quotes == sign * 3:
        return quotes
    return None if not final and at + len(quotes) == len(text) and quotes in (sign, sign * 2) else sign


def content_end(quote: str, text: str, at: int, *, escaped: bool) -> tuple[int, bool]:
    """Where a string's content stops, at a quote character that may end it or at the end of the text; and whether that
    is behind an escaping backslash. `escaped`: the content begins behind one.
    """
    content = CONTENT[quote].match(text, at + escaped)
    assert content is not None  # the pattern matches the empty string, too
    at = content.end()
    return (at + 1, True) if text.startswith("\\", at) else (at, False)


def string_closes(quote: str, text: str, at: int, around: str, endings: Endings, *, final: bool) -> bool | None:
    """Whether the string ends where its content stopped; None if that can't be told yet.

    `around` is the bracket that the string stands in, empty for an argument itself.
    """
    if at == len(text):
        return False
    if not text.startswith(quote, at):
        return False if final else None
    return len(quote) > 1 or endings.ends(text, at + len(quote), around, final=final)
