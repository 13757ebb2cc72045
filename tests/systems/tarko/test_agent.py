"""Dialect `agent`: what its page and its agent read."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import pytest

from tests.support.answered import ERROR, SHOWN, answered, results_in
from tests.support.scenarios import MESSAGE, SCENARIOS, STARTED_MS, WEATHER, Scenario, rendered
from tokenmill.dialects import Envelope
from tokenmill.events import Finish, ToolCall
from tokenmill.limits import Limits
from tokenmill.parser.compile.grammar import DESCRIBED_BYTES
from tokenmill.systems.tarko.agent import AGENT, COMPLETE_CALL, MADE, STREAMED_CALL, STREAMED_TEXT, TOOL_CALL, Rows
from tokenmill.systems.tarko.agent_state import GATHERED_BYTES, WAITING_CHARS, AgentState


def rows_of_one_event(message: str = "m", choice: int = 0, first: int = 5 << 16) -> Rows:
    """Those of one event."""
    return Rows(AgentState(), Envelope("c", message, choice, 0), first, 7)


def test_a_row_is_an_object_with_what_is_its_own() -> None:
    """Whatever stands in the message's id, signs of templates too."""
    made = rows_of_one_event('%b%d"\\é')
    made.add(STREAMED_TEXT, b'"100%b"')
    made.add_object(TOOL_CALL, name="f", arguments={"a": "%d"})
    text, call = (json.loads(payload) for payload in made.payloads)
    assert (text["type"], text["content"], text["isComplete"]) == ("assistant_streaming_message", "100%b", False)
    assert (call["type"], call["name"], call["arguments"]) == ("tool_call", "f", {"a": "%d"})
    assert {row["messageId"] for row in (text, call)} == {'%b%d"\\é'}
    assert {row["timestamp"] for row in (text, call)} == {7}


def test_rows_of_one_type_may_differ_in_more() -> None:
    """Each kind has its own template, also where its type is another's."""
    made = rows_of_one_event()
    made.add(STREAMED_CALL, b'"arguments":"a"')
    made.add(COMPLETE_CALL, b'"arguments":')
    streamed, complete = (json.loads(payload) for payload in made.payloads)
    assert streamed["type"] == complete["type"]
    assert [(row["arguments"], row["isComplete"]) for row in (streamed, complete)] == [("a", False), ("", True)]


def test_ids_count_events_and_their_rows() -> None:
    """The last twelve digits; the others are those of the message and choice."""
    ids = []
    for made in (
        rows_of_one_event(),
        rows_of_one_event(first=MADE << 16),
        rows_of_one_event(choice=1),
        rows_of_one_event("other"),
    ):
        made.add(STREAMED_TEXT, b'""')
        made.add(STREAMED_TEXT, b'""')
        ids.append([UUID(json.loads(payload)["id"]) for payload in made.payloads])
    assert [str(one)[-12:] for one in ids[0] + ids[1]] == [
        "000000050000",
        "000000050001",
        "000008000000",
        "000008000001",
    ]
    assert len({str(one)[:-12] for several in ids for one in several}) == 3
    assert {one.version for several in ids for one in several} == {8}


STREAMING_CALL = STREAMED_CALL.type.decode()
ON = {"stream_tool_input": True}
TOLD = ("toolCallId", "toolName", "arguments", "isComplete")
GIVEN = {"name": "get_weather", "description": "", "schema": WEATHER["function"]["parameters"]}  # type: ignore[index] # -- as written


def rows(scenario: Scenario, **options: Any) -> list[dict[str, Any]]:
    """Every row of a scenario."""
    return [json.loads(payload) for payload in rendered(scenario, "agent", **options).payloads]


