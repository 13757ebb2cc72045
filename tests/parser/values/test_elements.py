"""Values of nested elements by their schema."""

from typing import Any

import pytest

from tokenmill.parser.values.elements import arguments_of
from tokenmill.parser.values.schema import NO_SHAPE, Shape

EITHER = {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "string"}]}
FILTER = {
    "anyOf": [
        {"type": "array", "items": {"type": "string"}},
        {"type": "object", "properties": {"b": {"type": "integer"}}},
    ]
}

NAMES = {"I": "item", "T": "$text"}


def read(text: str, schema: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments of `a(b)` written for a → b: names are single letters, brackets hold what is inside.

    Without a schema the tool is not among those that are known.
    """
    marks, names = [], ""
    for at, sign in enumerate(text):
        if sign == "(":
            names += text[at - 1]
            marks.append((True, NAMES.get(names[-1], names[-1]), at - 1, at + 1))
        elif sign == ")":
            marks.append((False, NAMES.get(names[-1], names[-1]), at, at + 1))
            names = names[:-1]
    shape = NO_SHAPE if schema is None else Shape({"properties": schema}, {})
    return arguments_of(text, marks, shape, known=schema is not None)[0]


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
        ("a(I(1)I(2))", {"a": EITHER}, {"a": [1, 2]}),
        ("a( I(1) )", {"a": EITHER}, {"a": [1]}),
        ("a(b(1))", {"a": EITHER}, {"a": "b(1)"}),
        ("a(x I(1))", {"a": EITHER}, {"a": "x I(1)"}),
        ("a(I(1)I(2))", {"a": FILTER}, {"a": ["1", "2"]}),
        ("a(I(1))", {"a": FILTER}, {"a": ["1"]}),
        ("a(b(1))", {"a": FILTER}, {"a": {"b": 1}}),
        ("a(I(1)b(2))", {"a": FILTER}, {"a": {"item": "1", "b": 2}}),
        ("a(I(1)I(2))", {"a": {"type": "object"}}, {"a": {"item": ["1", "2"]}}),
        ("a(I(1)I(2))", {}, {"a": ["1", "2"]}),
        ("a(I(1)I(2))b(I(3))", None, {"a": {"item": ["1", "2"]}, "b": {"item": "3"}}),
        ("a(hi b(1) there)", {"a": {"type": "object"}}, {"a": {"b": "1", "$text": "hi  there"}}),
        ("a(b(1)\n b(2)!)", {}, {"a": {"b": ["1", "2"], "$text": "\n !"}}),
        ("a(xT(1))", {"a": {"type": "object"}}, {"a": {"$text": "1", "$$text": "x"}}),
        ("a(x I(1))", {"a": {"type": "array"}}, {"a": ["1"]}),
    ],
)
def test_values(text: str, schema: dict[str, Any] | None, expected: dict[str, Any]) -> None:
    """Objects, arrays and leaves as the schema says, by their look where it says nothing."""
    assert read(text, schema) == expected
