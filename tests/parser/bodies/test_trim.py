"""What of a value is layout."""

import pytest

from tokenmill.parser.bodies.trim import LAYOUTS, STRIP_CHARS, Trim


@pytest.mark.parametrize(
    ("trim", "text", "whole"),
    [
        ("none", "\n x \n", "\n x \n"),
        ("line", "\n x \n", " x "),
        ("line", "\n\nx\n\n", "\nx\n"),
        ("line", "\n", ""),
        ("line", " \nx\n ", " \nx\n "),
        ("lines", "\nx\n\n", "x\n"),
        ("lines", "x\n", "x\n"),
        ("lines", "\n", ""),
        ("strip", "\n x \n\t", "x"),
        ("strip", " " * (2 * STRIP_CHARS + 1), " "),
        ("strip", "", ""),
    ],
)
def test_whole(trim: Trim, text: str, whole: str) -> None:
    """A complete value without its layout."""
    assert LAYOUTS[trim].whole(text) == whole


def test_certain() -> None:
    """What may be layout at the end is not certain; what was cut off there is never certain later either."""
    assert [LAYOUTS[trim].certain("a \n") for trim in ("none", "line", "strip")] == ["a \n", "a ", "a"]


def test_leading() -> None:
    """Layout at the beginning is counted down over chunks."""
    assert LAYOUTS["strip"].leading("  x", 1) == 1
    assert LAYOUTS["line"].leading("\n\n", 1) == 1
