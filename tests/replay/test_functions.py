"""Value functions of `parse --batch`."""

from typing import Any

import pytest

from tokenmill.replay import parse_batch
from tokenmill.replay.functions import FUNCTIONS, call_function


@pytest.mark.parametrize(
    ("xml", "expected"),
    [
        ("<t><a>1</a><b>\n two \n</b></t>", {"a": "1", "b": " two "}),
        ("<t><a><b>x</b></a></t>", {"a": "<b>x</b>"}),
        ("<t><a>x</a><a>y</a></t>", {"a": "y"}),
        ("<t>\r\n<a>\r\nx\r\n</a></t>", {"a": "\r\nx\r"}),
        ("<t></t>", {}),
        ("<u><a>1</a></u>", {}),
        ("<t><a>1</t>", {}),
    ],
)
def test_parameters_without_a_schema(xml: str, expected: dict[str, str]) -> None:
    """Every value stays text."""
    line = {"name": "x", "function": "qwen_web_parameters", "input": [xml, "t"]}
    assert parse_batch(line) == {"name": "x", "result": expected}


@pytest.mark.parametrize("text", ["1", " true ", "null", "1e5", "", "{}"])
def test_a_value_without_a_schema(text: str) -> None:
    """It is its text, whatever it looks like."""
    assert call_function("qwen_web_value", [text]) == {"result": text}


@pytest.mark.parametrize(
    ("name", "arguments", "part"),
    [
        ("nonsense", [], "unknown function 'nonsense'; known are "),
        (None, [], "unknown function None"),
        ("qwen_web_value", [], "missing 1 required"),
        ("qwen_web_value", None, "must be the list"),
        ("qwen_web_value", "text", "must be the list"),
        ("qwen_web_parameters", [5, "t"], "qwen_web_parameters: "),
    ],
)
def test_a_wrong_line_is_told(name: Any, arguments: Any, part: str) -> None:
    """The other lines of the batch are not disturbed."""
    assert part in call_function(name, arguments)["error"]


def test_names_are_those_of_the_functions() -> None:
    """One table says what there is."""
    assert all(function.__doc__ for function in FUNCTIONS.values())


@pytest.mark.parametrize(
    ("value", "schema", "result"),
    [
        ({"n": "3", "z": "x"}, {"properties": {"n": {"type": "integer"}}}, {"n": 3, "z": "x"}),
        ({"number": ["3", "5"]}, {"type": "array", "items": {"type": "number"}}, [3, 5]),
        ("1", {"$ref": "#/$defs/n", "$defs": {"n": {"type": "number"}}}, 1),
        ({"a": "1"}, None, {"a": "1"}),
    ],
)
def test_a_value_is_made_to_fit_a_schema(value: Any, schema: Any, result: Any) -> None:
    """Only the value: keys that the schema does not know stay."""
    line = {"name": "x", "function": "coerce", "input": [value, schema]}
    assert parse_batch(line) == {"name": "x", "result": result}
