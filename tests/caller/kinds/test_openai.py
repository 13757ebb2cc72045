"""Servers with OpenAI's chat completions: what a client of that API says is passed on, others are translated."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.calling import (
    CALLED,
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
from tests.support.model_servers.openai_like import OpenAiLike
from tests.support.model_servers.speech import Call as Spoken
from tests.support.model_servers.speech import Script
from tokenmill.apis import Field
from tokenmill.apis.ask import Json
from tokenmill.apis.chat import CHAT
from tokenmill.caller.kinds import Call
from tokenmill.caller.kinds.openai import OPENAI

RAW: Json = {"model": "test-model", "messages": [HI], "stream": True, "stream_options": {"include_usage": True}}


def body(**fields: Any) -> Json:
    return OPENAI.call(plan_of("openai", chat(**fields))).body


def responses(**fields: Any) -> Json:
    return OPENAI.call(plan_of("openai", {"model": "m", "input": "hi", **fields}, "responses")).body


def test_a_plain_chat() -> None:
    """A stream with counts; there is nothing to begin or to stop by a name."""
    plan = plan_of("openai", chat())
    assert OPENAI.call(plan) == Call("/v1/chat/completions", RAW, "sse+openai")
    assert (plan.begins, plan.format) == ("", "plain")


@pytest.mark.parametrize("choice", ["auto", "none", "required", NAMED])
def test_a_client_s_own_body_is_passed_on(choice: Any) -> None:
    """In its own words, also those that nobody knows here; a call is the server's to force."""
    fields: Json = {"tools": [TOOL, OTHER], "tool_choice": choice, "parallel_tool_calls": False, "n": 2, "stop": "a"}
    fields |= {"max_completion_tokens": 9, "response_format": SHAPE, "reasoning_effort": "none", "verbosity": "low"}
    fields |= {"messages": [*HISTORY, {"role": "user", "content": [IMAGE]}], "novel": {"a": None}}
    length = {"max_completion_tokens": fields.pop("max_completion_tokens")}
    assert body(**fields, **length) == RAW | fields | {"max_tokens": 9}


PATCH: Json = {"type": "custom", "custom": {"name": "patch"}}


@pytest.mark.parametrize(
    ("choice", "names", "told"),
    [
        ("auto", ["now", "patch"], {}),
        ("none", ["now", "patch"], {"tool_choice": "none"}),
        (PATCH, ["now", "patch"], {"tool_choice": {"type": "function", "function": {"name": "patch"}}}),
        ({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [PATCH]}}, ["patch"], {}),
        ({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [TOOL]}}, ["now"], {}),
    ],
)
def test_a_tool_that_takes_a_text_is_a_function_to_the_server(choice: Any, names: list[str], told: Json) -> None:
    """Also in a client's own body: few servers know such tools, and their calls are read as those of functions."""
    found = body(tools=[TOOL, PATCH], tool_choice=choice, parallel_tool_calls=False, seed=1)
    tools = found.pop("tools")
    assert [(tool["type"], tool["function"]["name"]) for tool in tools] == [("function", name) for name in names]
    assert found == RAW | {"parallel_tool_calls": False, "seed": 1} | told


TEXT: list[Json] = [{"type": "text", "text": "It is noon."}]
AZURE = "https://eu.openai.azure.com/openai"


@pytest.mark.parametrize(
    ("urls", "field", "name"),
    [
        (["http://10.0.0.7:11434"], "", "max_tokens"),
        (["https://api.mistral.ai"], "", "max_tokens"),
        (["https://api.openai.com.example.org"], "", "max_tokens"),
        (["https://myopenai.azure.com"], "", "max_tokens"),
        (["https://api.openai.com"], "", "max_completion_tokens"),
        (["https://eu.api.openai.com", AZURE], "", "max_completion_tokens"),
        ([AZURE, "http://10.0.0.7"], "", "max_tokens"),
        (["http://proxy"], "max_completion_tokens", "max_completion_tokens"),
        (["https://api.openai.com"], "max_tokens", "max_tokens"),
    ],
)
@pytest.mark.parametrize(
    ("api", "said"),
    [
        ("chat", chat(max_tokens=9)),
        ("chat", chat(max_completion_tokens=9)),
        ("chat", chat(max_completion_tokens=9, max_tokens=8)),
        ("responses", {"model": "m", "input": "hi", "max_output_tokens": 9}),
        ("messages", {"model": "m", "messages": [HI], "max_tokens": 9}),
    ],
)
def test_the_server_hears_how_long_an_answer_may_be_by_the_name_that_it_knows(
    api: str, said: Json, urls: list[str], field: str, name: str
) -> None:
    """Whatever the client calls it. OpenAI's models refuse one name, others pass over the other: then nothing ends."""
    plan = plan_of("openai", said, api, urls=urls, length_field=field)
    assert OPENAI.call(plan).body == RAW | {name: 9}


