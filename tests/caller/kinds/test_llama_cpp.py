"""llama.cpp: it renders the prompt, and completes it with the format's markers preserved."""

from typing import Any

import msgspec
import pytest

from tests.support.answering import desk
from tests.support.calling import (
    HI,
    HISTORY,
    IMAGE,
    NAMED,
    OTHER,
    RENDERED,
    SCHEMA,
    SHAPE,
    TOOL,
    answered,
    chat,
    ends_of,
    plan_of,
    prompt_from,
    text_of,
)
from tests.support.model_servers.llama_cpp import LlamaCpp
from tests.support.model_servers.speech import Script
from tokenmill.apis.ask import BadAsk, Json
from tokenmill.caller.kinds import Call
from tokenmill.caller.kinds.llama_cpp import LAST_EVENT, LLAMA_CPP
from tokenmill.caller.kinds.raw_text import UNTHINKING
from tokenmill.codecs.sse import EVENT_BYTES

CALL = '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
MARKERS = ("<tool_call>", "</tool_call>")


def body(begins: str = "", **fields: Any) -> Json:
    plan = msgspec.structs.replace(plan_of("llama.cpp", chat(**fields)), prompt="P", markers=MARKERS)
    assert plan.begins == begins
    return LLAMA_CPP.call(plan).body


MESSAGE: Json = {"model": "m", "max_tokens": 9, "messages": [HI]}
RAW: Json = {
    "prompt": "P",
    "preserved_tokens": list(MARKERS),
    "response_fields": list(LAST_EVENT),
    "stream": True,
}


def test_a_completion_keeps_the_markers_of_the_format() -> None:
    """A special token has no text otherwise; those of the model's format are all among them."""
    call = LLAMA_CPP.call(msgspec.structs.replace(plan_of("llama.cpp", chat()), prompt="P"))
    assert (call.path, call.codec) == ("/completion", "sse+llama_cpp")
    assert set(call.body["preserved_tokens"]) >= set(MARKERS)
    assert body() == RAW


def test_the_prompt_is_asked_for_with_messages_and_tools() -> None:
    """No choice is said: what a model may not call is not there, and an answer's beginning is added here."""
    plan = plan_of("llama.cpp", chat(*HISTORY, tools=[TOOL, OTHER]))
    assert LLAMA_CPP.rendering(plan) == Call("/apply-template", {"messages": RENDERED, "tools": [TOOL, OTHER]})
    none = plan_of("llama.cpp", chat(tools=[TOOL], tool_choice="none"))
    assert LLAMA_CPP.rendering(none) == Call("/apply-template", {"messages": [HI]})
    named = plan_of("llama.cpp", chat(tools=[TOOL, OTHER], tool_choice=NAMED))
    assert LLAMA_CPP.rendering(named) == Call("/apply-template", {"messages": [HI], "tools": [TOOL]})


def test_variables_of_the_template_are_for_the_template() -> None:
    """The effort among them; the completion has none of them."""
    kwargs = {"enable_thinking": False}
    plan = plan_of("llama.cpp", chat(chat_template_kwargs=kwargs, reasoning_effort="low"))
    rendering = LLAMA_CPP.rendering(plan)
    assert rendering is not None
    assert rendering.body["chat_template_kwargs"] == kwargs | {"reasoning_effort": "low"}
    quiet = LLAMA_CPP.rendering(plan_of("llama.cpp", {**MESSAGE, "thinking": {"type": "disabled"}}, "messages"))
    assert quiet == Call("/apply-template", {"messages": [HI], "chat_template_kwargs": UNTHINKING})
    assert body(chat_template_kwargs=kwargs, reasoning_effort="low") == body(chat_template_kwargs=3) == RAW


@pytest.mark.parametrize(
    ("choice", "begins"),
    [("required", '<tool_call>\n{"name": "'), (NAMED, '<tool_call>\n{"name": "now", "arguments": ')],
)
def test_a_call_that_has_to_come_is_begun_in_the_prompt(choice: Any, begins: str) -> None:
    """Which has no other shape then."""
    asked = body(begins, tools=[TOOL], tool_choice=choice, response_format=SHAPE)
    assert asked == RAW | {"prompt": f"P{begins}"}


def test_how_words_are_chosen_is_said_in_its_words() -> None:
    """The length is `n_predict`, a shape is a schema."""
    fields: Json = {"temperature": 0.0, "top_p": 0.5, "seed": 7, "presence_penalty": 1.0, "frequency_penalty": 0.5}
    fields |= {"stop": ["a"], "top_k": 4}
    shaped = {"json_schema": SCHEMA, "n_predict": 5}
    assert body(**fields, max_tokens=5, response_format=SHAPE) == RAW | fields | shaped
    assert body(response_format={"type": "json_object"}) == RAW | {"json_schema": {"type": "object"}}
    assert body(response_format={"type": "text"}) == RAW


