"""Patterns with `*`."""

import fnmatch
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.wildcards import matches


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("a", ["a"], ["", "aa", "b"]),
        ("*", ["", "a", "a\nb"], []),
        ("a*", ["a", "ab"], ["", "ba"]),
        ("*a", ["a", "ba"], ["", "ab"]),
        ("a*a", ["aa", "aba"], ["a", "ab"]),
        ("a*b*a", ["aba", "axxbxxa", "abba"], ["aa", "ab", "aab"]),
        ("**", ["", "a"], []),
        ("a?", ["a?"], ["ab"]),
        ("/srv/[x]/*", ["/srv/[x]/y"], ["/srv/x/y"]),
        ("a.b", ["a.b"], ["axb"]),
    ],
)
def test_a_star_is_all_that_stands_for_anything(pattern: str, yes: list[str], no: list[str]) -> None:
    """Names of files have other signs in them."""
    assert [text for text in (*yes, *no) if matches(pattern, text)] == yes


@pytest.mark.parametrize("pattern", ["?", "[a]", "[!b]", "."])
def test_only_the_star_is_special(pattern: str) -> None:
    """What is special in a shell or an expression is a character of a name here."""
    assert matches(pattern, pattern)
    assert not matches(pattern, "a")


@given(pattern=st.text("ab*\n", max_size=8), name=st.text("ab\n", max_size=10))
def test_patterns_match_as_a_shell_would(pattern: str, name: str) -> None:
    """The standard library, for patterns with `*` alone, is the oracle."""
    assert matches(pattern, name) == (re.match(fnmatch.translate(pattern), name) is not None)


def test_no_pattern_takes_long() -> None:
    """One that would keep an expression busy for hours."""
    began = time.process_time()
    assert not matches("*a" * 200 + "b", "a" * 20_000)
    assert time.process_time() - began < 1
