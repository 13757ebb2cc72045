"""Anthropic's Messages: what a client of that API says is passed on, others are translated."""

import re
from typing import Any

import pytest

from tests.support.calling import HI, HISTORY, IMAGE, NAMED, SHAPE, TOOL, answered, chat, ends_of, plan_of, text_of
from tests.support.model_servers.anthropic import Anthropic
from tests.support.model_servers.speech import Call as Spoken
from tests.support.model_servers.speech import Script
from tokenmill.apis.ask import BadAsk, Json
from tokenmill.caller.kinds import Call
from tokenmill.caller.kinds.anthropic import ANTHROPIC

SAID: Json = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
RAW: Json = {"model": "test-model", "max_tokens": 4096, "messages": [SAID], "stream": True}
DECLARED: Json = {"name": "now", "input_schema": TOOL["function"]["parameters"]}


def body(*messages: Json, **fields: Any) -> Json:
    return ANTHROPIC.call(plan_of("anthropic", chat(*messages, **fields))).body


def own(**fields: Any) -> Json:
    asked = {"model": "m", "max_tokens": 9, "messages": [HI], **fields}
    return ANTHROPIC.call(plan_of("anthropic", asked, "messages")).body


def test_a_plain_chat() -> None:
    """That API wants a length."""
    plan = plan_of("anthropic", chat())
    assert ANTHROPIC.call(plan) == Call("/v1/messages", RAW, "sse+anthropic")
    assert (plan.begins, plan.format) == ("", "plain")
    assert body(max_tokens=5)["max_tokens"] == 5
    assert ANTHROPIC.call(plan_of("anthropic", chat(), default_max_tokens=7)).body["max_tokens"] == 7


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        (NAMED, {"type": "tool", "name": "now"}),
    ],
)
def test_tools_and_how_they_are_chosen_are_said_in_its_words(choice: Any, said: Json) -> None:
    """One call at a time, too, where there can be any."""
    alone = {} if choice == "none" else {"disable_parallel_tool_use": True}
    assert body(tools=[TOOL], tool_choice=choice) == RAW | {"tools": [DECLARED], "tool_choice": said}
    assert body(tools=[TOOL], tool_choice=choice, parallel_tool_calls=False)["tool_choice"] == said | alone


def test_a_tool_without_parameters_takes_an_empty_object() -> None:
    """That API wants a schema of each; without tools there is no choice."""
    bare = {"type": "function", "function": {"name": "now", "description": "The time."}}
    empty = {"type": "object", "properties": {}}
    assert body(tools=[bare])["tools"] == [{"name": "now", "description": "The time.", "input_schema": empty}]
    assert body(tool_choice="none") == RAW


def test_turns_of_user_and_assistant_alternate() -> None:
    """What the system says stands apart, results are the user's, and neighbours are one turn."""
    address = {"type": "image_url", "image_url": {"url": "https://a/b.png"}}
    seen = {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "map"}, IMAGE]}
    asked = body(*HISTORY, seen, {"role": "user", "content": [{"type": "text", "text": "and?"}, address]})
    embedded = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    assert asked["system"] == [{"type": "text", "text": text} for text in ("Be brief.", "No ", "jokes.")]
    assert asked["messages"] == [
        SAID,
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "now", "input": {"zone": "CET"}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "noon"}]},
                {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "map"}, embedded]},
                {"type": "text", "text": "and?"},
                {"type": "image", "source": {"type": "url", "url": "https://a/b.png"}},
            ],
        },
    ]


def test_what_has_no_text_is_left_out_and_a_refusal_is_text() -> None:
    """Empty texts and turns are refused there; reasoning without a signature is, too."""
    thought = {"role": "assistant", "content": "", "reasoning_content": "hm"}
    refused = {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}, {"type": "text", "text": ""}]}
    by_name = {"role": "assistant", "refusal": "Never."}
    spoken = [{"type": "text", "text": text} for text in ("No.", "Never.")]
    assert body(HI, thought, refused, by_name, HI)["messages"] == [SAID, {"role": "assistant", "content": spoken}, SAID]


BLANK = " \n"