def test_our_fields_go_before_the_client_s() -> None:
    """Nobody loses markers."""
    assert body(preserved_tokens=[], stream=False) == RAW


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"n": 2}, "n"),
        ({"messages": [{"role": "user", "content": [IMAGE]}]}, "messages"),
    ],
)
def test_what_a_completion_of_text_can_t_do_is_refused_by_name(fields: Json, param: str) -> None:
    """Several answers, images: the prompt would have a place for them, and the model no sight."""
    with pytest.raises(BadAsk) as refused:
        plan_of("llama.cpp", chat() | fields)
    assert refused.value.param == param


def test_other_apis_ask_the_same() -> None:
    """Responses and Messages are rendered as chats."""
    responses = plan_of("llama.cpp", {"model": "m", "input": "hi", "instructions": "Hm."}, "responses")
    messages = plan_of("llama.cpp", {"model": "m", "max_tokens": 9, "system": "Hm.", "messages": [HI]}, "messages")
    rendered = Call("/apply-template", {"messages": [{"role": "system", "content": "Hm."}, HI]})
    assert LLAMA_CPP.rendering(responses) == LLAMA_CPP.rendering(messages) == rendered
    assert LLAMA_CPP.call(messages).body["n_predict"] == 9


@pytest.mark.parametrize("answer", [{}, {"prompt": None}, {"prompt": ["P"]}, {"error": "no"}])
def test_an_answer_without_a_prompt_has_none(answer: Json) -> None:
    """Whatever a broken server says."""
    assert LLAMA_CPP.prompt_of(msgspec.json.encode(answer)) is None


async def test_the_server_takes_both_and_hides_no_marker() -> None:
    """The prompt it renders is the one it completes."""
    async with LlamaCpp(lambda _: Script(CALL), special=MARKERS) as server:
        plan = await prompt_from(server, LLAMA_CPP, plan_of("llama.cpp", chat(*HISTORY, tools=[TOOL])))
        chunks = await answered(server, LLAMA_CPP, LLAMA_CPP.call(plan))
    assert (text_of(chunks), ends_of(chunks), chunks[-1].end) == (CALL, ["stop"], True)
    prompt = server.generations[0].body["prompt"]
    assert prompt.startswith("<|im_start|>system\n<tools>\nnow")
    assert prompt.endswith("<|im_start|>assistant\n")


@pytest.mark.parametrize(
    "turn",
    [
        {"content": None, "reasoning_content": "hm"},
        {"content": None, "refusal": "No."},
        {"content": [{"type": "refusal", "refusal": "No."}]},
    ],
)
async def test_the_server_takes_turns_of_reasoning_or_refusal_alone(turn: Json) -> None:
    """It refuses them as clients send them."""
    async with LlamaCpp(lambda _: Script(CALL)) as server:
        plan = plan_of("llama.cpp", chat(HI, {"role": "assistant"} | turn, HI))
        plan = await prompt_from(server, LLAMA_CPP, plan)
    words = "" if turn.get("reasoning_content") else "No."
    assert f"<|im_start|>assistant\n{words}<|im_end|>" in (plan.prompt or "")


async def test_a_prompt_longer_than_an_event_may_be_is_not_repeated() -> None:
    """The last event would be lost with it: how the answer ended, and what it used."""
    long = {"role": "user", "content": "word " * (EVENT_BYTES // 4)}
    async with LlamaCpp(lambda _: Script(CALL), special=MARKERS) as server:
        plan = await prompt_from(server, LLAMA_CPP, plan_of("llama.cpp", chat(long)))
        chunks = await answered(server, LLAMA_CPP, LLAMA_CPP.call(plan))
    assert (text_of(chunks), ends_of(chunks), [chunk.error for chunk in chunks if chunk.error]) == (CALL, ["stop"], [])
    assert chunks[-1].usage is not None


async def test_the_word_at_which_it_stopped_is_told() -> None:
    """The last event has it only where it is asked for."""
    async with LlamaCpp(lambda _: Script("Hello END")) as server:
        plan = await prompt_from(server, LLAMA_CPP, plan_of("llama.cpp", chat(stop=["END"])))
        chunks = await answered(server, LLAMA_CPP, LLAMA_CPP.call(plan))
    assert [chunk.stop_sequence for chunk in chunks if chunk.finish_reason] == ["END"]


async def test_a_prompt_and_its_completion_take_one_place() -> None:
    """And a forced call is begun in both."""
    script = Script('now", "arguments": {}}\n</tool_call>')
    async with LlamaCpp(lambda _: script) as server, desk("llama.cpp", server.url, calls=1) as at:
        _, outcome = await at.run(chat(tools=[TOOL], tool_choice="required"))
        assert (outcome, at.pool.running) == ("finished", 0)
        assert server.generations[0].body["prompt"].endswith('<tool_call>\n{"name": "')
    assert at.text == '<tool_call>\n{"name": "' + script.text