SAID: Json = {"role": "assistant", "content": "It is noon."}
THOUGHT = "Which zone?"
LONE: Json = {"role": "assistant", "content": None, "reasoning_content": THOUGHT}
HISTORIES: Mapping[str, Json] = {
    "chat": chat(HI, SAID | {"reasoning_content": THOUGHT}, HI),
    "responses": {
        "model": "m",
        "input": [
            HI,
            {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": THOUGHT}]},
            SAID,
            HI,
        ],
    },
    "messages": {
        "model": "m",
        "max_tokens": 9,
        "messages": [
            HI,
            {"role": "assistant", "content": [{"type": "thinking", "thinking": THOUGHT, "signature": ""}, *TEXT]},
            HI,
        ],
    },
}
"""What was thought is part of the turn before, in each API."""


@pytest.mark.parametrize("api", HISTORIES)
@pytest.mark.parametrize(
    ("urls", "field", "told"),
    [
        (["http://10.0.0.7:8000"], "", {"reasoning_content": THOUGHT}),
        (["https://api.deepseek.com"], "", {"reasoning_content": THOUGHT}),
        (["https://api.openai.com"], "", {}),
        ([AZURE], "", {}),
        (["https://api.groq.com/openai"], "", {}),
        (["https://api.mistral.ai"], "", {}),
        (["http://10.0.0.7:8000", "https://api.mistral.ai"], "", {}),
        (["https://api.mistral.ai.example.org"], "", {"reasoning_content": THOUGHT}),
        (["https://api.groq.com/openai"], "reasoning", {"reasoning": THOUGHT}),
        (["https://api.groq.com/openai"], "reasoning_content", {"reasoning_content": THOUGHT}),
        (["http://10.0.0.7:8000"], "none", {}),
    ],
)
def test_the_server_hears_what_was_thought_by_the_name_that_it_takes(
    api: str, urls: list[str], field: str, told: Json
) -> None:
    """Some want it back within a loop of tools, others refuse each turn behind a thought."""
    plan = plan_of("openai", HISTORIES[api], api, urls=urls, reasoning_field=field)
    assert OPENAI.call(plan).body["messages"] == [HI, SAID | told, HI]


def test_a_chat_s_own_word_for_what_was_thought_stays_unless_the_server_has_another() -> None:
    """One of both names, and only in what the assistant said; a turn of thoughts alone has nothing left."""
    lone, silent = LONE | {"content": ""}, {"role": "assistant", "content": ""}
    messages = [HI | {"reasoning": "mine"}, SAID | {"reasoning": THOUGHT}, lone, silent]

    def told(field: str) -> list[Json]:
        plan = plan_of("openai", chat(*messages), reasoning_field=field)
        return list(OPENAI.call(plan).body["messages"])

    assert told("") == messages
    assert told("none") == [messages[0], SAID, messages[3]]
    assert told("reasoning_content") == [messages[0], SAID | {"reasoning_content": THOUGHT}, *messages[2:]]


@pytest.mark.parametrize(
    ("own", "told"),
    [
        (SAID | {"tool_calls": [], "refusal": None, "audio": None}, SAID),
        (SAID | {"tool_calls": None, "novel": 7}, SAID | {"novel": 7}),
        (SAID | {"content": None, "tool_calls": []}, SAID | {"content": ""}),
        (SAID | {"content": None, "tool_calls": [CALLED]}, SAID | {"content": None, "tool_calls": [CALLED]}),
        (HISTORY[3], HISTORY[3]),
    ],
)
def test_a_turn_says_nothing_of_what_it_lacks(own: Json, told: Json) -> None:
    """SDKs send an answer back with all its members. OpenAI refuses an empty list of calls, others null members."""
    assert body(messages=[HI, own, HI])["messages"] == [HI, told, HI]


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize(
    ("settings", "short"),
    [
        ({"urls": ["https://api.mistral.ai"]}, True),
        ({"format": "mistral_args"}, True),
        ({"urls": ["https://eu.mistral.ai.example.org"]}, False),
    ],
)
def test_mistral_s_own_server_gets_ids_of_calls_of_nine_characters(
    settings: dict[str, Any], short: bool, api: str
) -> None:
    """It refuses others, as the templates of Mistral's models do; what is said elsewhere stays."""
    made = "call_0123456789abcdef01234567"
    called = HISTORY[3] | {"tool_calls": [HISTORY[3]["tool_calls"][0] | {"id": made}]}
    asked = chat(HI, called, HISTORY[4] | {"tool_call_id": made})
    if api == "responses":
        call = {"type": "function_call", "call_id": made, "name": "now", "arguments": "{}"}
        asked = {"model": "m", "input": [HI, call, {"type": "function_call_output", "call_id": made, "output": "noon"}]}
    _, turn, result = OPENAI.call(plan_of("openai", asked, api, **settings)).body["messages"]
    (told,) = turn["tool_calls"]
    assert told["id"] == result["tool_call_id"]
    assert (len(told["id"]) == 9) is short is (told["id"] != made)


def test_images_of_results_are_the_user_s_where_a_result_is_text() -> None:
    """OpenAI's API takes text alone of a tool; they follow the results of the turn, which stand together."""
    calls = [CALLED, CALLED | {"id": "c2"}, CALLED | {"id": "c3"}]
    results: list[Json] = [
        {"role": "tool", "tool_call_id": "c1", "content": [IMAGE]},
        {"role": "tool", "tool_call_id": "c2", "content": "noon"},
        {"role": "tool", "tool_call_id": "c3", "content": [{"type": "text", "text": "a map"}, IMAGE, IMAGE]},
    ]
    asked = [HI, {"role": "assistant", "content": None, "tool_calls": calls}, *results, HI]
    told = OPENAI.call(plan_of("openai", chat(*asked), urls=["https://api.openai.com"])).body["messages"]
    shown = "[its images are in the next message of the user]"
    assert told == [
        *asked[:2],
        results[0] | {"content": shown},
        results[1],
        results[2] | {"content": f"a map\n{shown}"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Images of the result of c1:"},
                IMAGE,
                {"type": "text", "text": "Images of the result of c3:"},
                IMAGE,
                IMAGE,
            ],
        },
        HI,
    ]
    assert OPENAI.call(plan_of("openai", chat(*asked))).body["messages"] == asked


