"""Ollama: it renders the prompt without asking the model, and completes it raw."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.calling import (
    HI,
    HISTORY,
    IMAGE,
    NAMED,
    OTHER,
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
from tests.support.model_servers.ollama import Ollama
from tests.support.model_servers.speech import Script
from tokenmill.apis.ask import BadAsk, Json
from tokenmill.caller.kinds import Call
from tokenmill.caller.kinds.ollama import OLLAMA

RAW: Json = {"model": "test-model", "prompt": "P", "raw": True, "think": False, "stream": True}
RENDER: Json = {"model": "test-model", "messages": [HI], "_debug_render_only": True, "stream": False}
AWAY: Json = {"type": "image_url", "image_url": {"url": "https://a/b"}}
TEXT = '<think>\nhm\n</think>\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'


def body(*messages: Json, **fields: Any) -> Json:
    plan = plan_of("ollama", chat(*messages, **fields))
    return OLLAMA.call(msgspec.structs.replace(plan, prompt="P")).body


def rendering(*messages: Json, **fields: Any) -> Json:
    call = OLLAMA.rendering(plan_of("ollama", chat(*messages, **fields)))
    assert call is not None
    return call.body


def test_a_raw_completion() -> None:
    """It looks for no reasoning: it would take it out of the text."""
    plan = msgspec.structs.replace(plan_of("ollama", chat()), prompt="P")
    assert OLLAMA.call(plan) == Call("/api/generate", RAW, "sse+ollama")
    assert OLLAMA.rendering(plan) == Call("/api/chat", RENDER)


def test_the_prompt_has_the_tools_that_may_be_called() -> None:
    """There is no choice: what may not be called is not sent."""
    assert rendering(tools=[TOOL, OTHER]) == RENDER | {"tools": [TOOL, OTHER]}
    assert rendering(tools=[TOOL], tool_choice="none") == RENDER
    assert rendering(tools=[TOOL, OTHER], tool_choice=NAMED) == RENDER | {"tools": [TOOL]}


def test_a_model_that_is_not_to_think_is_not_opened_for_it() -> None:
    """Its template is Ollama's, which has a word for it; others are left to themselves."""
    asked = {"model": "m", "max_tokens": 9, "messages": [HI], "thinking": {"type": "disabled"}}
    messages = OLLAMA.rendering(plan_of("ollama", asked, "messages"))
    assert messages == Call("/api/chat", RENDER | {"think": False})
    assert rendering(reasoning_effort="none") == rendering(response_format=SHAPE) == RENDER | {"think": False}


@pytest.mark.parametrize(
    ("effort", "think"),
    [("minimal", "low"), ("low", "low"), ("medium", "medium"), ("high", "high"), ("max", "high"), ("novel", None)],
)
def test_an_effort_is_for_gpt_oss(effort: str, think: str | None) -> None:
    """Other models have no words for it, and older versions refuse to render with one; `true` is the default."""
    asked = {"model": "m", "max_tokens": 9, "messages": [HI], "output_config": {"effort": effort}}
    for format_, level in (("harmony", think), ("hermes", None)):
        plan = plan_of("ollama", asked, "messages", format=format_)
        OLLAMA.check(plan)
        told = RENDER if level is None else RENDER | {"think": level}
        assert OLLAMA.rendering(plan) == Call("/api/chat", told)


@pytest.mark.parametrize(
    ("choice", "begins"),
    [("required", '<tool_call>\n{"name": "'), (NAMED, '<tool_call>\n{"name": "now", "arguments": ')],
)
def test_a_call_that_has_to_come_is_begun_in_the_prompt(choice: Any, begins: str) -> None:
    """Which has no other shape then."""
    assert body(tools=[TOOL], tool_choice=choice, response_format=SHAPE) == RAW | {"prompt": f"P{begins}"}


