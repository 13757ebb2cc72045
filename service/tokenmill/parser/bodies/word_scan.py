"""Follows relaxed JSON in which a value may be a word without quotes: a slash in a word begins no comment."""

import re

from tokenmill.parser.bodies.json_scan import JsonScan
from tokenmill.parser.body_state import JsonState, TaggedJsonState


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