def of(kind: str, every: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The rows of one type."""
    return [row for row in every if row["type"] == kind]


def calls(every: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """What was streamed of calls, without their ids."""
    return [tuple(row[field] for field in TOLD[1:]) for row in of(STREAMING_CALL, every)]


def native(*deltas: Mapping[str, Any], reason: str | None = "tool_calls") -> Scenario:
    """A message of a provider's own tool stream."""
    end = {"finish_reason": reason} if reason else {"end": True}
    return Scenario([*({"tool_calls": [delta]} for delta in deltas), end], {"format": "plain"})


def test_the_worked_example_of_the_source() -> None:
    """Name and first piece, the arguments as they come, then one row that says that the call is complete."""
    pieces = ["location", '":"', "Boston", '"}']
    first = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "getWeather", "arguments": '{"'}}
    scenario = native(first, *({"index": 0, "function": {"arguments": piece}} for piece in pieces))
    every = rows(scenario, **ON)
    assert [row["arguments"] for row in of(STREAMING_CALL, every)] == ["", '{"', *pieces, ""]
    assert {row["toolCallId"] for row in of(STREAMING_CALL, every)} == {"call_1"}
    assert calls(every)[-1] == ("getWeather", "", True)
    assert [row["isComplete"] for row in of(STREAMING_CALL, every)] == [False] * 6 + [True]
    assert {row["messageId"] for row in every} == {MESSAGE}


def test_arguments_may_hold_what_has_no_bytes() -> None:
    """Half a surrogate pair, a number beyond 64 bits: the last rows say them as the call has them."""
    arguments = {"a": "\ud83d", "n": 123456789012345678901234567890}
    state, envelope = AGENT.state_type(), Envelope("c", "m", 0, 0)
    AGENT.encode(state, envelope, ToolCall("k", "f", arguments), 0, 0)
    payloads = AGENT.encode(state, envelope, Finish("tool-calls"), 1, 0)
    (row,) = of("tool_call", [json.loads(payload) for payload in payloads])
    assert row["arguments"] == arguments