def test_who_may_write_as_long_as_they_like_is_told_of_no_end() -> None:
    """By neither name."""
    assert body(max_tokens=None) == RAW


@pytest.mark.parametrize("thinking", [{"type": "disabled"}, {"type": "adaptive"}])
def test_a_server_of_any_make_is_told_nothing_of_thinking(thinking: Json) -> None:
    """There is no word that all know: one that refuses an effort of `none` would name what no client sent."""
    asked = {"model": "m", "max_tokens": 9, "messages": [HI], "thinking": thinking}
    assert OPENAI.call(plan_of("openai", asked, "messages")).body == RAW | {"max_tokens": 9}


def test_our_fields_go_before_the_client_s() -> None:
    """The stream and its counts, and what is for the front alone."""
    theirs: Json = {"stream": False, "store": True, "metadata": {"conversation_id": "c"}}
    assert body(**theirs, stream_options={"include_usage": False, "include_obfuscation": False}) == RAW


@pytest.mark.parametrize("row", [row for row in CHAT.fields.rows if row.accepts], ids=lambda row: row.name)
def test_what_asks_for_nothing_is_not_passed_on(row: Field) -> None:
    """SDKs send such fields unasked, and not every server knows or takes them."""
    for value in (None, *row.accepts):
        assert body(**{row.name: value}) == RAW


def test_what_is_null_is_not_passed_on() -> None:
    """Some servers refuse it; inside of a field it may say something."""
    nothing = dict.fromkeys(("tools", "stop", "seed", "response_format", "user", "novel"))
    assert body(**nothing, logit_bias={"a": None}) == RAW | {"logit_bias": {"a": None}}


