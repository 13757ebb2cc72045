"""OpenAI's chat completions."""

from typing import Any

import pytest

from tests.apis.bodies import CLOCK, GOOD, SCHEMA, WEATHER, ask, param, refusal
from tests.support.calling import chat, plan_of
from tokenmill.apis import Field
from tokenmill.apis.ask import Ask, BadAsk
from tokenmill.apis.chat import CHAT, SERVERS_OWN
from tokenmill.apis.reading import Node
from tokenmill.caller.kinds import KINDS, find_kind


def test_a_body_with_everything() -> None:
    """Each field is where the neutral shape has it."""
    assert ask("chat") == Ask(
        model="m",
        messages=[Node(message).members() for message in GOOD["chat"]["messages"]],
        tools=[WEATHER, CLOCK],
        tool_choice="named",
        tool="clock",
        response_format={"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA, "strict": True}},
        n=2,
        max_tokens=9,
        temperature=0.5,
        stop=["a", "b"],
        stream=True,
        include_usage=True,
        conversation="c",
    )


def test_a_body_with_the_least() -> None:
    """Counts of tokens are not told in a stream that does not ask for them."""
    messages = [{"role": "user", "content": "Hi"}]
    asked = CHAT.read({"model": "m", "messages": messages})
    assert asked == Ask(model="m", messages=messages, include_usage=False)


@pytest.mark.parametrize(
    ("changes", "field", "expected"),
    [
        ({"max_completion_tokens": 3}, "max_tokens", 3),
        ({"max_tokens": None}, "max_tokens", None),
        ({"stop": "x"}, "stop", ["x"]),
        ({"stop": None}, "stop", []),
        ({"n": None}, "n", 1),
        ({"n": 128}, "n", 128),
        ({"temperature": 2}, "temperature", 2.0),
        ({"presence_penalty": -2}, "presence_penalty", -2.0),
        ({"seed": -1}, "seed", -1),
        ({"reasoning_effort": "low"}, "reasoning_effort", "low"),
        ({"reasoning_effort": "none"}, "thinks", False),
        ({"parallel_tool_calls": False}, "parallel_tool_calls", False),
        ({"stream_options": {"include_usage": False}}, "include_usage", False),
        ({"stream_options": {"include_usage": True, "continuous_usage_stats": True}}, "include_usage", True),
        ({"stream": None}, "stream", False),
        ({"metadata": {"a": "b"}}, "conversation", ""),
        ({"logit_bias": {"1": 2}}, "forwarded", {"logit_bias": {"1": 2}}),
    ],
)
def test_fields(changes: dict[str, Any], field: str, expected: Any) -> None:
    """What each becomes."""
    assert getattr(ask("chat", **changes), field) == expected


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"model": ""}, "model"),
        ({"model": None}, "model"),
        ({"messages": []}, "messages"),
        ({"n": 0}, "n"),
        ({"n": 129}, "n"),
        ({"n": True}, "n"),
        ({"temperature": 2.1}, "temperature"),
        ({"temperature": "1"}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"stop": ["a", ""]}, "stop[1]"),
        ({"stop": 3}, "stop"),
        ({"seed": 2**63}, "seed"),
        ({"stream_options": {"include": True}}, "stream_options.include"),
        ({"metadata": {"a": 3}}, "metadata.a"),
        ({"metadata": {"conversation_id": ""}}, "metadata.conversation_id"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"functions": [{"name": "f"}]}, "functions"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], place: str) -> None:
    """Where it stands."""
    assert param("chat", **changes) == place


@pytest.mark.parametrize("row", SERVERS_OWN, ids=lambda row: row.name)
@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_no_field_of_a_server_s_own_that_spoils_an_answer_reaches_one(kind: str, row: Field) -> None:
    """Of any kind, not even one that a client's own body goes to as it is."""
    with pytest.raises(BadAsk) as refused:
        plan_of(kind, chat(**{row.name: {"a": 1}}))
    assert refused.value.param == row.name


@pytest.mark.parametrize("row", SERVERS_OWN, ids=lambda row: row.name)
def test_what_is_refused_is_refused_in_what_a_server_takes_for_more_fields(row: Field) -> None:
    """Some of them vLLM reads there, too."""
    assert param("chat", vllm_xargs={"mine": 1, row.name: {"a": 1}}) == f"vllm_xargs.{row.name}"


def test_what_a_client_tells_a_template_is_passed_on_but_for_another_template() -> None:
    """SGLang would render that one."""
    passed = {
        "chat_template_kwargs": {"enable_thinking": False, "echo": 1},
        "vllm_xargs": {"mine": 1},
        "cache_salt": "s",
    }
    assert ask("chat", **passed).forwarded.items() >= passed.items()
    kwargs = {"chat_template": "{{ messages }}"}
    assert param("chat", chat_template_kwargs=kwargs) == "chat_template_kwargs.chat_template"


def test_no_client_goes_before_others() -> None:
    """Who says that it does not asks for nothing."""
    assert param("chat", priority=-1) == "priority"
    assert "priority" not in ask("chat", priority=0).forwarded


def test_a_prompt_s_echo_is_refused_and_its_absence_is_not() -> None:
    """What asks for nothing is taken, and not passed on."""
    assert param("chat", echo=True) == "echo"
    assert "what the model writes" in str(refusal("chat", echo=True))
    assert ask("chat", echo=False, n_probs=0, return_tokens=False).forwarded == ask("chat").forwarded


def test_addresses_of_other_servers_do_not_come_from_a_request() -> None:
    """Servers would connect to them."""
    for name in ("kv_transfer_params", "bootstrap_host"):
        assert param("chat", **{name: {"remote_host": "10.0.0.1"}}) == name


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_counts_on_every_chunk_are_asked_of_no_server(kind: str) -> None:
    """The last ones count: who wants them all gets those."""
    wanted = chat(stream=True, stream_options={"include_usage": True, "continuous_usage_stats": True})
    plan = plan_of(kind, wanted)
    assert find_kind(kind).call(plan).body.get("stream_options") in (None, {"include_usage": True})
    assert param("chat", stream_options={"counts": True}) == "stream_options.counts"