def test_calls_are_streamed_only_where_the_message_asks() -> None:
    """Another output may stream them: not even then. All else is the same."""
    scenario = SCENARIOS["reasoning, text and a call"]
    off, on = rows(scenario), rows(scenario, **ON)
    assert of(STREAMING_CALL, off) == []
    kept = ("type", "content", "toolCalls", "arguments", "finishReason")

    def told(every: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
        return [[row.get(field) for field in kept] for row in every if row["type"] != STREAMING_CALL]

    assert told(off) == told(on)


def test_reasoning_is_said_again_when_something_else_comes() -> None:
    """Once, whole, with the time it took."""
    every = rows(SCENARIOS["reasoning, text and a call"])
    kinds = [row["type"].removeprefix("assistant_") for row in every]
    assert kinds[:4] == ["streaming_thinking_message"] * 2 + ["thinking_message", "streaming_message"]
    (thought,) = of("assistant_thinking_message", every)
    assert (thought["content"], thought["isComplete"], thought["thinkingDurationMs"]) == ("Hmm.", True, 2)


@pytest.mark.parametrize(("reason", "whole"), [("length", 1), ("tool_calls", 1), ("stop", 0), (None, 0)])
def test_reasoning_at_the_very_end(reason: str | None, whole: int) -> None:
    """It is said again where the provider said that it was over; a plain stop may be a stream that just stopped."""
    end = {"finish_reason": reason} if reason else {"end": True}
    every = rows(Scenario([{"reasoning": "Hm"}, end], {"format": "plain"}))
    assert len(of("assistant_thinking_message", every)) == whole


def test_the_whole_message_comes_at_its_end_and_then_its_calls() -> None:
    """In the shapes of the source; `tool` is what the message declared."""
    every = rows(SCENARIOS["two calls with text around"])
    message, first, second = every[-3:]
    assert [row["type"] for row in (message, first, second)] == ["assistant_message", "tool_call", "tool_call"]
    assert (message["content"], message["rawContent"], message["finishReason"]) == ("abc", "", "tool_calls")
    arguments = {"city": 'Zürich "🌧"', "days": 3}
    assert [json.loads(call["function"]["arguments"]) for call in message["toolCalls"]] == [arguments, arguments]
    assert [call["id"] for call in message["toolCalls"]] == [first["toolCallId"], second["toolCallId"]]
    assert (first["name"], first["arguments"], first["tool"]) == ("get_weather", arguments, GIVEN)
    assert first["startTime"] == STARTED_MS + 1


def test_an_unknown_tool_is_said_to_be_one() -> None:
    """The agent answers the model that there is no such tool."""
    (call,) = of("tool_call", rows(SCENARIOS["an unknown tool"]))
    assert call["tool"] == {"name": "rm", "description": "Unknown tool", "schema": {}}
    (call,) = of("tool_call", rows(SCENARIOS["a call without arguments"]))
    assert call["tool"] == {"name": "now", "description": "", "schema": {}}


def test_nothing_has_no_message() -> None:
    """Neither text nor a call."""
    assert rows(SCENARIOS["nothing"]) == []


@pytest.mark.parametrize("name", ["cancelled inside a call", "cancelled inside reasoning"])
def test_a_cancelled_message_has_no_last_rows(name: str) -> None:
    """The agent's run is over."""
    every = rows(SCENARIOS[name], **ON)
    assert of("assistant_message", every) == of("tool_call", every) == []


@pytest.mark.parametrize("name", ["a broken call", "an unfinished call", "timed out inside a call"])
def test_a_call_that_fails_is_never_complete(name: str) -> None:
    """An error row says which and why; its text is content, but for one that was cut off with the answer."""
    done = rendered(SCENARIOS[name], "agent", **ON)
    every = [json.loads(payload) for payload in done.payloads]
    (error,) = of("error", every)
    assert error["toolCallId"] in {row["toolCallId"] for row in of(STREAMING_CALL, every)}
    assert not any(row["isComplete"] for row in of(STREAMING_CALL, every))
    assert of("tool_call", every) == []
    assert of("assistant_message", every)[0]["content"] == done.shown


# Calls of a provider's own tool stream

A, B = ({"index": n, "id": f"c{n}", "function": {"name": name}} for n, name in enumerate("ab"))


def more(index: int, arguments: str) -> dict[str, Any]:
    """More arguments."""
    return {"index": index, "function": {"arguments": arguments}}


def test_calls_side_by_side_are_complete_together_at_the_end() -> None:
    """In their order, when the provider has finished for them."""
    every = rows(native(A, B, more(0, "{}"), more(1, '{"z":1}')), **ON)
    assert calls(every) == [
        ("a", "", False),
        ("b", "", False),
        ("a", "{}", False),
        ("b", '{"z":1}', False),
        ("a", "", True),
        ("b", "", True),
    ]


@pytest.mark.parametrize(
    ("reason", "complete", "said"),
    [
        ("tool_calls", True, "tool_calls"),
        ("function_call", True, "function_call"),
        ("stop", False, "stop"),
        ("length", False, "length"),
        (None, False, "tool_calls"),
    ],
)
def test_they_are_complete_only_if_the_provider_says_so(reason: str | None, complete: bool, said: str) -> None:
    """The whole message has the calls in any case, and the provider's own reason."""
    every = rows(native(A, more(0, "{}"), reason=reason), **ON)
    assert any(row["isComplete"] for row in of(STREAMING_CALL, every)) is complete
    (message,) = of("assistant_message", every)
    assert (message["finishReason"], len(message["toolCalls"])) == (said, 1)


def test_calls_in_text_are_complete_with_their_source() -> None:
    """Whatever the provider says at the end; the reason becomes the calls."""
    every = rows(SCENARIOS["two calls with text around"], **ON)
    completed = [number for number, row in enumerate(every) if row.get("isComplete")]
    assert every[completed[0] + 1]["type"] == "assistant_streaming_message"
    assert of("assistant_message", every)[0]["finishReason"] == "tool_calls"


# Size


@pytest.mark.parametrize("least", [0, 1, 5, 1000])
def test_pieces_of_arguments_wait_until_they_have_a_size(least: int) -> None:
    """By size alone; at its end the rest of a call is sent."""
    source = '{"city":"Oslo and Rome"}'
    every = rows(native(A, *(more(0, sign) for sign in source)), **ON, min_delta_chars=least)
    deltas = [arguments for _, arguments, _ in calls(every) if arguments]
    assert "".join(deltas) == source
    assert all(len(delta) == max(1, least) for delta in deltas[:-1])
    assert rows(native(A, *(more(0, sign) for sign in source)), **ON, min_delta_chars=least) == every


def test_nothing_waits_above_a_cap() -> None:
    """Whatever the message asks for."""
    source = json.dumps({"a": "x" * 2 * WAITING_CHARS})
    every = rows(
        native(A, more(0, source[:WAITING_CHARS]), more(0, source[WAITING_CHARS:])), **ON, min_delta_chars=10**9
    )
    deltas = [arguments for _, arguments, _ in calls(every) if arguments]
    assert [len(delta) for delta in deltas] == [WAITING_CHARS, len(source) - WAITING_CHARS]


def test_an_answer_that_does_not_fit_is_cut_and_says_so() -> None:
    """The rows before it had all of it."""
    long = "x" * (GATHERED_BYTES // 4)
    every = rows(Scenario([*({"delta": long} for _ in range(5)), {"finish_reason": "stop"}], {"format": "plain"}))
    (message,) = of("assistant_message", every)
    assert message["truncated"] is True
    assert set(message["content"]) == {"x"}
    assert GATHERED_BYTES // 2 < len(message["content"]) <= GATHERED_BYTES
    streamed = of("assistant_streaming_message", every)
    assert sum(len(row["content"]) for row in streamed) == 5 * len(long)


def test_calls_that_do_not_fit_are_told_at_once() -> None:
    """The agent gets each of them once, whole."""
    big = json.dumps({"a": "x" * 200_000})
    deltas = [{"index": n, "id": f"c{n}", "function": {"name": "f", "arguments": big}} for n in range(4)]
    every = rows(native(*deltas))
    assert [row["toolCallId"] for row in of("tool_call", every)] == ["c1", "c2", "c3", "c0"]
    (message,) = of("assistant_message", every)
    assert ([call["id"] for call in message["toolCalls"]], message["truncated"]) == (["c0"], True)


def test_last_rows_that_are_too_large_are_written_without_the_content() -> None:
    """Where records are smaller than usual, the calls still come."""
    limits = Limits(output_bytes=40_000, delta_chars=1000, call_chars=10_000)
    call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    scenario = Scenario([{"delta": "x" * 50_000 + call}, {"finish_reason": "stop"}], {"format": "hermes"}, limits)
    every = rows(scenario)
    (message,) = of("assistant_message", every)
    assert (message["content"], message["truncated"]) == ("", True)
    assert len(of("tool_call", every)) == 1


def test_a_tool_with_a_huge_schema_does_not_crowd_out_its_call() -> None:
    """The page knows its name; the agent its arguments."""
    schema = {"type": "object", "properties": {"a": {"enum": [f"{n:064}" for n in range(DESCRIBED_BYTES // 64)]}}}
    tools = [{"type": "function", "function": {"name": "f", "description": "d", "parameters": schema}}]
    call = '<tool_call>{"name": "f", "arguments": {"a": "x"}}</tool_call>'
    every = rows(Scenario([{"delta": call, "finish_reason": "stop"}], {"format": "hermes", "tools": tools}))
    (row,) = of("tool_call", every)
    assert row["tool"] == {"name": "f", "description": "", "schema": {}}


# Ids and times


def test_ids_and_times_are_those_of_the_log() -> None:
    """Every row has an id of its own in the form of a UUID, the same in every run; times are the records' own."""
    scenario = SCENARIOS["two calls with text around"]
    every = rows(scenario, **ON)
    ids = [UUID(row["id"]) for row in every]
    assert len(set(ids)) == len(every)
    assert every == rows(scenario, **ON)
    assert {row["timestamp"] for row in every} <= {STARTED_MS + n for n in range(len(scenario.chunks))}


def test_choices_are_messages_of_their_own() -> None:
    """They share the producer's id."""
    shown = []
    for choice in (0, 2):
        envelope = Envelope("c", "m", choice, STARTED_MS)
        state = AGENT.state_type()
        state.answer.add("a", 3)
        shown += [json.loads(row) for row in AGENT.encode(state, envelope, Finish("stop"), 0, STARTED_MS)]
    assert [row["messageId"] for row in shown] == ["m", "m/2"]
    assert shown[0]["id"] != shown[1]["id"]


@pytest.mark.parametrize("late", [False, True])
def test_what_a_tool_answered_is_a_row(late: bool) -> None:
    """Wherever it comes; an error is shown as one, and said."""
    payloads, (good, bad) = answered("agent", late=late)
    told = ("toolCallId", "name", "content", "elapsedMs", "error")
    assert [tuple(row.get(field) for field in told) for row in results_in(payloads, "tool_result")] == [
        (good, "clock", SHOWN, 7, None),
        (bad, "fail", f"Error: {ERROR}", 8, ERROR),
    ]
    rows = [json.loads(payload) for payload in payloads]
    assert len({row["id"] for row in rows}) == len(rows)
