"""Values as JSON, odd ones included."""

import json
from typing import Any

import msgspec
import pytest

from tokenmill.dialects.json_text import beginning, json_bytes, json_size, odd_bytes
from tokenmill.events import ToolCall


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (2**64, 2**64),
        (-(2**70), -(2**70)),
        ("\ud800", "\ud800"),
        ([1.5, float("nan"), float("inf"), 2**64], [1.5, None, None, 2**64]),
        ({"deep": {"\udfff": 2**64}}, {"deep": {"\udfff": 2**64}}),
    ],
    ids=["large", "small", "half a pair", "not a number", "nested"],
)
def test_what_msgspec_refuses_is_written_all_the_same(value: Any, written: Any) -> None:
    """P7: a model may write any number and any escape into its arguments."""
    assert json.loads(json_bytes(value)) == written
    assert json.loads(odd_bytes(ToolCall(id="k", name="f", arguments={"a": value})))["arguments"] == {"a": written}


def test_all_else_is_what_msgspec_writes() -> None:
    """Compact, in UTF-8."""
    value = {"a": [1, 2.5, None, True, "\u00e9\n"]}
    assert json_bytes(value) == msgspec.json.encode(value) == b'{"a":[1,2.5,null,true,"\xc3\xa9\\n"]}'


@pytest.mark.parametrize(("text", "size"), [("", 0), ("ab", 2), ("é", 2), ('"', 2), ("\x01", 6), ("\ud800", 6)])
def test_the_size_of_a_text_is_that_of_its_json(text: str, size: int) -> None:
    """Without the quotes around it."""
    assert json_size(text) == size


def test_the_beginning_of_a_text_is_as_long_as_there_is_room() -> None:
    """To the character."""
    text = 'aé"\x01b'
    assert [len(beginning(text, room)) for room in range(13)] == [0, 1, 1, 2, 2, 3, 3, 3, 3, 3, 3, 4, 5]
