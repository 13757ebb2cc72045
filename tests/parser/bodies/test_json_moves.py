"""Where a chunk leads from one place in a JSON text."""

import pytest

from tokenmill.limits import JSON_DEPTH
from tokenmill.parser.bodies.json_moves import Move, content_move, move_from


def move(stack: str, quote: str, text: str, *, escaped: bool = False, floor: int = 0) -> Move | None:
    """The same by names."""
    return move_from(stack, floor, quote, escaped, text)


@pytest.mark.parametrize(
    ("stack", "quote", "text", "expected"),
    [
        ("{", "", ", [{", ("{[{", "", False)),
        ("{[", "", '"]', ("{[", '"', False)),
        ("{[", "", "], [", ("{[", "", False)),
        ("{[", '"', "\", '", ("{[", "'", True)),
        ("{[", "'", '\', {"}"', ("{[{", "", False)),
        ("{[", "", "'', 1", ("{[", "", True)),
    ],
)
def test_move(stack: str, quote: str, text: str, expected: tuple[str, str, bool]) -> None:
    """Open brackets and quote behind a chunk that is not all of one string, and whether one in single quotes begins."""
    assert move(stack, quote, text) == Move(*expected[:2], escaped=False, single=expected[2])


@pytest.mark.parametrize(
    ("opened", "expected"),
    [('"a\\', True), ('"\\"', False), ("\"'}", False), ("'\"", False), ('"' + "\\" * 3, True), ("'\\\\", False)],
)
def test_inside_of_a_string(opened: str, expected: bool) -> None:  # a parameter of the table
    """Nothing counts but escapes."""
    assert content_move(opened) is expected


@pytest.mark.parametrize("opened", ['"a"', "'a'b", '"\\\\"', "/a", "\na", "*a"])
def test_not_inside_of_a_string(opened: str) -> None:
    """The string ends, or it is a comment."""
    assert content_move(opened) is None


@pytest.mark.parametrize(
    ("stack", "quote", "text"),
    [("{[", "", "}"), ("{", "", "}"), ("{[", "", "]}[{"), ("{[", "", "/"), ("{[", "\n", "a"), ("{[", "*", "a")],
)
def test_no_move(stack: str, quote: str, text: str) -> None:
    """A wrong bracket, one too many even if others follow, and comments."""
    assert move(stack, quote, text) is None


def test_the_floor_holds() -> None:
    """What is open below the place is not closed."""
    assert move("{[{", "", "}", floor=1) == Move("{[", "", escaped=False, single=False)
    assert move("{[{", "", "}", floor=2) is None
    assert move("{[", '"', '"]', floor=1) is None


def test_nesting_is_bounded() -> None:
    """Not even for a moment is more open than may be."""
    assert move("[" * JSON_DEPTH, "", "[]") is None
    assert move("[" * (JSON_DEPTH - 1), "", "[]") is not None
