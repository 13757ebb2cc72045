"""Values written as Python literals."""

from typing import Any

import pytest

from tokenmill.parser.bodies.python_values import read_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("None", None),
        ("null", None),
        ("True", True),
        ("false", False),
        ("-1_000", -1000),
        ("0xff", 255),
        ("1.5e3", 1500.0),
        (".5", 0.5),
        ("'it is'", "it is"),
        ('"""a "b" c"""', 'a "b" c'),
        (r"r'\d'", r"\d"),
        ("[1, 'a', ]", [1, "a"]),
        ("(1, 2)", [1, 2]),
        ("(1)", 1),
        ("(1,)", [1]),
        ("{1, 2}", [1, 2]),
        ("{'a': {None: 1, True: [], 2: {}}}", {"a": {"null": 1, "true": [], "2": {}}}),
        ("NaN", "NaN"),
        ("9" * 1001, "9" * 1001),
    ],
)
def test_literals(text: str, value: Any) -> None:
    """Python's, and JSON's words, also for what is not finite; integers that are too long stay text."""
    assert read_value(f" {text} ") == (value, False)


@pytest.mark.parametrize(
    ("text", "value"),
    [("'say 'x' now'", "say 'x' now"), ("['it's', 1]", ["it's", 1]), ("'a\nb'", "a\nb"), ("007", 7)],
)
def test_what_is_meant_is_read_and_marked(text: str, value: Any) -> None:
    """Quotes that are not escaped, line ends in a string, numbers with leading zeros."""
    assert read_value(text) == (value, True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "f(1)",
        "1 + 1",
        "a.b",
        "1e999",
        "[-1e999]",
        "inf",
        "-inf",
        "nan",
        "'a' 'b",
        "[1 2]",
        "{'a': 1, 2}",
        "{[]: 1}",
        "__import__('os')",
        "1; 2",
    ],
)
def test_what_is_no_literal_is_refused(text: str) -> None:
    """Nothing is evaluated."""
    with pytest.raises(ValueError, match=r"."):
        read_value(text)
