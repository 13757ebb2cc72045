"""Where a chunk leads from one place in a JSON text: read once, and known when the same comes again.

Chunks are tokens. Those that nesting and escapes are written with are few, so a small memory knows nearly all of them.
"""

from functools import lru_cache
from typing import NamedTuple

from tokenmill.limits import JSON_DEPTH

QUICK_CHARS = 64
"""A chunk of a token or a few. Longer ones hardly come again."""

REMEMBERED = 4096
"""Moves that are remembered: about two megabytes."""

OPENER = {"}": "{", "]": "["}
"""Closing bracket → opening one."""


class Move(NamedTuple):
    """Where a chunk leads."""

    stack: str
    """Open brackets behind it."""
    quote: str
    """Quote of the string in which it ends."""
    escaped: bool
    """It ends behind an escaping backslash."""
    single: bool
    """A string in single quotes begins on the way."""


@lru_cache(REMEMBERED)
def move_from(stack: str, floor: int, quote: str, escaped: bool, text: str) -> Move | None:  # noqa: FBT001 -- a memory knows values by their place
    """Where `text` leads from these open brackets and this open quote, if any.

    None if there, or on the way, there are not more than `floor` brackets open and at most `JSON_DEPTH`; also at a
    bracket that closes another kind, at a slash, and in a comment.
    """
    if quote not in "\"'":
        return None
    single = False
    for character in text:
        if escaped:
            escaped = False
        elif quote and character == "\\":
            escaped = True
        elif quote and character == quote:
            quote = ""
        elif not quote and character in "\"'":
            quote, single = character, single or character == "'"
        elif not quote:
            stack = _nested(stack, character)
        if not floor < len(stack) <= JSON_DEPTH:
            return None
    return Move(stack, quote, escaped, single)


@lru_cache(REMEMBERED)
def content_move(opened: str) -> bool | None:
    """Whether this much of a string, its quote included, ends behind an escaping backslash.

    None if the string itself ends in it, or if it is a comment.
    """
    quote, escaped = opened[0], False
    if quote not in "\"'":
        return None
    for character in opened[1:]:
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == quote:
            return None
    return escaped


def _nested(stack: str, character: str) -> str:
    """The open brackets behind a character outside strings; none if it must not stand there."""
    if character in "{[":
        return stack + character
    if character in "}]":
        return stack[:-1] if stack[-1:] == OPENER[character] else ""
    return stack if character != "/" else ""
