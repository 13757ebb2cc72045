"""What raw text can't be at once, and how its model is kept from thinking."""

from typing import Any

import pytest

from tests.support.calling import CALLED, HI, HISTORY, IMAGE, OTHER, RENDERED, SHAPE, TOOL, chat, plan_of
from tokenmill.apis.ask import BadAsk, Json
from tokenmill.caller.kinds import KINDS, find_kind
from tokenmill.caller.kinds.raw_text import UNTHINKING, one_system, template_messages, template_variables, thinks

RAW = [kind.name for kind in KINDS if kind.raw]
R1: Json = {"open": {"start": "reasoning"}}
RESPONSE: Json = {"model": "m", "input": "hi", "text": {"format": {"type": "json_object"}}}
MESSAGE: Json = {
    "model": "m",
    "max_tokens": 9,
    "messages": [HI],
    "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
}
NOW: Json = {"type": "function", **TOOL["function"]}
TOLD: Json = {"name": "now", "input_schema": TOOL["function"]["parameters"]}


@pytest.mark.parametrize("kind", RAW)
@pytest.mark.parametrize(
    ("api", "body", "settings", "param"),
    [
        ("chat", chat(response_format=SHAPE, tools=[TOOL, OTHER]), {}, "response_format"),
        ("chat", chat(response_format={"type": "json_object"}, tools=[TOOL]), {}, "response_format"),
        ("responses", RESPONSE | {"tools": [NOW]}, {}, "text.format"),
        ("messages", MESSAGE | {"tools": [TOLD]}, {}, "output_config.format"),
        ("chat", chat(response_format=SHAPE), R1, "response_format"),
        ("chat", chat(response_format=SHAPE), {"format": "minimax_m2"}, "response_format"),
        ("chat", chat(response_format=SHAPE, reasoning_effort="low"), {}, "reasoning_effort"),
        ("responses", RESPONSE | {"reasoning": {"effort": "low"}}, {}, "reasoning.effort"),
    ],
)
def test_a_shape_beside_calls_or_reasoning_is_refused(
    kind: str, api: str, body: Json, settings: dict[str, Any], param: str
) -> None:
    """By the name that the client used: it holds from the first token on, so neither could come."""
    with pytest.raises(BadAsk) as refused:
        plan_of(kind, body, api, **settings)
    assert (refused.value.param, refused.value.code) == (param, "unsupported_parameter")
    assert param in str(refused.value)


@pytest.mark.parametrize(
    "body",
    [
        chat(response_format=SHAPE),
        chat(response_format=SHAPE, tools=[]),
        chat(response_format=SHAPE, tools=[TOOL], tool_choice="none"),
        chat(response_format={"type": "text"}, tools=[TOOL], reasoning_effort="low"),
        chat(tools=[TOOL]),
    ],
)
def test_a_shape_of_text_alone_is_had(body: Json) -> None:
    """And tools without one, of course."""
    assert plan_of("vllm", body).ask.model == "m"


@pytest.mark.parametrize("thinking", [{}, {"thinking": {"type": "adaptive"}}])
def test_an_effort_of_messages_beside_a_shape_is_left_out(thinking: Json) -> None:
    """It is about all that a model writes: Claude Code asks for a session's title so. A model of raw text that got it
    might begin to reason, which the shape forbids.
    """
    body = MESSAGE | thinking | {"output_config": MESSAGE["output_config"] | {"effort": "high"}}
    plan = plan_of("vllm", body, "messages")
    assert (plan.ask.reasoning_effort, thinks(plan), bool(plan.ask.response_format)) == (None, False, True)
    assert plan_of("openai", body, "messages").ask.reasoning_effort == "high"


def test_an_effort_of_messages_without_a_shape_is_kept() -> None:
    """Also where a call is forced, which no shape holds for."""
    effort = {"output_config": MESSAGE["output_config"] | {"effort": "high"}}
    forced = MESSAGE | effort | {"tools": [TOLD], "tool_choice": {"type": "any"}}
    assert plan_of("vllm", forced, "messages").ask.reasoning_effort == "high"
    free = MESSAGE | {"output_config": {"effort": "high"}}
    assert plan_of("vllm", free, "messages").ask.reasoning_effort == "high"


