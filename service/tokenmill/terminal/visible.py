"""Text of others, so that it can be shown: what a terminal would obey, or nobody would see, is named instead."""

import unicodedata

JOINERS = "\u200c\u200d"
"""Between letters of some scripts, and inside of emoji: without them text is spelled wrongly."""


def visible(text: str) -> str:
    r"""The text with `<U+001B>` in place of what can't be seen, as `less` writes it; `\n`, `\t` and spaces are kept.

    That are control characters, marks of direction and other formats, unknown characters, halves of surrogate pairs.
    """
    return text if text.isprintable() else "".join(map(_named, text))


def _named(char: str) -> str:
    if char.isprintable() or char in "\n\t" or char in JOINERS or unicodedata.category(char) == "Zs":
        return char
    return f"<U+{ord(char):04X}>"


def one_line(text: str) -> str:
    """The same on one line: white space is joined."""
    return visible(" ".join(text.split()))
