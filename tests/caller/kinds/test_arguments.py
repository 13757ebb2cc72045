"""Messages of a history for servers of another shape."""

from copy import deepcopy
from typing import Any

import pytest

from tests.support.calling import CALLED, IMAGE
from tokenmill.apis.ask import Json
from tokenmill.caller.kinds.arguments import (
    read_arguments,
    reasoning_of,
    text_of,
    text_of_part,
    with_reasoning,
    with_short_ids,
)


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
    assert text_of_part(IMAGE) == ""


def test_ids_of_calls_have_nine_characters_where_that_is_asked_for() -> None:
    """A result keeps the id of its call; what fits already stays, and so does what is no id."""
    made = "call_0123456789abcdef01234567"
    called: list[Json] = [
        {"role": "user", "content": "hi", "id": made},
        {"role": "assistant", "tool_calls": [CALLED | {"id": made}, CALLED | {"id": "aB3xYz019"}]},
        {"role": "tool", "tool_call_id": made, "content": "noon"},
        {"role": "tool", "tool_call_id": "aB3xYz019", "content": "noon"},
        {"role": "assistant", "tool_calls": None},
        {"role": "assistant", "tool_calls": [CALLED | {"id": "call-0000"}]},
    ]
    before = deepcopy(called)
    told = with_short_ids(called)
    first, second = (call["id"] for call in told[1]["tool_calls"])
    assert (len(first), first.isalnum(), first.isascii(), second) == (9, True, True, "aB3xYz019")
    assert [told[2]["tool_call_id"], told[3]["tool_call_id"]] == [first, second]
    assert told[5]["tool_calls"][0]["id"] not in ("call-0000", first)
    assert [told[0], told[4]] == [called[0], called[4]]
    assert (called, with_short_ids(called), with_short_ids(told)) == (before, told, told)


@pytest.mark.parametrize("bare", [{"role": "tool"}, {"role": "assistant", "tool_calls": [{"function": {}}]}])
def test_a_call_without_an_id_gets_none(bare: Json) -> None:
    """Nothing says whose result it would be."""
    assert with_short_ids([bare]) == [bare]


@pytest.mark.parametrize("names", [(), ("reasoning",), ("reasoning", "reasoning_content")])
def test_reasoning_is_told_by_the_names_that_are_asked_for(names: tuple[str, ...]) -> None:
    """Of what an assistant says; nothing that was thought has no name."""
    said: Json = {"role": "assistant", "content": "a"}
    assert with_reasoning(said | {"reasoning_content": "hm"}, names) == said | dict.fromkeys(names, "hm")
    assert with_reasoning(said | {"reasoning": ""}, names) == said
    mine = {"role": "user", "content": "a", "reasoning": "hm"}
    assert with_reasoning(mine, names) is mine


def test_reasoning_has_two_names() -> None:
    """Servers that follow OpenAI's API use either."""
    assert reasoning_of({"reasoning_content": "a", "reasoning": "b"}) == "a"
    assert reasoning_of({"reasoning": "b"}) == "b"
    assert reasoning_of({"reasoning_content": "", "content": "c"}) is None
