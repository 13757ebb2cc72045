"""Patterns that are lists of texts."""

import pytest

from tokenmill.formats.anchors import Named, Spelled, named, spelled


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (r"<\|a\|>", Spelled(("<|a|>",))),
        (r"a|b(?:c|d)?", Spelled(("a", "b", "bc", "bd"))),
        (r"\n?</r>", Spelled(("</r>", "\n</r>"))),
        (r"<t>\s*<f>", Spelled(("<t><f>", "<t>\n<f>"))),
        (r"<t>\s+<f>", Spelled(("<t>\n<f>", "<t> <f>"))),
        (r"(?:^|<t>)", Spelled(("<t>",), at_start=True)),
        (r"\.\(\\", Spelled((".(\\",))),
        ("", Spelled(())),
    ],
)
def test_a_pattern_is_its_texts(pattern: str, found: Spelled) -> None:
    """Alternatives, what may be missing, and white space as markers have it."""
    assert spelled(pattern) == found


@pytest.mark.parametrize(
    "pattern",
    [
        ".*",
        "a+",
        "[ab]",
        "a{2}",
        r"\w",
        "(a)",
        "(?P<x>a)",
        "a$",
        "(?:a",
        "a)",
        "*",
        "(?:" * 5_000,
        "(?:a|b)" * 4,
        "|".join(map(str, range(9))),
        "x" * 65,
    ],
)
def test_any_other_pattern_is_refused(pattern: str) -> None:
    """Also one that would be many texts, or long ones."""
    with pytest.raises(ValueError, match="pattern"):
        spelled(pattern)


def test_a_group_stands_between_texts() -> None:
    """Characters of one kind may follow it, or nothing. No part gives back what it has matched."""
    assert named(r"<f=(?P<name>\w+)>", "name") == Named(("<f=",), r"\w++", "", (">",))
    assert named(r"<f=(?P<name>\w*?)>", "name") == Named(("<f=",), r"\w*+", "", (">",))
    assert named(r"to=(?P<name>[\w.]+).*?<m>", "name") == Named(("to=",), r"[\w.]++", ".*+", ("<m>",))
    assert named(r"call:(?P<name>.+)", "name") == Named(("call:",), ".++", "", ())


@pytest.mark.parametrize("pattern", [r"<f=(?P<name>\w+?).*?<m>", r"<f=(?P<name>\w+).+<m>"])
def test_what_a_group_leaves_to_its_rest_is_refused(pattern: str) -> None:
    """Where both match the same characters, the group takes all of them: the name would be another one."""
    with pytest.raises(ValueError, match="take all it can"):
        named(pattern, "name")


@pytest.mark.parametrize(
    "pattern",
    [
        "<f>",
        r"<f=(?P<name>\w)>",
        r"<f=(?P<name>(a+)+)>",
        r"<f=(?P<name>\w+",
        r"<f=(?P<name>[z-a]+)>",
        r"<f=(?P<name>\w+)[ab]c>",
        r".*(?P<name>\w+)>",
    ],
)
def test_a_group_of_another_kind_is_refused(pattern: str) -> None:
    """It could cost more than linear time, or is no pattern at all."""
    with pytest.raises(ValueError, match="pattern"):
        named(pattern, "name")
