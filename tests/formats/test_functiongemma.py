"""What functiongemma has of its own; its cases are run by the conformance suite."""

from typing import Any

import pytest

from tests.support.parsing import grammar, named, parse
from tokenmill.events import ArgumentDelta
from tokenmill.parser import MessageParser


def test_there_is_no_reasoning() -> None:
    """The model has no markers for it."""
    assert [event.type for event in parse(grammar("functiongemma"), ["<think>"])][1:-1] == [
        "text-start",
        "text-delta",
        "text-end",
    ]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, ["n", "ul", "l", "s"]),
        ({"type": ["string", "null"]}, ["nulls"]),
        ({"type": "integer"}, []),
    ],
)
def test_only_certain_text_grows(schema: dict[str, Any], expected: list[str]) -> None:
    """Marks say nothing of the type, so a value is sent early only where the schema says that it is text."""
    tool = {"function": {"name": "f", "parameters": {"properties": {"a": schema}}}}
    parser = MessageParser.of(grammar("functiongemma", tools=[tool], content_arguments=["*"]), "identity")
    parser.feed("<start_function_call>call:f{a:<escape>")
    assert [
        event.delta for chunk in ("n", "ul", "l", "s") for event in named(parser.feed(chunk), ArgumentDelta)
    ] == expected