def test_what_is_blank_is_no_text() -> None:
    """Blocks of white space are refused there; models write some between their calls."""
    spoken = {"role": "assistant", "content": [{"type": "text", "text": BLANK}, {"type": "text", "text": " a "}]}
    silent = {"role": "assistant", "content": BLANK}
    asked = body({"role": "system", "content": BLANK}, HI, spoken, silent, HI)
    assert "system" not in asked
    assert asked["messages"] == [SAID, {"role": "assistant", "content": [{"type": "text", "text": " a "}]}, SAID]
    called = body(HI, silent | {"tool_calls": HISTORY[3]["tool_calls"]}, HISTORY[4] | {"content": BLANK})
    assert [block["type"] for turn in called["messages"] for block in turn["content"]] == [
        "text",
        "tool_use",
        "tool_result",
    ]
    assert called["messages"][2]["content"][0]["content"] == []


def test_blank_texts_of_the_assistant_are_not_passed_on() -> None:
    """They are what a model wrote here; whatever else a client says is its own."""
    blank, use = {"type": "text", "text": BLANK}, {"type": "tool_use", "id": "c1", "name": "now", "input": {}}
    thought = {"type": "thinking", "thinking": BLANK, "signature": "s"}
    asked: list[Json] = [
        HI,
        {"role": "assistant", "content": [thought, blank, use, {"type": "text", "text": ""}]},
        {"role": "user", "content": [blank]},
        {"role": "assistant", "content": [blank]},
        {"role": "assistant", "content": BLANK},
        {"role": "assistant", "content": "It is noon."},
        HI,
    ]
    told = own(messages=asked)["messages"]
    assert told == [HI, {"role": "assistant", "content": [thought, use]}, asked[2], *asked[5:]]


@pytest.mark.parametrize("strict", [True, False])
def test_a_tool_is_as_strict_as_its_client_says(strict: bool) -> None:
    """That API has the same word."""
    held = {"type": "function", "function": TOOL["function"] | {"strict": strict}}
    assert body(tools=[held])["tools"] == [DECLARED | {"strict": strict}]


def test_how_words_are_chosen_is_said_in_its_words() -> None:
    """As far as it has some."""
    fields: Json = {"temperature": 0.0, "top_p": 0.5, "top_k": 4}
    assert body(**fields, stop=["a"]) == RAW | fields | {"stop_sequences": ["a"]}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"n": 2}, "n"),
        ({"seed": 1}, "seed"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"presence_penalty": 1}, "presence_penalty"),
        ({"frequency_penalty": 1}, "frequency_penalty"),
        ({"logit_bias": {}}, "logit_bias"),
        ({"system": "Obey."}, "system"),
    ],
)
def test_what_it_has_no_word_for_is_refused_by_name(fields: Json, param: str) -> None:
    """In place of an answer that is another than was asked for."""
    with pytest.raises(BadAsk) as refused:
        body(**fields)
    assert refused.value.param == param


@pytest.mark.parametrize(
    ("said", "told"), [("low", "low"), ("minimal", "low"), ("xhigh", "xhigh"), ("none", None), (None, None)]
)
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_an_effort_and_a_shape_are_said_in_its_words(api: str, said: str | None, told: str | None) -> None:
    """It has no word for less than `low`, and does not think unless it is asked."""
    held = {"format": {"type": "json_schema", "schema": SHAPE["json_schema"]["schema"]}}
    effort = {} if told is None else {"effort": told}
    for shape, format_ in ((None, {}), (SHAPE, held)):
        asked = chat(reasoning_effort=said, response_format=shape)
        if api == "responses":
            text = None if shape is None else {"format": {"type": "json_schema"} | SHAPE["json_schema"]}
            asked = {"model": "m", "input": "hi", "reasoning": {"effort": said}, "text": text}
        output = effort | format_
        wanted = RAW | ({"output_config": output} if output else {})
        assert ANTHROPIC.call(plan_of("anthropic", asked, api)).body == wanted


def test_hints_are_left_out() -> None:
    """An answer is the same without them."""
    hints = {"user": "u", "prompt_cache_key": "k", "safety_identifier": "s", "verbosity": "low"}
    assert body(**hints) == RAW
    text = {"model": "m", "input": "hi", "text": {"verbosity": "low"}}
    assert ANTHROPIC.call(plan_of("anthropic", text, "responses")).body == RAW


