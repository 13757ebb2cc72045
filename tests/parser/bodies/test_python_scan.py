"""Inside of Python's lists and dictionaries: what is open behind a chunk, and what of the chunk must wait."""

import re

import pytest

from tokenmill.parser.bodies.python_scan import content_end, follow, opening_quote, string_closes
from tokenmill.parser.markers import TOKEN_CHARS
from tokenmill.parser.values.python import Endings

SIGNS = re.compile(r"[\"'()\[\]{}<]")


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("1, 2", ("", False, "["), ("", False, "[", 4)),
        ("], {", ("", False, "[["), ("", False, "[{", 4)),
        ("'x': \"y", ("", False, "{"), ('"', False, "{", 7)),
        ("y', z", ("'", False, "["), ("", False, "[", 5)),
        ("it's z", ("'", False, "["), ("'", False, "[", 6)),
        ("x\\", ("'", False, "["), ("'", True, "[", 2)),
        ("', '", ("'", True, "["), ("'", False, "[", 3)),
        ("x' ", ("'", False, "["), ("'", False, "[", 1)),
        ("1, '", ("", False, "["), ("", False, "[", 3)),
        ("'''a' '''", ("", False, "["), ("", False, "[", 9)),
    ],
)
def test_what_is_open(text: str, before: tuple[str, bool, str], after: tuple[str, bool, str, int]) -> None:
    """Brackets nest outside of strings; a quote waits while it can still be three, or end its string."""
    quote, escaped, stack = before
    assert follow(SIGNS, text, quote, stack, escaped=escaped) == after


@pytest.mark.parametrize("text", ["]", "}", "<", "1]<"])
def test_what_must_be_read_with_care(text: str) -> None:
    """The end of the outermost bracket, one that does not match, and what can begin a marker."""
    assert follow(SIGNS, text, "", "[", escaped=False) is None


def test_cut_anywhere() -> None:
    """The same is open wherever the text is cut, whether the chunks are short enough to be remembered or not."""
    text = r"""{'a': ["it's", "x\"y\\", 'q', '''p'p''', ""]}, [(1, "2")], {"b": {'c': "d"}}, """ + "1, " * TOKEN_CHARS
    whole = follow(SIGNS, text, "", "[", escaped=False)
    assert whole is not None
    assert whole[:3] == ("", False, "[")
    for cut in range(1, len(text)):
        first = follow(SIGNS, text[:cut], "", "[", escaped=False)
        assert first is not None
        second = follow(SIGNS, text[first.read :], first.quote, first.stack, escaped=first.escaped)
        assert second is not None
        assert second[:3] == whole[:3]
        assert first.read + second.read == whole.read


def test_three_quotes() -> None:
    """One kind of quote opens a string alone or as three of them; two wait."""
    found = [opening_quote(text, 0, final=False) for text in ("'x", "''", "''x", "'''", "'")]
    assert found == ["'", None, "'", "'''", None]
    assert opening_quote("''", 0, final=True) == "'"


def test_a_string_that_the_text_ends_in() -> None:
    """A bracket at the end of the text closes the call only if the string has had no bare quote before."""
    assert string_closes("'", "x')", 1, "", Endings(), final=True) is True
    assert string_closes("'", "x')", 1, "", Endings(torn=True), final=True) is False


def test_content() -> None:
    """It stops at a quote that may end it, or behind a backslash at the end of the text."""
    assert content_end("'", "ab'c", 0, escaped=False) == (2, False)
    assert content_end("'", "'b\\", 0, escaped=True) == (3, True)
    assert content_end("'''", "a'b''", 0, escaped=False) == (3, False)
