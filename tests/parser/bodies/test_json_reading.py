"""What of a string can be decoded before its end is known."""

import pytest

from tokenmill.parser.bodies.json_reading import _WHOLE_ESCAPES


@pytest.mark.parametrize(
    ("raw", "whole"),
    [
        ("plain", "plain"),
        ("a\\", "a"),
        ("a\\n", "a\\n"),
        ("a\\\\", "a\\\\"),
        ("a\\\\\\", "a\\\\"),
        ("\\u00e", ""),
        ("\\u00e9", "\\u00e9"),
        ("\\u00zz", "\\u00zz"),
        ("\\ud83d", ""),
        ("\\ud83d\\", ""),
        ("\\ud83d\\ude0", ""),
        ("\\ud83d\\ude00", "\\ud83d\\ude00"),
        ("\\ud83dx", "\\ud83dx"),
        ("\\ud83d\\n", "\\ud83d\\n"),
        ("\\ude00", "\\ude00"),
        ("\\\\ud83d", "\\\\ud83d"),
    ],
)
def test_whole_escapes(raw: str, whole: str) -> None:
    """Half an escape and half a surrogate pair wait for the rest; whatever can't become one does not."""
    match = _WHOLE_ESCAPES.match(raw)
    assert match is not None
    assert raw[: match.end()] == whole
