"""vLLM: chat completions without parsers, so that the text is the model's and the tools are in the prompt."""

from typing import Any

import pytest

from tests.support.calling import (
    HI,
    HISTORY,
    IMAGE,
    NAMED,
    OTHER,
    SHAPE,
    TOOL,
    answered,
    chat,
    ends_of,
    plan_of,
    text_of,
)
from tests.support.model_servers.speech import Script
from tests.support.model_servers.vllm import Vllm
from tokenmill.apis.ask import Json
from tokenmill.caller.kinds.raw_text import UNTHINKING, template_messages
from tokenmill.caller.kinds.vllm import VLLM

RAW: Json = {
    "model": "test-model",
    "messages": [HI],
    "skip_special_tokens": False,
    "spaces_between_special_tokens": False,
    "stream": True,
    "stream_options": {"include_usage": True},
}
QUIET: Json = {"chat_template_kwargs": UNTHINKING}
SPECIAL = ("<think>", "</think>", "<tool_call>", "</tool_call>")
CALL = '<think></think><tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
CONTINUED = {"continue_final_message": True, "add_generation_prompt": False}


def body(api: str = "chat", **fields: Any) -> Json:
    return VLLM.call(plan_of("vllm", chat(**fields) if api == "chat" else fields, api)).body


def test_a_plain_chat() -> None:
    """No token is skipped, counts are asked for, and there is no word of tools."""
    call = VLLM.call(plan_of("vllm", chat()))
    assert (call.path, call.body, call.codec) == ("/v1/chat/completions", RAW, "sse+openai")


@pytest.mark.parametrize("choice", [None, "auto"])
def test_tools_that_may_be_called_go_with_none(choice: str | None) -> None:
    """It leaves them in the prompt; without a parser `auto`, which a missing word means, is refused."""
    assert body(tools=[TOOL, OTHER], tool_choice=choice) == RAW | {"tools": [TOOL, OTHER], "tool_choice": "none"}


def test_tools_that_may_not_be_called_are_not_in_the_prompt() -> None:
    """An empty list would be refused, as a choice without tools would."""
    assert body(tools=[TOOL], tool_choice="none") == body(tools=[]) == RAW


@pytest.mark.parametrize(
    ("choice", "tools", "begins"),
    [
        ("required", [TOOL, OTHER], '<tool_call>\n{"name": "'),
        (NAMED, [TOOL], '<tool_call>\n{"name": "now", "arguments": '),
    ],
)
def test_a_call_that_has_to_come_is_begun(choice: Any, tools: list[Json], begins: str) -> None:
    """The answer goes on from there; it has no other shape, and of tools the one that is named."""
    begun = {"messages": [HI, {"role": "assistant", "content": begins}], "tools": tools, "tool_choice": "none"}
    assert body(tools=[TOOL, OTHER], tool_choice=choice, response_format=SHAPE) == RAW | begun | CONTINUED


def test_how_words_are_chosen_is_passed_on() -> None:
    """As the client says it; one answer is not said."""
    fields: Json = {"temperature": 0.0, "top_p": 0.5, "seed": 7, "presence_penalty": 1.0, "frequency_penalty": -1.0}
    fields |= {"stop": ["a", "b"], "reasoning_effort": "low"}
    assert body(**fields, max_completion_tokens=5, n=3, top_k=4) == RAW | fields | {"max_tokens": 5, "n": 3, "top_k": 4}
    assert body(n=1, stop="a") == RAW | {"stop": ["a"]}


@pytest.mark.parametrize("shape", [SHAPE, {"type": "json_object"}])
def test_a_shape_leaves_no_room_for_thoughts(shape: Json) -> None:
    """The text has it from its first token on, so the template is told."""
    assert body(response_format=shape) == RAW | {"response_format": shape} | QUIET


def test_a_model_that_is_not_to_think_is_told_so_by_its_template() -> None:
    """Whichever API says it, and beside what the client tells the template itself, which counts."""
    quiet = body("messages", model="m", max_tokens=9, messages=[HI], thinking={"type": "disabled"})
    assert quiet == RAW | {"max_tokens": 9} | QUIET
    own = body(reasoning_effort="none", chat_template_kwargs={"enable_thinking": True, "a": 1})
    variables = {"enable_thinking": True, "thinking": False, "a": 1}
    assert own == RAW | {"reasoning_effort": "none", "chat_template_kwargs": variables}


def test_our_fields_go_before_the_client_s() -> None:
    """What would skip markers, or stop the stream, is ours to say."""
    theirs: Json = {"skip_special_tokens": True, "spaces_between_special_tokens": True, "stream": False}
    assert body(**theirs, stream_options={"include_usage": False}) == RAW
    forced = body(tools=[TOOL], tool_choice="required", continue_final_message=False, add_generation_prompt=True)
    assert forced.items() >= CONTINUED.items()


def test_the_history_goes_as_templates_read_it() -> None:
    """System messages, images, calls, their results; reasoning by both of its names."""
    seen = {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "map"}, IMAGE]}
    more = [{"role": "user", "content": [{"type": "text", "text": "and this?"}, IMAGE]}, seen]
    plan = plan_of("vllm", chat(*HISTORY, *more))
    assert VLLM.call(plan).body == RAW | {"messages": template_messages(plan, "reasoning_content", "reasoning")}
    assert VLLM.call(plan).body["messages"][-2:] == more


def test_other_apis_ask_the_same() -> None:
    """Responses and Messages are chats here."""
    responses = body("responses", model="m", input="hi", max_output_tokens=9, reasoning={"effort": "none"})
    assert responses == RAW | {"max_tokens": 9, "reasoning_effort": "none"} | QUIET
    tools = [{"name": "now", "input_schema": TOOL["function"]["parameters"]}]
    messages = body("messages", model="m", max_tokens=9, top_k=4, messages=[HI], tools=tools)
    assert messages == RAW | {"max_tokens": 9, "top_k": 4, "tools": [TOOL], "tool_choice": "none"}


def test_the_key_is_a_bearer_s_and_closing_is_enough() -> None:
    """Without a key there is no header."""
    assert (VLLM.headers("k"), VLLM.headers("")) == ({"authorization": "Bearer k"}, {})
    assert VLLM.abort(VLLM.call(plan_of("vllm", chat()))) is None
    assert VLLM.rendering(plan_of("vllm", chat())) is None


@pytest.mark.parametrize("choice", ["auto", "none", "required", NAMED])
async def test_the_server_takes_it_and_hides_no_marker(choice: Any) -> None:
    """Whatever the choice: there is no parser."""
    async with Vllm(lambda _: Script(CALL), special=SPECIAL) as server:
        call = VLLM.call(plan_of("vllm", chat(tools=[TOOL], tool_choice=choice)))
        chunks = await answered(server, VLLM, call)
    assert (text_of(chunks), ends_of(chunks), bool(chunks[-1].end)) == (CALL, ["stop"], True)
    assert server.generations[0].tools_shown == ([] if choice == "none" else ["now"])
