"""Makes untrusted text safe to show: what a terminal would interpret, or nobody would see, is named instead."""

import re
import unicodedata

JOINERS = "\u200c\u200d"
"""Joiners between letters of some scripts, and inside emoji: without them text is spelled wrongly."""

UNSEEN = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0d\uffa0\U0001d159\U000e0100-\U000e01ef]"
)
"""Invisible marks, letters and signs that Python takes for printable: Unicode's default ignorables, except the two that
choose between a sign and an emoji, and two blanks (`inspector/assets/hidden.js` has the same)."""


def visible(text: str) -> str:
    r"""Return the text with `<U+001B>` for what can't be seen, as `less` writes it; `\n`, `\t` and spaces are kept.

    These are control characters, direction marks and other formats, unknown characters, halves of surrogate pairs,
    fillers and selectors.
    """
    return text if text.isprintable() and not UNSEEN.search(text) else "".join(map(_named, text))


def _named(char: str) -> str:
    seen = char.isprintable() or char in "\n\t" or char in JOINERS or unicodedata.category(char) == "Zs"
    if seen and not UNSEEN.match(char):
        return char
    return f"<U+{ord(char):04X}>"


def one_line(text: str) -> str:
    """Return the same on one line: white space is joined."""
    return visible(" ".join(text.split()))
