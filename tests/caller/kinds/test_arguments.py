"""Messages of a history for servers of another shape."""

from typing import Any

import pytest

from tests.support.calling import IMAGE
from tokenmill.apis.ask import Json
from tokenmill.caller.kinds.arguments import read_arguments, reasoning_of, said_by, text_of


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('{"a": [1, null]}', {"a": [1, None]}),
        ({"a": 1}, {"a": 1}),
        ("", {}),
        (None, {}),
        ('{"a": ', {"arguments": '{"a": '}),
        ("[1]", {"arguments": "[1]"}),
        ("null", {"arguments": "null"}),
        ('{"a":' * 5_000, {"arguments": '{"a":' * 5_000}),
    ],
)
def test_arguments_are_an_object_and_nothing_is_lost(text: Any, arguments: Json) -> None:
    """Whatever a model wrote: a history with half a call must not make every later answer fail."""
    assert read_arguments(text) == arguments


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": "hi"}, "hi"),
        ({"content": [{"type": "text", "text": "a"}, IMAGE, {"type": "text", "text": "b"}]}, "ab"),
        ({"content": [{"type": "refusal", "refusal": "No."}]}, "No."),
        ({"content": None, "refusal": "No."}, "No."),
        ({"content": None}, ""),
        ({}, ""),
    ],
)
def test_the_text_of_a_message_is_one_piece(message: Json, text: str) -> None:
    """With the words of a refusal, and without images."""
    assert text_of(message) == text
    assert said_by(IMAGE) == ""


def test_reasoning_has_two_names() -> None:
    """Servers that follow OpenAI's API use either."""
    assert reasoning_of({"reasoning_content": "a", "reasoning": "b"}) == "a"
    assert reasoning_of({"reasoning": "b"}) == "b"
    assert reasoning_of({"reasoning_content": "", "content": "c"}) is None
