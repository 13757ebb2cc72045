"""Quotes that are not escaped."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.costs import Text, growth_problem
from tokenmill.systems.ai_sdk.quotes import read_unescaped


def call(inner: str) -> str:
    """A call with this between the brackets of its arguments."""
    return f'{{"name": "f", "arguments": {{{inner}}}}}'


@pytest.mark.parametrize(
    ("inner", "arguments"),
    [
        ('"a": "say "hi" now"', {"a": 'say "hi" now'}),
        ('"a": "x "y"", "b": "z"', {"a": 'x "y"', "b": "z"}),
        ('"a": ""y" x", "n": 1.5, "t": true, "z": null', {"a": '"y" x', "n": 1.5, "t": True, "z": None}),
        ('"o": {"k": [1, "}"]}, "a": "is "}" it"', {"o": {"k": [1, "}"]}, "a": 'is "}" it'}),
        ('"a": "x \\"y\\" "z" \\n\\$ \\\\"', {"a": 'x "y" "z" \n$ \\'}),
        ('"a": "first", "a": "sec"ond"', {"a": 'sec"ond'}),
        ('"a": "b\nc "d""', {"a": 'b\nc "d"'}),
    ],
)
def test_one_reading_is_left(inner: str, arguments: dict[str, Any]) -> None:
    """A string ends where a key or the end follows."""
    assert read_unescaped(call(inner)) == {"name": "f", "arguments": arguments}


def test_the_name_may_come_last() -> None:
    """And may look like anything."""
    text = '{"arguments": {"a": "x "y" z"}, "name": "f \\"g\\""}'
    assert read_unescaped(text) == {"name": 'f "g"', "arguments": {"a": 'x "y" z'}}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{name: "f", "arguments": {"a": "x "y" z"}}',
        '{"name": "f", "arguments": [1]}',
        call('"a": "x ,"b": y"'),
        call('"a": "x "y" z", "b": ' + "[" * 127 + "]" * 127),
        call('"a": "x'),
        call('"a": 1 2'),
        call('"a" 1'),
        call("a: 1"),
        call('"a": {"b": "x "y" z"}'),
        call('"a": ' + "[" * 5000),
    ],
)
def test_others_are_refused(text: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(ValueError, match=r"."):
        read_unescaped(text)


@given(st.dictionaries(st.text(min_size=1), st.text() | st.integers() | st.lists(st.text())))
def test_valid_json_is_read_as_what_it_is(arguments: dict[str, Any]) -> None:
    """Unless a text in it looks like a key."""
    text = json.dumps({"name": "f", "arguments": arguments})
    assert read_unescaped(text)["arguments"] == arguments


@pytest.mark.parametrize("piece", ['"', '",', '\\"', '", "', '","a":', " ", "}"])
def test_the_effort_is_linear(piece: str) -> None:
    """Each character is looked at a bounded number of times."""
    assert growth_problem(_refused, Text(call('"a": "'), piece, piece, mixed=False, rest="\\")) is None


def _refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_unescaped(text)
