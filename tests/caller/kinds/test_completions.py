"""Servers with OpenAI's completions: a prompt that is rendered here."""

from typing import Any

import msgspec
import pytest

from tests.support.calling import HI, NAMED, SHAPE, TOOL, answered, chat, ends_of, plan_of, text_of
from tests.support.model_servers.speech import Script
from tests.support.model_servers.vllm import Vllm
from tokenmill.apis.ask import Json
from tokenmill.caller.kinds import Call
from tokenmill.caller.kinds.completions import COMPLETIONS

RAW: Json = {
    "model": "test-model",
    "prompt": "P",
    "max_tokens": 4096,
    "skip_special_tokens": False,
    "spaces_between_special_tokens": False,
    "stream": True,
    "stream_options": {"include_usage": True},
}
SPECIAL = ("<think>", "</think>", "<tool_call>", "</tool_call>")
CALL = '<think></think><tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'


def body(**fields: Any) -> Json:
    plan = plan_of("completions", chat(**fields))
    return COMPLETIONS.call(msgspec.structs.replace(plan, prompt="P")).body


def test_a_completion_of_the_prompt() -> None:
    """There are no messages, and nothing else renders."""
    plan = msgspec.structs.replace(plan_of("completions", chat()), prompt="P")
    assert COMPLETIONS.call(plan) == Call("/v1/completions", RAW, "sse+openai")
    assert COMPLETIONS.rendering(plan) is None


def test_what_the_prompt_says_is_not_said_again() -> None:
    """Tools, the effort and the template's variables are in it."""
    assert body(tools=[TOOL], reasoning_effort="low", chat_template_kwargs={"a": 1}) == RAW


@pytest.mark.parametrize(
    ("choice", "begins"),
    [("required", '<tool_call>\n{"name": "'), (NAMED, '<tool_call>\n{"name": "now", "arguments": ')],
)
def test_a_call_that_has_to_come_is_begun_in_the_prompt(choice: Any, begins: str) -> None:
    """Which has no other shape then."""
    assert body(tools=[TOOL], tool_choice=choice, response_format=SHAPE) == RAW | {"prompt": f"P{begins}"}


def test_how_words_are_chosen_is_passed_on() -> None:
    """By the names of chats."""
    fields: Json = {"temperature": 0.0, "top_p": 0.5, "seed": 7, "stop": ["a"], "n": 2, "top_k": 4}
    assert body(**fields, response_format=SHAPE, max_tokens=5) == RAW | fields | {
        "response_format": SHAPE,
        "max_tokens": 5,
    }


def test_our_fields_go_before_the_client_s() -> None:
    """Nobody skips markers."""
    assert body(skip_special_tokens=True, stream=False) == RAW


def test_other_apis_ask_the_same() -> None:
    """Responses and Messages are prompts here."""
    asked = [
        plan_of("completions", {"model": "m", "input": "hi", "max_output_tokens": 9}, "responses"),
        plan_of("completions", {"model": "m", "max_tokens": 9, "messages": [HI]}, "messages"),
    ]
    bodies = [COMPLETIONS.call(msgspec.structs.replace(plan, prompt="P")).body for plan in asked]
    assert bodies == [RAW | {"max_tokens": 9}] * 2


@pytest.mark.parametrize(("settings", "length"), [({}, 200), ({"default_max_tokens": 30}, 30)])
async def test_an_answer_without_a_length_is_not_cut_at_the_server_s_sixteen_tokens(
    settings: Json, length: int
) -> None:
    """A null length would be sixteen, too: the upstream's own default is sent, unless the client sets a length."""
    async with Vllm(lambda _: Script("x" * 200, cut=1)) as server:
        plan = msgspec.structs.replace(plan_of("completions", chat(), **settings), prompt="P")
        assert text_of(await answered(server, COMPLETIONS, COMPLETIONS.call(plan))) == "x" * length


async def test_the_server_takes_it_and_hides_no_marker() -> None:
    """One with chats does as well; of several answers each is whole."""
    async with Vllm(lambda _: Script(CALL), special=SPECIAL) as server:
        plan = msgspec.structs.replace(plan_of("completions", chat(tools=[TOOL], n=2)), prompt="P")
        chunks = await answered(server, COMPLETIONS, COMPLETIONS.call(plan))
    for choice in (0, 1):
        assert text_of([chunk for chunk in chunks if chunk.choice == choice]) == CALL
    assert ends_of(chunks) == ["stop", "stop"]
