"""Values of nested elements by their schema."""

from typing import Any

import pytest

from tokenmill.parser.bodies.elements import arguments_of
from tokenmill.parser.schema import Shape


def read(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `a(b)` written for a → b: names are single letters, brackets hold what is inside."""
    marks, names = [], ""
    for at, sign in enumerate(text):
        if sign == "(":
            names += text[at - 1]
            marks.append((True, names[-1], at - 1, at + 1))
        elif sign == ")":
            marks.append((False, names[-1], at, at + 1))
            names = names[:-1]
    return arguments_of(text, marks, Shape({"properties": schema}, {}))[0]


@pytest.mark.parametrize(
    ("text", "schema", "expected"),
    [
        ("a(1)", {}, {"a": "1"}),
        ("a(true)b(null)c(True)", {}, {"a": True, "b": None, "c": "True"}),
        ("a(1)", {"a": {"type": "integer"}}, {"a": 1}),
        ("a(b(1))", {"a": {"type": "string"}}, {"a": "b(1)"}),
        ("a(b(1))", {"a": {"type": ["string", "object"]}}, {"a": "b(1)"}),
        ("a(b(1)c(2))", {}, {"a": {"b": "1", "c": "2"}}),
        ("a(b(1)b(2))", {}, {"a": {"b": ["1", "2"]}}),
        ("a(1)a(2)", {"a": {"type": "array", "items": {"type": "integer"}}}, {"a": ["1", "2"]}),
        ("a(b(1)b(2))", {"a": {"type": "array", "items": {"type": "integer"}}}, {"a": [1, 2]}),
        ("a(b(1))a(b(2))", {"a": {"type": "array", "items": {"type": "integer"}}}, {"a": [1, 2]}),
        ("a()b()c( )", {"a": {"type": "array"}, "b": {"type": "object"}}, {"a": [], "b": {}, "c": " "}),
        ("a([1, {}])", {"a": {"type": "array"}}, {"a": [1, {}]}),
        ("a(x)", {"a": {"type": "array"}}, {"a": "x"}),
        ("a(b(1)", {}, {}),
    ],
)
def test_values(text: str, schema: dict[str, Any], expected: dict[str, Any]) -> None:
    """Objects, arrays and leaves as the schema says, by their look where it says nothing."""
    assert read(text, schema) == expected
