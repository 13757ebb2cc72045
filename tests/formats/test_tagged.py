"""`invoke` elements that several formats share."""

import re

import pytest

from tokenmill.formats.tagged import KEY, NAME, invoke


@pytest.mark.parametrize(
    ("header", "name", "whole"),
    [
        ('"f"', "f", ""),
        ("'a.b-c'", "a.b-c", ""),
        (" f ", "f", ""),
        ('"f"/', "f", "/"),
        ("f /", "f", "/"),
        ('"f" x', "", ""),
    ],
)
def test_names(header: str, name: str, whole: str) -> None:
    """Quoted in either way or not at all; a slash says that there is no body."""
    found = re.fullmatch(NAME, header)
    assert (found["name"], found["whole"]) == (name, whole) if found else not name


@pytest.mark.parametrize(
    ("tag", "key", "kind"),
    [
        ('"k"', "k", None),
        ("'k'", "k", None),
        (" k ", "k", None),
        ('"k" string="true"', "k", "true"),
        ("'k'  string = 'false' ", "k", "false"),
        ("k string=true", "k", "true"),
    ],
)
def test_keys(tag: str, key: str, kind: str | None) -> None:
    """A key, and what the tag says of the value's type."""
    found = re.fullmatch(KEY, tag, re.DOTALL)
    assert found is not None
    assert (found["key"], found["type"]) == (key, kind)


def test_the_prefix_is_in_every_tag() -> None:
    """Openings and closings alike."""
    assert invoke("x:").open.spellings == ("<x:invoke name=",)
