"""What all kinds of model servers have in common."""

from collections.abc import Callable, Mapping
from typing import Any, get_args

import msgspec
import pytest

from tests.support.calling import (
    HI,
    HISTORY,
    NAMED,
    OTHER,
    TOOL,
    answered,
    chat,
    ends_of,
    plan_of,
    prompt_from,
    text_of,
)
from tests.support.model_servers.anthropic import Anthropic
from tests.support.model_servers.llama_cpp import LlamaCpp
from tests.support.model_servers.ollama import Ollama
from tests.support.model_servers.openai_like import OpenAiLike
from tests.support.model_servers.serving import FakeModelServer
from tests.support.model_servers.sglang import Sglang
from tests.support.model_servers.speech import Script
from tests.support.model_servers.vllm import Vllm
from tokenmill.apis.ask import Ask, BadAsk, Json
from tokenmill.caller.kinds import KINDS, Plan, find_kind
from tokenmill.caller.kinds.kind import Call, given
from tokenmill.config import Upstream
from tokenmill.config.upstreams import MESSAGES_ONLY
from tokenmill.config.upstreams import Kind as Configured

SERVERS: Mapping[str, Callable[..., FakeModelServer]] = {
    "vllm": Vllm,
    "sglang": Sglang,
    "llama.cpp": LlamaCpp,
    "ollama": Ollama,
    "openai": OpenAiLike,
    "completions": Vllm,
    "anthropic": Anthropic,
}
PARAMETERS = TOOL["function"]["parameters"]
LOOPS: Mapping[str, Json] = {
    "chat": chat(*HISTORY, tools=[TOOL]),
    "responses": {
        "model": "m",
        "instructions": "Be brief.",
        "tools": [{"type": "function", "name": "now", "parameters": PARAMETERS}],
        "input": [
            {"role": "developer", "content": "No jokes."},
            HI,
            {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Which zone?"}]},
            {"type": "function_call", "call_id": "c1", "name": "now", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "noon"},
        ],
    },
    "messages": {
        "model": "m",
        "max_tokens": 99,
        "system": "Be brief.",
        "tools": [{"name": "now", "input_schema": PARAMETERS}],
        "messages": [
            HI,
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Which zone?", "signature": "s"},
                    {"type": "tool_use", "id": "c1", "name": "now", "input": {}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "noon"}]},
        ],
    },
}
"""Behind a call and its result, in each API."""


def test_the_kinds_are_those_of_the_configuration() -> None:
    """Each is found by the name that people write there, and says what it does."""
    assert [kind.name for kind in KINDS] == list(get_args(Configured))
    assert all(find_kind(kind.name) is kind and kind.summary for kind in KINDS)
    assert {kind.name for kind in KINDS if not kind.raw} == MESSAGES_ONLY


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_every_kind_asks_for_a_stream_of_the_upstream_s_model(kind: str) -> None:
    """By the server's own name for it, or by the client's if it has none."""
    call = find_kind(kind).call(plan_of(kind, chat()))
    assert (call.body["stream"], call.body.get("model", "test-model")) == (True, "test-model")
    unnamed = find_kind(kind).call(plan_of(kind, chat(), model=""))
    assert unnamed.body.get("model", "m") == "m"


@pytest.mark.parametrize("kind", ["llama.cpp", "ollama", "anthropic"])
def test_several_answers_are_refused_where_a_server_gives_one(kind: str) -> None:
    """By the name of the field; one is fine."""
    assert plan_of(kind, chat(n=1)).ask.n == 1
    with pytest.raises(BadAsk) as refused:
        plan_of(kind, chat(n=2))
    assert (refused.value.param, refused.value.code) == ("n", "unsupported_value")


@pytest.mark.parametrize(
    ("choice", "told"), [("auto", [TOOL, OTHER]), ("required", [TOOL, OTHER]), ("none", []), (NAMED, [TOOL])]
)
def test_a_model_is_told_of_tools_that_it_may_call(choice: object, told: list[object]) -> None:
    """A model that is shown others may call them, whatever it is told."""
    assert plan_of("vllm", chat(tools=[TOOL, OTHER], tool_choice=choice)).tools == told


@pytest.mark.parametrize("choice", ["auto", "required", NAMED])
@pytest.mark.parametrize("kind", [kind.name for kind in KINDS if kind.raw])
def test_a_server_of_raw_text_is_told_nothing_of_one_call_at_a_time(kind: str, choice: Any) -> None:
    """Nothing keeps its model from another one: that is not read."""
    asked = chat(tools=[TOOL, OTHER], tool_choice=choice)
    plans = [plan_of(kind, asked | said) for said in ({}, {"parallel_tool_calls": False})]
    assert [find_kind(kind).call(plan) for plan in plans] == [find_kind(kind).call(plans[0])] * 2


def test_a_kind_without_wishes_needs_one_request() -> None:
    """No prompt before, no word behind; a key is a bearer's."""
    upstream = Upstream(models=["m"], urls=["http://a"])
    plan, base = Plan(ask=Ask(model="m", messages=[HI]), upstream=upstream), find_kind("completions")
    base.check(plan)
    assert (base.rendering(plan), base.prompt_of(b'{"prompt": "P"}'), base.abort(Call("/", {}))) == (None, None, None)
    assert (base.headers("k"), base.headers("")) == ({"authorization": "Bearer k"}, {})


def test_fields_without_a_value_are_left_out() -> None:
    """Nothing and an empty list; zero and an empty object are values."""
    assert given(a=None, b=[], c=0, d={}, e="", f=False) == {"c": 0, "d": {}, "e": "", "f": False}


@pytest.mark.parametrize("api", LOOPS)
@pytest.mark.parametrize("kind", SERVERS)
async def test_every_kind_of_server_takes_a_loop_of_tools_by_every_api(kind: str, api: str) -> None:
    """And goes on behind the result."""
    each, script = find_kind(kind), Script("At noon.")

    def answer(_: Any) -> Script:
        return script

    async with SERVERS[kind](answer) as server:
        plan = plan_of(kind, LOOPS[api], api)
        if each.rendering(plan) is not None:
            plan = await prompt_from(server, each, plan)
        elif kind == "completions":
            plan = msgspec.structs.replace(plan, prompt="P")
        chunks = await answered(server, each, each.call(plan))
    assert text_of(chunks) == script.text
    assert (len(ends_of(chunks)), chunks[-1].end) == (1, True)
