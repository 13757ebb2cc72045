"""Nesting followed by its brackets."""

import pytest

from tokenmill.limits import JSON_DEPTH
from tokenmill.parser.bodies.brackets import nested


@pytest.mark.parametrize(
    ("stack", "signs", "expected"),
    [
        ("[", "", "["),
        ("[", "{(", "[{("),
        ("[{", "}[]", "["),
        ("[", "]", None),
        ("[{", "]", None),
        ("[", "'", None),
        ("[" * (JSON_DEPTH - 1), "[", None),
    ],
)
def test_nesting(stack: str, signs: str, expected: str | None) -> None:
    """What closes the outermost bracket, does not match or is no bracket is not for the short path."""
    assert nested(stack, signs) == expected
