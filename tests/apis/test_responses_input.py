"""The input of a response."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.apis.bodies import URL, refusal
from tests.properties.costs import Text, growth_problem
from tokenmill.apis.ask import Json
from tokenmill.apis.reading import Node
from tokenmill.apis.responses_input import read_input


def of(*items: Json) -> list[Json]:
    return read_input(Node(list(items), "input"))


def user(text: str) -> Json:
    return {"role": "user", "content": text}


DIRECT = {"type": "direct"}
NAMED = {"caller": DIRECT, "name": "f", "namespace": "n"}
"""What a client may say of a result beside it."""

BREAKPOINT = {"prompt_cache_breakpoint": {"mode": "explicit", "ttl": "30m"}}


def user_part(part: Json) -> Json:
    return {"role": "user", "content": [part]}


def spoken(text: str) -> Json:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def thought(*texts: str) -> Json:
    return {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": text} for text in texts]}


def summed(*texts: str) -> Json:
    """Reasoning of which its summary alone is told."""
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": text} for text in texts], "content": []}


def called(number: int) -> Json:
    return {"type": "function_call", "call_id": f"k{number}", "name": "f", "arguments": "{}"}


def answered(number: int) -> Json:
    return {"type": "function_call_output", "call_id": f"k{number}", "output": "7"}


BROKEN = {"status": "incomplete", "arguments": '{"a": '}
"""Members of a call that broke off. Some clients make up a result for it."""


def call(number: int) -> Json:
    return {"id": f"k{number}", "type": "function", "function": {"name": "f", "arguments": "{}"}}


CUSTOM = {"type": "custom_tool_call", "id": "ctc", "call_id": "k3", "name": "patch", "input": "a\n", "caller": DIRECT}
CUSTOM_RESULT = {"type": "custom_tool_call_output", "call_id": "k3", "output": "7"}
CUSTOM_SEEN = {"id": "k3", "type": "function", "function": {"name": "patch", "arguments": r'{"input":"a\n"}'}}
"""A call of a tool that takes a text, its answer, and the call as the model made it."""


def result(number: int) -> Json:
    return {"role": "tool", "tool_call_id": f"k{number}", "content": "7"}


def assistant(content: str | None, *calls: Json, **fields: str) -> Json:
    return {"role": "assistant", "content": content, **fields} | ({"tool_calls": list(calls)} if calls else {})


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([called(1), called(2)], [assistant(None, call(1), call(2))]),
        ([spoken("a"), called(1)], [assistant("a", call(1))]),
        ([called(1), spoken("a"), called(2)], [assistant("a", call(1), call(2))]),
        ([spoken("a"), called(1), spoken("b")], [assistant("a\nb", call(1))]),
        ([called(1), spoken(""), spoken("a"), spoken(""), spoken("b")], [assistant("a\n\nb", call(1))]),
        ([spoken("a"), spoken("b")], [assistant("a"), assistant("b")]),
        ([spoken("a"), called(1) | BROKEN, called(2)], [assistant("a", call(2))]),
        ([user("a"), called(1) | BROKEN], [user("a")]),
        (
            [spoken("a"), called(1) | BROKEN, called(2), answered(1), answered(2), user("b")],
            [assistant("a", call(2)), result(2), user("b")],
        ),
        ([spoken("a") | {"status": "incomplete"}, user("b")], [assistant("a"), user("b")]),
        ([called(1) | {"caller": DIRECT}, answered(1) | NAMED], [assistant(None, call(1)), result(1)]),
        ([thought("x", "y"), spoken("a")], [assistant("a", reasoning_content="x\ny")]),
        (
            [thought("x"), called(1), thought("y"), called(2)],
            [assistant(None, call(1), call(2), reasoning_content="x\ny")],
        ),
        (
            [thought("x"), called(1), answered(1), thought("y"), spoken("a")],
            [assistant(None, call(1), reasoning_content="x"), result(1), assistant("a", reasoning_content="y")],
        ),
        ([called(1), called(2), answered(1), answered(2)], [assistant(None, call(1), call(2)), result(1), result(2)]),
        ([thought("x"), user("a"), spoken("b")], [user("a"), assistant("b")]),
        ([user("a"), thought("x")], [user("a")]),
        ([{"type": "reasoning", "encrypted_content": "x"}, spoken("a")], [assistant("a")]),
        ([CUSTOM, CUSTOM_RESULT], [assistant(None, CUSTOM_SEEN), result(3)]),
        ([user("a"), CUSTOM | {"status": "incomplete"}, CUSTOM_RESULT], [user("a")]),
        ([summed("x", "y"), spoken("a")], [assistant("a", reasoning_content="x\ny")]),
        ([summed("x") | {"content": None}, spoken("a")], [assistant("a", reasoning_content="x")]),
        ([thought("x") | {"summary": summed("y")["summary"]}, spoken("a")], [assistant("a", reasoning_content="x")]),
    ],
)
def test_what_an_assistant_says_is_one_message(items: list[Json], expected: list[Json]) -> None:
    """Up to what others say."""
    assert of(*items) == expected


def parts(*texts: str) -> list[Json]:
    content = [{"type": "output_text", "text": text} for text in texts]
    return [{"type": "message", "role": "assistant", "content": content}]


@pytest.mark.parametrize(
    "items_of",
    [
        parts,
        lambda *texts: [called(1), *map(spoken, texts)],
        lambda *texts: [each for text in texts for each in (thought(text), called(1))],
    ],
    ids=["parts", "texts", "thoughts"],
)
def test_what_an_assistant_says_in_many_pieces_costs_what_its_length_says(items_of: Callable[..., list[Json]]) -> None:
    """They are joined once: a body may have tens of thousands."""
    piece = "a" * 99 + "\n"
    text = Text("", piece, piece, mixed=True, rest="")
    assert growth_problem(lambda said: of(*items_of(*said.splitlines())), text, 600_000) is None


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (user("a"), user("a")),
        ({"role": "developer", "content": "a"}, {"role": "developer", "content": "a"}),
        (user_part({"type": "input_text", "text": "a"} | BREAKPOINT), user("a")),
        (
            user_part({"type": "input_image", "image_url": URL} | BREAKPOINT),
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": URL}}]},
        ),
        ({"role": "system", "content": [{"type": "input_text", "text": "a"}]}, {"role": "system", "content": "a"}),
        ({"role": "assistant", "content": "a", "phase": "commentary"}, assistant("a")),
        ({"role": "assistant", "content": []}, assistant("")),
        (
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "No"}]},
            {"role": "assistant", "content": None, "refusal": "No"},
        ),
        (
            {"role": "user", "content": [{"type": "input_image", "image_url": URL, "detail": "high", "file_id": None}]},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": URL, "detail": "high"}}]},
        ),
        (
            {"type": "function_call_output", "call_id": "k1", "output": [{"type": "input_image", "image_url": URL}]},
            {"role": "tool", "tool_call_id": "k1", "content": [{"type": "image_url", "image_url": {"url": URL}}]},
        ),
        (
            {"type": "function_call_output", "call_id": "k1", "output": []},
            {"role": "tool", "tool_call_id": "k1", "content": ""},
        ),
    ],
)
def test_items(item: Json, expected: Json) -> None:
    """What each becomes."""
    assert of(item) == [expected]


@pytest.mark.parametrize(
    ("item", "place"),
    [
        ("a", ""),
        ({}, ".type"),
        ({"id": "msg_1"}, ".type"),
        ({"type": "item_reference", "id": "x"}, ".type"),
        ({"type": ["message"]}, ".type"),
        ({"type": "web_search_call"}, ".type"),
        ({"type": "custom_tool_call"}, ".call_id"),
        ({"type": "custom_tool_call", "call_id": "k", "name": "f", "input": {}}, ".input"),
        ({"type": "custom_tool_call", "call_id": "k", "name": "f", "input": "a", "x": 1}, ".x"),
        ({"role": "tool", "content": "a"}, ".role"),
        ({"role": "user", "content": 3}, ".content"),
        ({"role": "user", "content": []}, ".content"),
        ({"role": "user", "content": "a", "x": 1}, ".x"),
        ({"role": "user", "content": [{"type": "input_file"}]}, ".content[0].type"),
        ({"role": "user", "content": [{"type": "text", "text": "a"}]}, ".content[0].type"),
        ({"role": "user", "content": [{"type": "input_text", "text": 3}]}, ".content[0].text"),
        ({"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}, ".content[0].file_id"),
        ({"role": "user", "content": [{"type": "input_image"}]}, ".content[0].image_url"),
        ({"role": "system", "content": [{"type": "input_image", "image_url": URL}]}, ".content[0].type"),
        ({"type": "function_call", "name": "f", "arguments": "{}"}, ".call_id"),
        ({"type": "function_call", "call_id": "k", "name": "f", "arguments": {}}, ".arguments"),
        (called(1) | {"caller": {"type": "program", "caller_id": "x"}}, ".caller.type"),
        (answered(1) | {"caller": {"type": "program", "caller_id": "x"}}, ".caller.type"),
        ({"type": "function_call_output", "call_id": "k"}, ".output"),
        ({"type": "reasoning", "content": [{"type": "text", "text": "x"}]}, ".content[0].type"),
        ({"type": "reasoning", "summary": [{"type": "text", "text": "x"}]}, ".summary[0].type"),
        ({"type": "reasoning", "summary": "x"}, ".summary"),
    ],
)
def test_what_is_refused(item: Any, place: str) -> None:
    """Where it stands."""
    assert refusal("responses", input=[user("a"), item]).param == f"input[1]{place}"


@pytest.mark.parametrize(
    ("call_", "result_", "place"),
    [
        (BROKEN | {"x": 1}, {}, "[0].x"),
        (BROKEN | {"call_id": {}}, {}, "[0].call_id"),
        (BROKEN, {"output": 3}, "[1].output"),
        (BROKEN, {"call_id": []}, "[1].call_id"),
    ],
)
def test_what_is_left_out_is_checked(call_: Json, result_: Json, place: str) -> None:
    """A client hears of its fault though nothing of the item is sent."""
    items = [called(1) | call_, answered(1) | result_, user("a")]
    assert refusal("responses", input=items).param == f"input{place}"


def test_an_input_without_a_message_is_refused() -> None:
    """As is one that is of no known kind."""
    inputs: list[Any] = [[], "", 3, {}, [thought("x")], [called(1) | BROKEN, answered(1)]]
    for nothing in inputs:
        assert refusal("responses", input=nothing).param == "input"


def test_a_reference_says_what_to_do_instead() -> None:
    """No items are kept."""
    assert "whole conversation in `input`" in str(refusal("responses", input=[{"type": "item_reference", "id": "x"}]))
