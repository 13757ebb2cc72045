"""What of a string can be decoded before its end is known."""

import pytest

from tokenmill.parser.bodies.json_reading import certain
from tokenmill.parser.values.repair import Spelling


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
        ("\\ud83d\\u", ""),
        ("\\ud83d\\u1", "\\ud83d"),
        ("\\ud83d\\u00", "\\ud83d"),
        ("\\ud83d\\ud83d", "\\ud83d"),
        ("\\ude00", "\\ude00"),
        ("\\\\ud83d", "\\\\ud83d"),
    ],
)
def test_whole_escapes(raw: str, whole: str) -> None:
    """Half an escape and half a surrogate pair wait for the rest; whatever can't become one does not."""
    assert raw[: certain(raw)] == raw[: certain(raw, Spelling.PYTHON)] == whole


@pytest.mark.parametrize(
    ("raw", "whole"),
    [
        ("a\\x", "a"),
        ("\\x1", ""),
        ("\\x1b[", "\\x1b["),
        ("\\xa ", "\\xa "),
        ("\\U0001f60", ""),
        ("\\U0001f600", "\\U0001f600"),
        ("\\U0001z", "\\U0001z"),
        ("\\ud83d\\U0000", "\\ud83d"),
        ("\\\\x1", "\\\\x1"),
    ],
)
def test_whole_escapes_of_python(raw: str, whole: str) -> None:
    """Those that only Python has wait, too; in JSON they are none."""
    assert raw[: certain(raw, Spelling.PYTHON)] == whole
    assert raw[: certain(raw)] == raw