def test_servers_that_parse_know_how_to_do_both() -> None:
    """They hold the text alone to it, and tell calls and reasoning from that."""
    body = chat(response_format=SHAPE, tools=[TOOL], reasoning_effort="low")
    assert plan_of("openai", body, **R1).ask.response_format == SHAPE


@pytest.mark.parametrize(
    ("body", "settings", "expected"),
    [
        (chat(), {}, True),
        (chat(reasoning_effort="low"), {}, True),
        (chat(reasoning_effort="none"), {}, False),
        (chat(response_format=SHAPE), {}, False),
        (chat(reasoning_effort="none"), R1, True),
        (chat(reasoning_effort="none"), {"format": "minimax_m2"}, True),
        (chat(reasoning_effort="none"), {"format": "minimax_m2", "open": {"start": "text"}}, False),
    ],
)
def test_a_model_thinks_unless_it_is_told_not_to(body: Json, settings: dict[str, Any], *, expected: bool) -> None:
    """Of one whose prompt opens the reasoning the text would be taken for that: it is told nothing."""
    plan = plan_of("vllm", body, **settings)
    assert thinks(plan) is expected
    assert template_variables(plan) == ({} if expected else UNTHINKING)


def test_what_the_client_tells_the_template_counts() -> None:
    """What is no object tells it nothing."""
    own = {"enable_thinking": True, "a": 1}
    said = template_variables(plan_of("vllm", chat(reasoning_effort="none", chat_template_kwargs=own)))
    assert said == {"enable_thinking": True, "thinking": False, "a": 1}
    assert template_variables(plan_of("vllm", chat(chat_template_kwargs=3))) == {}


@pytest.mark.parametrize(("format_", "role"), [("hermes", "system"), ("plain", "system"), ("harmony", "developer")])
def test_a_developer_is_the_system_where_templates_do_not_know_the_role(format_: str, role: str) -> None:
    """Qwen's refuse it, others leave its messages out and say nothing; gpt-oss knows it."""
    plan = plan_of("vllm", chat(*HISTORY), format=format_)
    told = [RENDERED[0] | {"role": role}, *RENDERED[1:]]
    assert template_messages(plan, "reasoning_content") == told
    assert plan.ask.messages == HISTORY


def system(content: Any) -> Json:
    return {"role": "system", "content": content}


def user(content: Any) -> Json:
    return {"role": "user", "content": content}


SEEN = user([{"type": "text", "text": "this?"}, IMAGE])


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ([HI, SEEN], [HI, SEEN]),
        ([HISTORY[1], HI], [HISTORY[1] | {"role": "system"}, HI]),
        ([system("a"), HISTORY[1], system("b")], [system("a\n\nNo jokes.\n\nb")]),
        ([system("a"), HI, system("b")], [system("a"), user("hi\n\nb")]),
        ([HI, HISTORY[3], HISTORY[4], system("b")], [HI, HISTORY[3], HISTORY[4], user("b")]),
        ([HI, system("b"), SEEN], [user([{"type": "text", "text": text} for text in ("hi", "b", "this?")] + [IMAGE])]),
    ],
)
def test_the_system_speaks_once_and_first(messages: list[Json], told: list[Json]) -> None:
    """Qwen's templates refuse it elsewhere, gpt-oss's leaves it out; where turns have to alternate they do."""
    assert one_system(messages) == told


def test_a_template_that_knows_a_developer_gets_one_if_there_is_one() -> None:
    """At the beginning, again."""
    assert one_system([system("a"), HI], knows_developer=True) == [system("a"), HI]
    spoken = one_system([system("a"), HISTORY[1], HI, HISTORY[1]], knows_developer=True)
    assert spoken == [{"role": "developer", "content": "a\n\nNo jokes."}, user("hi\n\nNo jokes.")]


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("vllm", {"reasoning": "hm", "reasoning_content": "hm"}),
        ("sglang", {"reasoning_content": "hm"}),
        ("llama.cpp", {"reasoning_content": "hm"}),
    ],
)
def test_a_server_hears_what_was_thought_by_the_names_that_it_reads(name: str, kind: str, told: Json) -> None:
    """Whichever the client uses: vLLM reads the one or the other, by its version."""
    said = {"role": "assistant", "content": "a"}
    plan, each = plan_of(kind, chat(HI, said | {name: "hm"}, HI)), find_kind(kind)
    assert (each.rendering(plan) or each.call(plan)).body["messages"] == [HI, said | told, HI]


