"""What all kinds of model servers have in common."""

from typing import get_args

import pytest

from tests.support.calling import HI, NAMED, OTHER, TOOL, chat, plan_of
from tokenmill.apis.ask import Ask, BadAsk
from tokenmill.caller.kinds import KINDS, Plan, find_kind
from tokenmill.caller.kinds.kind import Base, Call, given
from tokenmill.config import Upstream
from tokenmill.config.upstreams import Kind as Configured


def test_the_kinds_are_those_of_the_configuration() -> None:
    """Each is found by the name that people write there, and says what it does."""
    assert [kind.name for kind in KINDS] == list(get_args(Configured))
    assert all(find_kind(kind.name) is kind and kind.summary for kind in KINDS)
    assert {kind.name for kind in KINDS if not kind.raw} == {"openai", "anthropic"}


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


def test_a_kind_without_wishes_needs_one_request() -> None:
    """No prompt before, no word behind; a key is a bearer's."""
    upstream = Upstream(models=["m"], urls=["http://a"])
    plan, base = Plan(ask=Ask(model="m", messages=[HI]), upstream=upstream), Base()
    base.check(plan)
    assert (base.rendering(plan), base.prompt_of({"prompt": "P"}), base.abort(Call("/", {}))) == (None, None, None)
    assert (base.headers("k"), base.headers("")) == ({"authorization": "Bearer k"}, {})


def test_fields_without_a_value_are_left_out() -> None:
    """Nothing and an empty list; zero and an empty object are values."""
    assert given(a=None, b=[], c=0, d={}, e="", f=False) == {"c": 0, "d": {}, "e": "", "f": False}
