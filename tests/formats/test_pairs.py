"""Pairs of tags that several formats share."""

import re

import pytest

from tokenmill.formats.pairs import NAME, pairs


@pytest.mark.parametrize(
    ("header", "name"), [(" a.b-c\n", "a.b-c"), ("two words", None), ("f<b>", None), ("f\\n", None)]
)
def test_names(header: str, name: str | None) -> None:
    """One word, white space around it."""
    found = re.fullmatch(NAME, header)
    assert (found["name"] if found else None) == name


def test_values_are_closed() -> None:
    """What looks like the next key is part of a value."""
    assert pairs("</end>").forgets == "never"
