"""White space at the sides of a value that belongs to the layout: how much is trimmed, and what of a value is certain.

What may be trimmed is bounded, so what waits at the end of a growing value is bounded, too.
"""

from typing import Literal, NamedTuple, TypeAlias

Trim: TypeAlias = Literal["none", "line", "lines", "breaks", "strip"]
"""Nothing; one new line at each side; the same, but only if there is one in front; all new lines at both sides; all
white space at both sides."""

STRIP_CHARS = 256
"""What `breaks` and `strip` take from each side: more than any indentation."""


class Layout(NamedTuple):
    """One rule."""

    characters: str | None
    """What is trimmed; None: white space."""
    most: int
    """How many at each side."""
    paired: bool = False
    """A value that does not begin with layout does not end with it."""

    def leading(self, text: str, most: int) -> int:
        """How many of the first characters are layout, of `most` that still may be."""
        return min(len(text) - len(text.lstrip(self.characters)), most)

    def certain(self, text: str) -> str:
        """The text without what may be layout at its end."""
        trailing = min(len(text) - len(text.rstrip(self.characters)), self.most)
        return text[: len(text) - trailing]

    def whole(self, text: str) -> str:
        """A complete value without its layout."""
        leading = self.leading(text, self.most)
        return text if self.paired and not leading else self.certain(text[leading:])


LAYOUTS: dict[Trim, Layout] = {
    "none": Layout("", 0),
    "line": Layout("\n", 1),
    "lines": Layout("\n", 1, paired=True),
    "breaks": Layout("\n", STRIP_CHARS),
    "strip": Layout(None, STRIP_CHARS),
}