def test_messages_are_ollama_s() -> None:
    """Text in one piece, images apart, arguments as objects, thinking by its name, results with their tool's."""
    shown = {"role": "user", "content": [{"type": "text", "text": "and "}, {"type": "text", "text": "this"}, IMAGE]}
    refused = {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}], "reasoning": "bad"}
    call = {"id": "c1", "function": {"name": "now", "arguments": {"zone": "CET"}}}
    assert rendering(*HISTORY, refused, shown)["messages"] == [
        {"role": "system", "content": "Be brief.\n\nNo jokes."},
        HI,
        {"role": "assistant", "content": "", "thinking": "Which zone?", "tool_calls": [call]},
        {"role": "tool", "content": "noon", "tool_call_id": "c1", "tool_name": "now"},
        {"role": "assistant", "content": "No.", "thinking": "bad"},
        {"role": "user", "content": "and this", "images": ["aGk="]},
    ]
    assert body(shown) == RAW | {"images": ["aGk="]}


def test_how_words_are_chosen_are_options() -> None:
    """Those of its own that a client may set, too; a shape is its `format`."""
    options: Json = {"temperature": 0.0, "top_p": 0.5, "seed": 7, "presence_penalty": 1.0, "frequency_penalty": 0.5}
    options |= {"stop": ["a"], "top_k": 4, "num_ctx": 9}
    assert body(**options, max_tokens=5) == RAW | {"options": options | {"num_predict": 5}}
    assert body(response_format=SHAPE) == RAW | {"format": SCHEMA}
    assert body(response_format={"type": "json_object"}) == RAW | {"format": "json"}
    assert body(response_format={"type": "text"}) == RAW


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"n": 2}, "n"),
        ({"raw": False}, "raw"),
        ({"template": "{{ .System }}"}, "template"),
        ({"chat_template_kwargs": {}}, "chat_template_kwargs"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a/b"}}]}]},
            "messages",
        ),
    ],
)
def test_what_it_does_not_take_is_refused_by_name(fields: Json, param: str) -> None:
    """Also the address of an image: it fetches none, and would look at an empty one."""
    with pytest.raises(BadAsk) as refused:
        plan_of("ollama", chat() | fields)
    assert refused.value.param == param


def test_hints_are_left_out() -> None:
    """An answer is the same without them."""
    hints = {"user": "u", "prompt_cache_key": "k", "safety_identifier": "s", "verbosity": "low"}
    assert (body(**hints), rendering(**hints)) == (RAW, RENDER)


def test_a_template_that_is_rendered_here_has_variables(tmp_path: Path) -> None:
    """They are in the prompt; Ollama's own template has none."""
    (tmp_path / "t.jinja").write_text("{{ messages }}")
    asked = chat(chat_template_kwargs={"a": 1})
    plan = plan_of("ollama", asked, template_file=str(tmp_path / "t.jinja"))
    assert OLLAMA.call(msgspec.structs.replace(plan, prompt="P")).body == RAW


def test_other_apis_ask_the_same() -> None:
    """Responses and Messages are rendered as chats."""
    responses = plan_of("ollama", {"model": "m", "input": "hi"}, "responses")
    messages = plan_of("ollama", {"model": "m", "max_tokens": 9, "top_k": 4, "messages": [HI]}, "messages")
    assert OLLAMA.rendering(responses) == OLLAMA.rendering(messages) == Call("/api/chat", RENDER)
    assert OLLAMA.call(messages).body["options"] == {"num_predict": 9, "top_k": 4}


@pytest.mark.parametrize(
    "said", [{}, {"_debug_info": None}, {"_debug_info": "P"}, {"_debug_info": {"rendered_template": 1}}]
)
def test_an_answer_without_a_prompt_has_none(said: Json) -> None:
    """As of another version: the field is not documented."""
    assert OLLAMA.prompt_of(msgspec.json.encode(said)) is None


def test_the_key_is_a_bearer_s() -> None:
    """As its cloud wants it."""
    assert (OLLAMA.headers("k"), OLLAMA.headers("")) == ({"authorization": "Bearer k"}, {})


async def test_the_server_takes_both_and_sorts_nothing_out() -> None:
    """Although its model can think."""
    async with Ollama(lambda _: Script(TEXT)) as server:
        plan = await prompt_from(server, OLLAMA, plan_of("ollama", chat(*HISTORY, tools=[TOOL], top_k=1)))
        chunks = await answered(server, OLLAMA, OLLAMA.call(plan))
    assert (text_of(chunks), ends_of(chunks), chunks[-1].end) == (TEXT, ["stop"], True)
    assert server.generations[0].body["prompt"].endswith("<|im_start|>assistant\n")