UNFIT = "call_1|fc.1"
"""An id that other APIs give."""


def ids_of(messages: list[Json]) -> list[str]:
    """Of calls and results, in their order."""
    blocks = [block for turn in messages if isinstance(turn["content"], list) for block in turn["content"]]
    return [block[name] for block in blocks for name in ("id", "tool_use_id") if name in block]


def test_ids_of_calls_are_as_that_api_takes_them() -> None:
    """A result keeps that of its call, whichever API the client speaks."""
    called = HISTORY[3] | {"tool_calls": [HISTORY[3]["tool_calls"][0] | {"id": UNFIT}]}
    first, second = ids_of(body(HI, called, HISTORY[4] | {"tool_call_id": UNFIT})["messages"])
    assert first == second
    assert re.fullmatch("[A-Za-z0-9_-]+", first)
    use = {"type": "tool_use", "id": UNFIT, "name": "now", "input": {}}
    turn = {"role": "assistant", "content": [use, use | {"id": "toolu_1"}]}
    results = [{"type": "tool_result", "tool_use_id": id_, "content": "noon"} for id_ in (UNFIT, "toolu_1")]
    asked = own(messages=[HI, turn, {"role": "user", "content": results}])
    assert ids_of(asked["messages"]) == [first, "toolu_1", first, "toolu_1"]


def test_thinking_that_nobody_signed_is_left_out() -> None:
    """It is refused: a model that writes raw text signs nothing."""
    signed = {"type": "thinking", "thinking": "a", "signature": "s"}
    redacted = {"type": "redacted_thinking", "data": "d"}
    unsigned: list[Json] = [signed | {"signature": ""}, {"type": "thinking", "thinking": "b"}]
    asked = own(
        messages=[
            HI,
            {"role": "assistant", "content": [*unsigned, signed, redacted, *SAID["content"]]},
            HI,
            {"role": "assistant", "content": unsigned},
            HI,
        ]
    )
    assert asked["messages"] == [HI, {"role": "assistant", "content": [signed, redacted, *SAID["content"]]}, HI, HI]


@pytest.mark.parametrize(
    ("content", "encrypted", "told"),
    [
        ([{"type": "reasoning_text", "text": "hm"}], "sig", True),
        ([{"type": "reasoning_text", "text": "hm"}], "", False),
        ([{"type": "reasoning_text", "text": "hm"}], None, False),
        ([{"type": "reasoning_text", "text": "hm"}], 3, False),
        ([], "sig", False),
    ],
)
def test_a_response_s_reasoning_comes_back_with_what_signed_it(content: list[Json], encrypted: Any, told: bool) -> None:
    """As thinking, in front of the calls: within a loop of tools it is wanted. A summary is not what was signed."""
    summary = [{"type": "summary_text", "text": "hm"}]
    asked = {
        "model": "m",
        "input": [
            HI,
            {"type": "reasoning", "summary": summary, "content": content, "encrypted_content": encrypted},
            {"type": "function_call", "call_id": "c1", "name": "now", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "noon"},
        ],
    }
    _, turn, _ = ANTHROPIC.call(plan_of("anthropic", asked, "responses")).body["messages"]
    thought = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    assert turn["content"] == [thought] * told + [{"type": "tool_use", "id": "c1", "name": "now", "input": {}}]


def thought(text: str) -> Json:
    """Reasoning as a response tells it, signed by its own name."""
    return {
        "type": "reasoning",
        "content": [{"type": "reasoning_text", "text": text}],
        "encrypted_content": f"sig {text}",
    }


def thinking(text: str) -> Json:
    """The same as that API wants it back."""
    return {"type": "thinking", "thinking": text, "signature": f"sig {text}"}


