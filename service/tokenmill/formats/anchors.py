"""A checkpoint's own regular expressions as markers: those that match a few texts, or such texts around a name.

Not a format. No other regular expressions are read: a marker is found in a stream at its first character, without an
unlimited look ahead.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

SPELLINGS = 8
"""Texts that one side of a field may have: those of tags, which follow each other, are compiled in all combinations."""

CHARS = 64
"""Characters of each of them, twice the longest known."""

NESTED = 16
"""Groups in a pattern."""

_SPACES = {"*": ("", "\n"), "+": ("\n", " "), "": ("\n", " ")}
r"""Texts that `\s` with a quantifier stands for in a marker."""

_CONTROLS = {"n": "\n", "t": "\t", "r": "\r"}
_SPECIAL = "*+?{}[].$^(|)"


class Spelled(NamedTuple):
    """The texts that a pattern matches."""

    texts: tuple[str, ...]
    at_start: bool = False
    """Whether one of them is empty, at the beginning of the answer."""


class Named(NamedTuple):
    """A pattern with one group: a text before it, what it looks like, and what ends it.

    The group and the rest give back nothing that they have matched: a client's pattern takes linear time.
    """

    before: tuple[str, ...]
    group: str
    rest: str
    """A pattern for what may stand between the group and the text that follows it; mostly nothing."""
    after: tuple[str, ...]


def spelled(pattern: str) -> Spelled:
    """Return the texts of a pattern. Raises `ValueError` for one that is not a short list of texts."""
    if pattern.count("(?:") > NESTED:
        raise ValueError(f"the pattern {pattern!r} has more than {NESTED} groups")
    reader = _Reader(pattern)
    texts = reader.alternatives()
    if reader.position < len(pattern):
        raise ValueError(f"the pattern {pattern!r} has a bracket too many")
    return Spelled(tuple(text for text in texts if text), reader.at_start)


def named(pattern: str, group: str) -> Named:
    """Return a pattern around a group of this name. Raises `ValueError` if it is anything else."""
    before, opened, inner = pattern.partition(f"(?P<{group}>")
    name, closed, after = inner.partition(")")
    if not opened or not closed:
        raise ValueError(f"the pattern {pattern!r} has no group {group!r}")
    if not _is_repeated(name):
        raise ValueError(f"in the pattern {pattern!r} the group {group!r} must be one character, repeated")
    rest = next((rest for rest in _leading(after) if _spells(after[len(rest) :])), None)
    if rest is None:
        raise ValueError(f"in the pattern {pattern!r} a text must follow the group {group!r}")
    if rest and (name.endswith("?") or "+" in rest[-2:]):  # what they share would be the other's
        raise ValueError(f"in {pattern!r} the group {group!r} must take all it can, and {rest!r} be optional")
    return Named(spelled(before).texts, _possessive(name), _possessive(rest), spelled(after[len(rest) :]).texts)


def _possessive(repeated: str) -> str:
    """Return the pattern of repeated characters such that it gives back none of them."""
    return repeated and f"{repeated.removesuffix('?')}+"


def _leading(after: str) -> Iterator[str]:
    """Yield nothing, and the repeated characters with which a pattern begins."""
    yield ""
    for end in range(1, len(after) + 1):
        if _is_repeated(after[:end]):
            yield after[:end]


def _spells(pattern: str) -> bool:
    try:
        spelled(pattern)
    except ValueError:
        return False
    return True


def _is_repeated(pattern: str) -> bool:
    """Whether a pattern is one kind of character, any number of times."""
    kind = pattern.removesuffix("?")
    if kind[-1:] not in ("*", "+"):
        return False
    try:
        re.compile(pattern)
    except re.error:
        return False
    kind = kind[:-1]
    inside = kind[1:-1].replace("\\\\", "").replace("\\]", "")
    return kind in (".", "\\w", "\\s", "\\S", "\\d") or (kind[:1] == "[" and kind[-1:] == "]" and "]" not in inside)


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self.position = 0
        self.at_start = False

    def alternatives(self) -> list[str]:
        """Return the texts up to the closing bracket, or the end."""
        found, texts = [], [""]
        while self.position < len(self._pattern) and not self._at(")"):
            if self._take("|"):
                found += texts
                texts = [""]
                continue
            item = self._item()
            texts = [text + more for text in texts for more in item]
            if len(found) + len(texts) > SPELLINGS or any(len(text) > CHARS for text in texts):
                raise ValueError(f"the pattern {self._pattern!r} is more than {SPELLINGS} texts of {CHARS} characters")
        return list(dict.fromkeys([*found, *texts]))

    def _item(self) -> list[str]:
        if self._take("(?:"):
            texts = self.alternatives()
            if not self._take(")"):
                raise ValueError(f"the pattern {self._pattern!r} has a bracket that is not closed")
        elif self._take("^"):
            self.at_start, texts = True, [""]
        elif self._take("\\s"):
            return list(_SPACES[self._quantifier("*+")])
        else:
            texts = [self._character()]
        return ["", *texts] if self._quantifier("?") else texts

    def _character(self) -> str:
        sign = self._pattern[self.position]
        escaped = sign == "\\" and self.position + 1 < len(self._pattern)
        self.position += 1
        if escaped:
            sign = self._pattern[self.position]
            self.position += 1
        if sign in _CONTROLS and escaped:
            return _CONTROLS[sign]
        if sign.isalnum() if escaped else sign in _SPECIAL:
            raise ValueError(f"the pattern {self._pattern!r} is not a list of texts: {sign!r} is not supported")
        return sign

    def _quantifier(self, known: str) -> str:
        sign = self._pattern[self.position : self.position + 1]
        if not sign or sign not in known:
            return ""
        self.position += 1
        return sign

    def _at(self, text: str) -> bool:
        return self._pattern.startswith(text, self.position)

    def _take(self, text: str) -> bool:
        if not self._at(text):
            return False
        self.position += len(text)
        return True
