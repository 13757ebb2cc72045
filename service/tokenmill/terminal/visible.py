"""Text of others, so that it can be shown: what a terminal would obey, or nobody would see, is named instead."""

import re
import unicodedata

JOINERS = "\u200c\u200d"
"""Between letters of some scripts, and inside of emoji: without them text is spelled wrongly."""

UNSEEN = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0d\uffa0\U0001d159\U000e0100-\U000e01ef]"
)
"""Marks, letters and signs without ink, which Python takes for printable: what Unicode has ignored by default, but for
the two that choose between a sign and an emoji, and two blanks (`inspector/assets/hidden.js` names the same)."""


def visible(text: str) -> str:
    r"""The text with `<U+001B>` in place of what can't be seen, as `less` writes it; `\n`, `\t` and spaces are kept.

    That are control characters, marks of direction and other formats, unknown characters, halves of surrogate pairs,
    fillers and selectors.
    """
    return text if text.isprintable() and not UNSEEN.search(text) else "".join(map(_named, text))


def _named(char: str) -> str:
    seen = char.isprintable() or char in "\n\t" or char in JOINERS or unicodedata.category(char) == "Zs"
    if seen and not UNSEEN.match(char):
        return char
    return f"<U+{ord(char):04X}>"


def one_line(text: str) -> str:
    """The same on one line: white space is joined."""
    return visible(" ".join(text.split()))