def parts(*refusals: str) -> list[Json]:
    return [{"type": "text", "text": "Hm. "}, *({"type": "refusal", "refusal": text} for text in refusals)]


@pytest.mark.parametrize(
    ("turn", "told"),
    [
        ({"content": None, "reasoning_content": "hm"}, {"content": "", "reasoning_content": "hm"}),
        ({"content": None, "refusal": "No."}, {"content": "No."}),
        ({"content": parts("No.")}, {"content": "Hm. No."}),
        ({"content": parts(), "name": "a", "refusal": None}, {"content": "Hm. ", "name": "a"}),
        ({"content": None, "tool_calls": [CALLED]}, {"content": "", "tool_calls": [CALLED]}),
    ],
)
def test_a_turn_of_the_assistant_is_text_that_templates_read(turn: Json, told: Json) -> None:
    """llama.cpp refuses a turn without content or calls and parts that are refusals; no template reads `refusal`."""
    plan = plan_of("llama.cpp", chat(HI, {"role": "assistant"} | turn, HI))
    assert template_messages(plan, "reasoning_content") == [HI, {"role": "assistant"} | told, HI]


@pytest.mark.parametrize(("format_", "role"), [("hermes", "system"), ("harmony", "developer")])
def test_every_server_that_renders_hears_of_the_developer_by_a_role_that_its_template_knows(
    format_: str, role: str
) -> None:
    """Whoever of them renders, and whichever API the client speaks."""
    told = {"role": "developer", "content": "No jokes."}
    body: Json = {"model": "m", "input": [told, {"role": "user", "content": "hi"}]}
    for kind in map(find_kind, ("vllm", "sglang", "llama.cpp")):
        plan = plan_of(kind.name, body, "responses", format=format_)
        asked = kind.rendering(plan) or kind.call(plan)
        assert asked.body["messages"] == [told | {"role": role}, HI]


ANSWER: Json = {"role": "assistant", "content": "The answer is"}


@pytest.mark.parametrize(
    ("api", "body", "param"),
    [
        ("chat", chat(HI, ANSWER), "messages"),
        ("chat", chat(HI, {"role": "assistant", "tool_calls": [CALLED]}), "messages"),
        ("responses", {"model": "m", "input": [HI, ANSWER]}, "input"),
    ],
)
@pytest.mark.parametrize("kind", RAW)
def test_a_conversation_that_ends_with_the_assistant_is_refused(kind: str, api: str, body: Json, param: str) -> None:
    """Some servers would begin another answer, others would continue this one."""
    with pytest.raises(BadAsk, match="is not continued") as refused:
        plan_of(kind, body, api)
    assert (refused.value.param, refused.value.code) == (param, "unsupported_value")


@pytest.mark.parametrize("kind", RAW)
def test_a_turn_of_the_assistant_is_continued_where_the_server_has_a_word_for_it(kind: str) -> None:
    """A client has to ask for it. Servers without the word would begin another answer."""
    asked = chat(HI, ANSWER, continue_final_message=True, add_generation_prompt=False)
    if kind not in ("vllm", "sglang"):
        with pytest.raises(BadAsk):
            plan_of(kind, asked)
        return
    body = find_kind(kind).call(plan_of(kind, asked)).body
    assert (body["messages"], body["continue_final_message"]) == ([HI, ANSWER], True)


def test_servers_that_parse_decide_about_a_last_turn_of_the_assistant() -> None:
    """They get it unchanged."""
    assert find_kind("openai").call(plan_of("openai", chat(HI, ANSWER))).body["messages"] == [HI, ANSWER]