def test_how_prompts_are_cached_is_the_server_s_to_know() -> None:
    """OpenAI's own has words for it, which mean nothing to the front."""
    caching: Json = {"prompt_cache_key": "k", "prompt_cache_retention": "24h", "prompt_cache_options": {"mode": "x"}}
    assert body(**caching) == RAW | caching


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ("auto", {}),
        ("none", {"tool_choice": "none"}),
        ("required", {"tool_choice": "required"}),
        ({"type": "function", "name": "now"}, {"tool_choice": NAMED}),
    ],
)
def test_a_response_is_asked_for_as_a_chat(choice: Any, said: Json) -> None:
    """With all tools, whatever the choice."""
    tools = [tool["function"] | {"type": "function"} for tool in (TOOL, OTHER)]
    asked = responses(tools=tools, tool_choice=choice, parallel_tool_calls=False, instructions="Hm.", seed=None)
    system = {"role": "system", "content": "Hm."}
    wanted = RAW | {"messages": [system, HI], "tools": [TOOL, OTHER], "parallel_tool_calls": False} | said
    assert asked == wanted


@pytest.mark.parametrize("tools", [{}, {"tools": None}, {"tools": []}])
def test_who_has_no_tools_says_nothing_of_how_they_are_called(tools: Json) -> None:
    """OpenAI's chats refuse both words then, and its Responses take them. A chat's own words are passed on."""
    said: Json = {"parallel_tool_calls": False, "tool_choice": "none"} | tools
    assert responses(**said) == RAW
    assert body(**said) == RAW | {name: value for name, value in said.items() if value is not None}


def test_a_message_is_asked_for_as_a_chat() -> None:
    """With the words that chats have for it."""
    asked = {"model": "m", "max_tokens": 9, "messages": [HI], "stop_sequences": ["a"], "temperature": 0.5, "top_k": 3}
    said = {"max_tokens": 9, "stop": ["a"], "temperature": 0.5, "top_k": 3}
    assert OPENAI.call(plan_of("openai", asked, "messages")).body == RAW | said


@pytest.mark.parametrize(("url", "joined"), [("http://10.0.0.7:8000", True), ("https://api.openai.com", False)])
def test_instructions_of_other_apis_stand_where_templates_allow_them(url: str, *, joined: bool) -> None:
    """Qwen's refuse another system message; OpenAI's own models know several, in any place, and the developer."""
    hm, developer = {"role": "system", "content": "Hm."}, {"role": "developer", "content": "No jokes."}
    spoken = {"model": "m", "instructions": "Hm.", "input": [developer, HI, developer]}
    plan = plan_of("openai", spoken, "responses", urls=[url])
    first = {"role": "system", "content": "Hm.\n\nNo jokes."}
    wanted = [first, {"role": "user", "content": "hi\n\nNo jokes."}] if joined else [hm, developer, HI, developer]
    assert OPENAI.call(plan).body["messages"] == wanted
    assert body(messages=[hm, developer, HI, developer])["messages"] == [hm, developer, HI, developer]


def test_a_shape_and_an_effort_of_a_response_are_said_as_in_chats() -> None:
    """A choice among no tools is not said."""
    shape = {"format": {"type": "json_schema", **SHAPE["json_schema"]}}
    asked = responses(text=shape, reasoning={"effort": "high"}, tool_choice="none", tools=[])
    assert asked == RAW | {"response_format": SHAPE, "reasoning_effort": "high"}


def test_the_key_is_a_bearer_s() -> None:
    """Without a key there is no header."""
    assert (OPENAI.headers("k"), OPENAI.headers("")) == ({"authorization": "Bearer k"}, {})


@pytest.mark.parametrize("choice", ["auto", "none", "required", NAMED])
async def test_the_server_takes_it(choice: Any) -> None:
    """And what it has parsed itself comes as calls."""
    async with OpenAiLike(lambda _: Script("Hello", calls=[Spoken("now", '{"zone":"CET"}')])) as server:
        call = OPENAI.call(plan_of("openai", chat(*HISTORY, tools=[TOOL], tool_choice=choice)))
        chunks = await answered(server, OPENAI, call)
    calls = "".join(call["function"].get("arguments", "") for chunk in chunks for call in chunk.tool_calls or ())
    assert (text_of(chunks), bool(chunks[-1].end)) == ("Hello", True)
    expected = ("", ["stop"]) if choice == "none" else ('{"zone":"CET"}', ["tool_calls"])
    assert (calls, ends_of(chunks)) == expected
