"""Patterns in schemas, as they are found in texts."""

import time

import pytest

from tokenmill.parser.values.patterns import PATTERN_CHARS, matches


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^x-", "x-a", True),
        ("^x-", "ax-", False),
        ("b", "abc", True),
        (r"^\d+$", "12", True),
        (r"^(\x61+)+$", "aaa", True),
        ("^é$", "é", True),
    ],
)
def test_as_json_schema_means_it(pattern: str, text: str, found: bool) -> None:
    """Found anywhere, unless the pattern says where."""
    assert matches(pattern, text) is found


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "a" * (PATTERN_CHARS + 1)])
def test_what_is_no_pattern_matches_nothing(pattern: str) -> None:
    """Nor does one that no linear engine can take, or one too long."""
    assert not matches(pattern, "aaaa")


def test_text_that_cannot_be_encoded_matches_nothing() -> None:
    """Half a surrogate pair."""
    assert not matches("a", "a\ud83d")


def test_no_pattern_takes_long() -> None:
    """Those that other engines go back and forth in take no longer than any."""
    begun = time.perf_counter()
    assert not matches("^(a+)+$", "a" * 100_000 + "!")
    assert time.perf_counter() - begun < 1
