"""SGLang: chat completions under an id of ours, with the tools in the prompt and nothing sorted out."""

from typing import Any

import pytest

from tests.support.calling import (
    HI,
    HISTORY,
    IMAGE,
    NAMED,
    OTHER,
    RENDERED,
    SHAPE,
    TOOL,
    answered,
    chat,
    ends_of,
    plan_of,
    text_of,
)
from tests.support.model_servers.sglang import Sglang
from tests.support.model_servers.speech import Script
from tokenmill.apis.ask import Json
from tokenmill.caller.kinds import Call
from tokenmill.caller.kinds.raw_text import UNTHINKING
from tokenmill.caller.kinds.sglang import SGLANG

RAW: Json = {
    "model": "test-model",
    "messages": [HI],
    "skip_special_tokens": False,
    "separate_reasoning": False,
    "chat_template_kwargs": {"spaces_between_special_tokens": False},
    "stream": True,
    "stream_options": {"include_usage": True},
    "rid": "answer-1",
}
TEXT = '<think>\nhm\n</think>\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
BEGINS = '<tool_call>\n{"name": "'


def body(**fields: Any) -> Json:
    return SGLANG.call(plan_of("sglang", chat(**fields))).body


def test_a_plain_chat() -> None:
    """No token is skipped, reasoning stays in the text, and the answer has a name to stop it by."""
    call = SGLANG.call(plan_of("sglang", chat()))
    assert (call.path, call.body, call.codec) == ("/v1/chat/completions", RAW, "sse+openai")
    assert SGLANG.abort(call) == Call("/abort_request", {"rid": "answer-1"})


def test_tools_that_may_be_called_go_with_auto() -> None:
    """With `none` they would not be in the prompt; and then none are sent."""
    assert body(tools=[TOOL, OTHER]) == RAW | {"tools": [TOOL, OTHER], "tool_choice": "auto"}
    assert body(tools=[TOOL], tool_choice="none") == RAW


@pytest.mark.parametrize(
    ("choice", "tools", "begins"),
    [("required", [TOOL, OTHER], BEGINS), (NAMED, [TOOL], f'{BEGINS}now", "arguments": ')],
)
def test_a_call_that_has_to_come_is_begun(choice: Any, tools: list[Json], begins: str) -> None:
    """Its own `required` forces an array that no format knows."""
    begun = {"messages": [HI, {"role": "assistant", "content": begins}], "tools": tools, "tool_choice": "auto"}
    continued = {"continue_final_message": True, "add_generation_prompt": False}
    assert body(tools=[TOOL, OTHER], tool_choice=choice, response_format=SHAPE) == RAW | begun | continued


def test_how_words_are_chosen_is_passed_on() -> None:
    """Also what only this server knows."""
    fields: Json = {"temperature": 0.0, "top_p": 0.5, "seed": 7, "stop": ["a"], "n": 2, "min_p": 0.1}
    fields |= {"response_format": SHAPE, "reasoning_effort": "none"}
    quiet = {"chat_template_kwargs": RAW["chat_template_kwargs"] | UNTHINKING}
    assert body(**fields, max_tokens=5) == RAW | fields | quiet | {"max_tokens": 5}
    assert body(reasoning_effort="low") == RAW | {"reasoning_effort": "low"}


def test_our_fields_go_before_the_client_s() -> None:
    """Its variables of the template stay."""
    theirs = {"skip_special_tokens": True, "separate_reasoning": True, "stream": False}
    kwargs = {"enable_thinking": False, "spaces_between_special_tokens": True}
    own = {"chat_template_kwargs": {"enable_thinking": False, "spaces_between_special_tokens": False}}
    assert body(**theirs, chat_template_kwargs=kwargs) == RAW | own
    assert body(chat_template_kwargs="none") == RAW


def test_the_history_goes_as_templates_read_it() -> None:
    """System messages, images, calls, their results, reasoning."""
    seen = {"role": "user", "content": [IMAGE]}
    assert SGLANG.call(plan_of("sglang", chat(*HISTORY, seen))).body == RAW | {"messages": [*RENDERED, seen]}


def test_other_apis_ask_the_same() -> None:
    """Responses and Messages are chats here."""
    responses = plan_of("sglang", {"model": "m", "input": "hi", "text": {"verbosity": "low"}}, "responses")
    assert SGLANG.call(responses).body == RAW | {"verbosity": "low"}
    messages = plan_of("sglang", {"model": "m", "max_tokens": 9, "system": "Hm.", "messages": [HI]}, "messages")
    system = {"role": "system", "content": "Hm."}
    assert SGLANG.call(messages).body == RAW | {"messages": [system, HI], "max_tokens": 9}


@pytest.mark.parametrize("choice", ["auto", "none", "required", NAMED])
async def test_the_server_takes_it_and_sorts_nothing_out(choice: Any) -> None:
    """Although it has a parser of reasoning; its chunks have our id."""
    special = ("<tool_call>", "</tool_call>", "<think>", "</think>")
    async with Sglang(lambda _: Script(TEXT), special=special) as server:
        call = SGLANG.call(plan_of("sglang", chat(tools=[TOOL], tool_choice=choice)))
        chunks = await answered(server, SGLANG, call)
    assert (text_of(chunks), ends_of(chunks), bool(chunks[-1].end)) == (TEXT, ["stop"], True)
    assert {chunk.message_id for chunk in chunks} == {"answer-1"}
    assert server.generations[0].tools_shown == ([] if choice == "none" else ["now"])
