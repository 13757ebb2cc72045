"""Follows relaxed JSON in which a value may be a word without quotes: a slash in a word begins no comment."""

import re

from tokenmill.parser.bodies.json_scan import JsonScan
from tokenmill.parser.run.state import JsonState


class TaggedJsonState(JsonState, array_like=True, gc=False):
    """Where a call between tags stands."""

    first: int = 0
    """Where the text between the tags begins in the call's source."""
    stop: int = -1
    """Where it ends, once it has."""
    whole: int = -1
    """Where its object ends, once it has."""
    loose: bool = False
    """Only the next tag is looked for."""
    before: str = ""
    """The character in front of the last slash or quote with which a chunk began."""


def is_word(state: JsonState, buffer: str, position: int) -> bool:
    """Whether the character in front of a position is one of a word; `before` is the one in front of the buffer."""
    before = state.before if isinstance(state, TaggedJsonState) else ""
    last = buffer[position - 1] if position else before
    return last.isalpha() or last in ("_", "$", "/")


class WordScan(JsonScan):
    """A scanner that passes over slashes in words."""

    __slots__ = ()

    def _find(self, signs: re.Pattern[str], state: JsonState, buffer: str, position: int) -> re.Match[str] | None:
        found = signs.search(buffer, position)
        while found is not None and found.group() == "/" and is_word(state, buffer, found.start()):
            found = signs.search(buffer, found.end())
        return found