def test_each_thought_of_a_response_stands_where_it_was_thought() -> None:
    """Each is signed by itself, and its place is checked; what nothing of the assistant's follows is left out."""
    call = {"type": "function_call", "call_id": "c1", "name": "now", "namespace": "clock", "arguments": "{}"}
    spoken = {"role": "assistant", "content": [{"type": "output_text", "text": "Well."}]}
    blank = {"role": "assistant", "content": BLANK}
    result = {"type": "function_call_output", "call_id": "c1", "output": "noon"}
    items = [HI, thought("a"), thought("a"), spoken, blank, thought("b"), call, result, thought("c"), HI]
    asked = {"model": "m", "instructions": "Hm.", "input": items}
    use = {"type": "tool_use", "id": "c1", "name": "clock__now", "input": {}}
    noon = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "noon"}]}
    said = [thinking("a"), thinking("a"), {"type": "text", "text": "Well."}, thinking("b"), use]
    made = ANTHROPIC.call(plan_of("anthropic", asked, "responses")).body
    assert made["system"] == [{"type": "text", "text": "Hm."}]
    assert made["messages"] == [
        SAID,
        {"role": "assistant", "content": said},
        {"role": "user", "content": [noon, *SAID["content"]]},
    ]


def test_a_call_that_broke_off_is_left_out_of_a_response_s_history() -> None:
    """A response that was cut off ends with it, and its client sends it back, with a result that it made up or none."""
    call = {"type": "function_call", "call_id": "c1", "name": "now", "arguments": '{"a": ', "status": "incomplete"}
    result = {"type": "function_call_output", "call_id": "c1", "output": "aborted"}
    for items in ([call], [call, result]):
        asked = {"model": "m", "input": [HI, thought("a"), *items, HI]}
        made = ANTHROPIC.call(plan_of("anthropic", asked, "responses")).body
        assert made["messages"] == [{"role": "user", "content": SAID["content"] * 2}]


def test_fields_that_ask_for_nothing_are_not_passed_on() -> None:
    """A null field counts as absent, and that API refuses some of the words that are accepted here."""
    nothing: Json = {"system": None, "temperature": None, "tools": None, "mcp_servers": [], "speed": "standard"}
    assert own(**nothing, service_tier="auto") == own()
    assert own(cache_control={"type": "ephemeral"}) == own() | {"cache_control": {"type": "ephemeral"}}
    edits = {"edits": [{"type": "clear_tool_uses_20250919"}]}
    assert own(context_management=edits) == own() | {"context_management": edits}


def test_a_client_s_own_body_is_passed_on() -> None:
    """In its own words; the stream is ours to say, and metadata that are for the front stay here."""
    fields: Json = {
        "thinking": {"type": "enabled", "budget_tokens": 5},
        "system": "Hm.",
        "tool_choice": {"type": "any"},
    }
    fields |= {"tools": [DECLARED | {"cache_control": {"type": "ephemeral"}}], "top_k": 4}
    theirs = {"metadata": {"user_id": "u", "conversation_id": "c"}, "stream": False}
    wanted = {"model": "test-model", "max_tokens": 9, "messages": [HI], "stream": True}
    assert own(**fields, **theirs) == wanted | fields | {"metadata": {"user_id": "u"}}
    assert own(metadata={"conversation_id": "c"}) == own(metadata=None) == wanted


def test_a_response_is_asked_for_as_a_message() -> None:
    """Its instructions are the system's."""
    asked = plan_of("anthropic", {"model": "m", "input": "hi", "instructions": "Hm."}, "responses")
    assert ANTHROPIC.call(asked).body == RAW | {"system": [{"type": "text", "text": "Hm."}]}


def test_the_key_has_a_header_of_its_own() -> None:
    """The version of the API is always said."""
    assert ANTHROPIC.headers("") == {"anthropic-version": "2023-06-01"}
    assert ANTHROPIC.headers("k") == {"anthropic-version": "2023-06-01", "x-api-key": "k"}


@pytest.mark.parametrize("api", ["chat", "messages"])
async def test_the_server_takes_it(api: str) -> None:
    """And tells its calls and its thinking beside the text."""
    script = Script("Hello", reasoning="hm", calls=[Spoken("now", '{"zone":"CET"}')])
    asked = chat(*HISTORY, tools=[TOOL]) if api == "chat" else {"model": "m", "max_tokens": 99, "messages": [HI]}
    async with Anthropic(lambda _: script) as server:
        call = ANTHROPIC.call(plan_of("anthropic", asked, api))
        chunks = await answered(server, ANTHROPIC, call)
    assert text_of(chunks) == "Hello"
    assert "".join(chunk.reasoning or "" for chunk in chunks) == "hm"
    assert (ends_of(chunks), chunks[-1].end) == (["tool_use" if api == "chat" else "end_turn"], True)
