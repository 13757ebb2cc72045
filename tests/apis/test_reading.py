"""Values with their places."""

from collections.abc import Callable
from typing import Any

import pytest

from tokenmill.apis.ask import BadAsk
from tokenmill.apis.reading import MOST, PATH_CHARS, Node, holds_more, is_deeper, numbers, printable, shown


def refused(read: Callable[[], Any]) -> BadAsk:
    with pytest.raises(BadAsk) as caught:
        read()
    return caught.value


def test_a_place_is_a_path() -> None:
    """Members behind dots, numbers in brackets."""
    body = Node({"messages": [{"content": [{"text": 3}]}]})
    (message,) = body.at("messages").items()
    (part,) = message.at("content").some()
    assert refused(part.at("text").text).param == "messages[0].content[0].text"


@pytest.mark.parametrize(
    ("read", "value", "code"),
    [
        (Node.text, 3, "invalid_type"),
        (Node.filled, "", "invalid_value"),
        (Node.flag, 1, "invalid_type"),
        (Node.whole, True, "invalid_type"),
        (Node.whole, 1.0, "invalid_type"),
        (Node.whole, 0, "invalid_value"),
        (Node.whole, MOST + 1, "invalid_value"),
        (Node.object, [], "invalid_type"),
        (Node.items, {}, "invalid_type"),
        (Node.some, [], "invalid_value"),
        (Node.key, "é" * 600, "invalid_value"),
        (Node.key, "\ud800", "invalid_value"),
        (lambda node: node.number(0, 1), True, "invalid_type"),
        (lambda node: node.number(0, 1), 1.5, "invalid_value"),
        (lambda node: node.number(0, 1), float("nan"), "invalid_value"),
        (lambda node: node.number(0, 1), 10**400, "invalid_value"),
        (lambda node: node.word("a", "b"), "c", "invalid_value"),
        (lambda node: node.word("a", "b"), 1, "invalid_type"),
        (Node.json, {"a": 10**5000}, "invalid_value"),
    ],
)
def test_what_is_of_another_kind_is_refused(read: Callable[[Node], Any], value: Any, code: str) -> None:
    """With the place and OpenAI's word for it."""
    wrong = refused(lambda: read(Node(value, "a.b")))
    assert (wrong.param, wrong.code) == ("a.b", code)
    assert "`a.b`" in str(wrong)


def test_what_is_nested_too_deep_is_refused() -> None:
    """It can't be written as JSON."""
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    assert "nested too deep" in str(refused(Node(deep, "input").json))


def test_null_is_the_same_as_absent() -> None:
    """In every field."""
    node = Node({"a": None})
    assert node.at("a").absent
    assert node.at("b").absent
    assert node.maybe("a", Node.text) is None
    assert node.members() == {}
    node.only("b")
    assert refused(lambda: node.need("a")).code == "missing_required_parameter"


def test_other_members_are_refused_by_name() -> None:
    """The refusal says what there is."""
    wrong = refused(lambda: Node({"a": 1, "c": 2}, "x").only("a", "b"))
    assert (wrong.param, wrong.code) == ("x.c", "unknown_parameter")
    assert "a, b" in str(wrong)


def test_a_body_that_is_no_object_is_refused() -> None:
    """It has no place."""
    wrong = refused(lambda: Node([]).at("model"))
    assert (str(wrong), wrong.param) == ("The body has to be an object, not a list.", "")


def test_what_is_quoted_is_bounded() -> None:
    """And can be printed."""
    assert shown("a\nb" + "x" * 1000) == repr("a�b" + "x" * 77 + "…")
    assert printable("\ud800\x00a") == "��a"
    assert len(refused(Node(1, "x" * 10_000).text).param) == PATH_CHARS


def test_numbers_are_read_by_their_ranges() -> None:
    """Those that are there; an integer is one."""
    assert numbers(Node({"a": 1, "b": None}), {"a": (0, 2), "b": (0, 2), "c": (0, 2)}) == {"a": 1.0}


@pytest.mark.parametrize(("value", "deep"), [(1, 0), ("[[", 0), ({}, 1), ([[], 1], 2), ({"a": 1, "b": [{"c": []}]}, 4)])
def test_how_deep_a_value_is_nested(value: object, deep: int) -> None:
    """Lists and objects count, as many as lie in each other."""
    assert (is_deeper(value, deep), is_deeper(value, deep - 1)) == (False, deep > 0)


@pytest.mark.parametrize(
    ("value", "count"),
    [([1, 2], 2), ({"a": 1, "b": [2, {"c": []}]}, 5), ([[], [[]], {}], 4)],
)
def test_values_are_counted_at_every_depth(value: Any, count: int) -> None:
    """Those of lists and of objects, and what they hold."""
    assert not holds_more("a", 0)
    assert (holds_more(value, count), holds_more(value, count - 1)) == (False, True)
