"""From events to output records."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from tests.partition.logs import events, log, run
from tests.support.parsing import text_of
from tests.support.restoring import restore
from tokenmill.dialects import DIALECTS, Envelope, dialect, native
from tokenmill.events import ErrorCode, Event
from tokenmill.limits import KIB, Limits
from tokenmill.partition import OutputSpec, Partition, PartitionSettings, outputs, settings
from tokenmill.records import Output

CALL = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
OPEN = {"message_id": "m", "open": {"format": "hermes"}}
CALLS = OutputSpec("tool-calls", events=frozenset({"tool-call", "finish"}), for_runners=True)
SMALL = Limits(output_bytes=8 * KIB, delta_chars=100)


def output(
    *chunks: dict[str, Any], specs: Sequence[OutputSpec] = (OutputSpec("events"),), **changes: Any
) -> list[Output]:
    """What comes out of these chunks."""
    state = Partition(PartitionSettings(outputs=tuple(specs), **changes), "tokens", 3)
    return run(state, log(*chunks))


def test_every_record_says_what_it_is_a_part_of() -> None:
    """So that repeats can be dropped in any dialect; the first choice, and the only part of an event, are not said."""
    usual, *_ = output({"message_id": "m", "delta": "a"})
    assert [name for name, _ in usual.headers] == ["tm-message-id", "tm-seq", "tm-opened"]
    first, *_ = output({"message_id": "m", "choice": 2, "delta": "a"})
    assert first.key == b"c"
    assert first.headers == [
        ("tm-message-id", b"m"),
        ("tm-seq", b"0"),
        ("tm-opened", b"1000"),
        ("tm-choice", b"2"),
    ]


def test_many_events_and_choices_have_their_numbers() -> None:
    """Beyond those of which the headers are made in advance."""
    out = output(
        {"message_id": "m", "choice": 20, "delta": "a"},
        *({"message_id": "m", "choice": 20, "delta": "a"} for _ in range(3_000)),
    )
    assert dict(out[-1].headers)["tm-choice"] == b"20"
    assert [dict(each.headers)["tm-seq"] for each in out] == [b"%d" % seq for seq in range(len(out))]


def test_an_output_gets_the_events_it_asks_for() -> None:
    """Calls go to the tool runners as well."""
    out = output(OPEN | {"delta": "a" + CALL, "end": True}, specs=(OutputSpec("events"), CALLS))
    assert [each.topic for each in out].count("tool-calls") == 1
    (call,) = [each for each in out if each.topic == "tool-calls"]
    assert msgspec.json.decode(call.value or b"")["type"] == "tool-call"
    assert call in [msgspec.structs.replace(each, topic="tool-calls") for each in out if each.topic == "events"]


def test_a_call_with_a_problem_is_not_for_tool_runners() -> None:
    """They execute what they get."""
    tool = {"type": "function", "function": {"name": "g", "parameters": {"type": "object"}}}
    options = {"format": "hermes", "tools": [tool], "unknown_tool": "call"}
    out = output({"message_id": "m", "open": options, "delta": CALL}, specs=(OutputSpec("events"), CALLS))
    assert [event.type for event in events(out)].count("tool-call") == 1
    assert [each for each in out if each.topic == "tool-calls"] == []


def test_runners_hear_of_the_end_of_a_cancelled_message() -> None:
    """With the same headers, after its calls; no other end concerns them."""
    chunks: dict[str, dict[str, object]] = {"cancelled": {"control": "cancel"}, "stop": {"end": True}}
    ends = {
        end: [
            msgspec.json.decode(each.value or b"")["type"]
            for each in output(
                OPEN | {"delta": CALL}, {"message_id": "m", **chunk}, specs=(OutputSpec("events"), CALLS)
            )
            if each.topic == "tool-calls" and dict(each.headers)["tm-opened"] == b"1000"
        ]
        for end, chunk in chunks.items()
    }
    assert ends == {"cancelled": ["tool-call", "finish"], "stop": ["tool-call"]}


def test_a_call_that_is_too_large_becomes_an_error() -> None:
    """P8: one oversize send would stop the producer; its text was sent in deltas. Tool runners get nothing of it."""
    text = CALL.replace("1", '"' + "x" * 9_000 + '"')
    out = output(OPEN | {"delta": text, "end": True}, specs=(OutputSpec("events"), CALLS), limits=SMALL)
    assert all(len(each.value or b"") + 2 * KIB < SMALL.output_bytes for each in out)
    assert [each for each in out if each.topic == "tool-calls"] == []
    (error,) = [event for event in events(out) if event.type == "error"]
    assert (error.code, error.name) == ("limit", "f")


@pytest.mark.parametrize(
    ("chunk", "left"),
    [
        ({"part": {"kind": "image", "value": "x" * 9_000}}, "error"),
        ({"usage": {"n": "x" * 9_000}, "end": True}, "finish"),
        ({"open": {"provider": "x" * 9_000}}, "error"),
    ],
)
def test_other_events_that_are_too_large(chunk: dict[str, Any], left: str) -> None:
    """The field is left out, or an error stands in their place; the positions stay contiguous."""
    out = output({"message_id": "m", "delta": "a", **chunk}, limits=SMALL)
    assert all(len(each.value or b"") + 2 * KIB < SMALL.output_bytes for each in out)
    assert left in [event.type for event in events(out)]
    assert [event.seq for event in events(out)] == list(range(len(out)))


def test_nothing_above_the_cap_is_ever_published() -> None:
    """Also where not even an error fits: a setting that the start of a worker refuses."""
    assert output({"delta": "a"}, limits=Limits(output_bytes=3 * KIB + 10)) == []


def test_errors_and_calls_are_counted_by_format() -> None:
    """Labels are bounded: several formats at once are `several`."""
    state = Partition(PartitionSettings(), "tokens", 0)
    broken = CALL.replace("}}", "}")
    run(
        state,
        log(
            OPEN | {"delta": CALL + broken},
            {"message_id": "n", "open": {"format": ["hermes", "qwen3_xml"]}, "delta": CALL},
        ),
    )
    run(state, log({"message_id": "m", "end": True}, start=2))
    tally = state.drain()
    assert tally.tool_calls == {("hermes", "ok"): 1, ("hermes", "malformed-call"): 1, ("several", "ok"): 1}
    assert tally.parse_errors == {("hermes", "call", "malformed-call"): 1}
    assert tally.events["tool-call"] == 2


def test_every_error_has_a_stage() -> None:
    """The label of the metric."""
    assert outputs.ERROR_STAGES.keys() == set(ErrorCode.__args__)  # type: ignore[attr-defined] # a Literal knows its values


class _Counted(msgspec.Struct):
    """State of the dialect below."""

    events: int = 0


class _Twice(dialect.Dialect):
    """A dialect that keeps state and makes any number of payloads."""

    name = "twice"
    summary = "each event as many times as there were before"
    state_type = _Counted

    def encode(self, state: Any, _envelope: Envelope, event: Event, _seq: int | None, _time: int) -> list[bytes]:
        """Payloads with the number of events so far."""
        state.events += 1
        return [b"%d %b" % (state.events, event.type.encode())] * (state.events - 1)


@pytest.fixture
def twice(monkeypatch: pytest.MonkeyPatch) -> OutputSpec:
    """An output in that dialect."""
    known: dict[str, dialect.Dialect] = {"twice": _Twice(), "native": native.NATIVE}
    for module in (outputs, settings):
        monkeypatch.setattr(module, "find_dialect", known.__getitem__)
    monkeypatch.setattr("tokenmill.partition.rebuild.find_dialect", known.__getitem__)
    return OutputSpec("twice", "twice")


def test_a_dialect_may_make_none_or_several_payloads_of_an_event(twice: OutputSpec) -> None:
    """Their parts are numbered."""
    out = output({"message_id": "m", "delta": "a"}, specs=[twice])
    assert [each.value for each in out] == [b"2 text-start", b"3 text-delta", b"3 text-delta"]
    assert [dict(each.headers).get("tm-part") for each in out] == [None, b"1/2", b"2/2"]
    assert [dict(each.headers)["tm-seq"] for each in out] == [b"1", b"2", b"2"]


@pytest.mark.parametrize(("asked", "deltas"), [({}, 0), ({"stream_tool_input": True}, 1)])
def test_deltas_of_calls_are_for_dialects_that_stream_them(
    twice: OutputSpec, asked: dict[str, Any], deltas: int
) -> None:
    """Another output may stream them; this one does only where the message asks."""
    opening = {"message_id": "m", "open": {"format": "hermes", "content_arguments": ["*"], **asked}}
    call = CALL.replace("1", '"x"')
    out = output(opening | {"delta": call, "end": True}, specs=(OutputSpec("events"), twice))
    shown = {each.value.split()[1] for each in out if each.topic == "twice" and each.value}
    assert len(shown & {b"tool-input-delta", b"argument-delta"}) == 2 * deltas
    assert {b"tool-input-start", b"tool-input-end", b"tool-call"} <= shown
    types = [event.type for event in events(out)]
    assert types.count("tool-input-delta") == types.count("argument-delta") == 1


def test_the_state_of_a_dialect_is_in_the_snapshot(twice: OutputSpec) -> None:
    """Restored, it continues where it was; a new output begins."""
    asked = PartitionSettings(outputs=(OutputSpec("events"), twice))
    state = Partition(asked, "tokens", 0)
    run(state, log({"message_id": "m", "delta": "a"}))
    mark, write = state.mark(), state.changes(full=True)
    (delta,) = log({"message_id": "m", "delta": "b"}, start=1)
    again = restore(asked, "tokens", 0, mark, (write.meta, write.changed))
    assert run(again, [delta]) == run(state, [delta])
    more = PartitionSettings(outputs=(twice, OutputSpec("new", "twice")))
    again = restore(more, "tokens", 0, mark, (write.meta, write.changed))
    assert [(each.topic, each.value) for each in run(again, [delta])] == [("twice", b"4 text-delta")] * 3
    assert again.changes(full=False).full


ANSWERS = (
    OutputSpec("completions", "openai_completion", key="choice"),
    OutputSpec("sessions", "session", key="choice"),
)


def test_what_is_kept_of_an_answer_is_keyed_by_it() -> None:
    """A compacted topic keeps the last record of each answer and choice."""
    out = output(
        OPEN | {"delta": "a"},
        {"message_id": "m/1", "choice": 2, "delta": "b", "end": True},
        {"message_id": "m", "end": True},
        specs=ANSWERS,
    )
    assert [(each.topic, each.key) for each in out] == [
        ("completions", b"c/m/1/2"),
        ("sessions", b"c/m/1/2"),
        ("completions", b"c/m/0"),
        ("sessions", b"c/m/0"),
    ]


@pytest.mark.parametrize(("size", "truncated"), [(1_000, None), (60_000, b"1")])
def test_an_answer_that_was_truncated_says_so(size: int, truncated: bytes | None) -> None:
    """P8: the object fits a record, and its header marks it as incomplete."""
    limits = Limits(output_bytes=50_000)
    chunks = [{"message_id": "m", "delta": "é" * (size // 20), "end": number == 9} for number in range(10)]
    (record,) = output(*chunks, specs=ANSWERS[:1], limits=limits)
    assert dict(record.headers).get("tm-truncated") == truncated
    assert len(record.value or b"") <= limits.payload_bytes


def test_payloads_that_fit_no_record_leave_no_hole_in_the_numbers() -> None:
    """A reader that waits for all parts of an event gets them."""
    call = '<tool_call>{"name": "f", "arguments": {"a": "%s"}}</tool_call>'
    opening = OPEN | {"delta": call % ("x" * 7_000) + call % "y"}
    out = output(
        opening, {"message_id": "m", "finish_reason": "stop"}, specs=[OutputSpec("agent", "agent")], limits=SMALL
    )
    last = [dict(each.headers) for each in out if each.headers[1] == out[-1].headers[1]]
    assert [headers["tm-part"] for headers in last] == [b"%d/%d" % (n + 1, len(last)) for n in range(len(last))]


def test_every_record_leads_to_where_its_message_began() -> None:
    """By the time of the first record of its message, in any choice; a new use of the id starts over."""
    out = output(
        {"message_id": "m", "open": {}, "delta": "a"},
        {"message_id": "m", "choice": 1, "delta": "b"},
        {"message_id": "m", "control": "cancel"},
        {"message_id": "m", "open": {}, "delta": "c", "end": True},
    )
    opened = [dict(each.headers)["tm-opened"] for each in out]
    starts = [number for number, each in enumerate(out) if b'"message-start"' in (each.value or b"")]
    assert [out[number].timestamp for number in starts] == [1_000, 1_001, 1_003]
    assert [opened[number] for number in starts] == [b"1000", b"1000", b"1003"]
    assert set(opened[: starts[2]]) == {b"1000"}
    assert set(opened[starts[2] :]) == {b"1003"}


_SHOWING = {"native", "ai_sdk_parts", "interceptor", "segments", "session"}
HIDING = sorted({each.name for each in DIALECTS} - _SHOWING)
CUT_CALL: list[dict[str, Any]] = [OPEN | {"delta": "a "}, {"message_id": "m", "delta": CALL[:30]}]


@pytest.mark.parametrize("name", HIDING)
@pytest.mark.parametrize("ending", [{"finish_reason": "length"}, {"control": "cancel"}, {"control": "timeout"}])
def test_what_clients_see_of_a_call_that_is_cut_off(name: str, ending: dict[str, Any]) -> None:
    """No markup: they would show it. Of a call that the model left open by itself the source is text."""
    specs = (OutputSpec("said", dialect=name), OutputSpec("events"))
    for end, shown in ((ending, False), ({"finish_reason": "stop"}, True)):
        out = output(*CUT_CALL, {"message_id": "m"} | end, specs=specs)
        said = [each.value or b"" for each in out if each.topic == "said"]
        texts = b"".join(value for value in said if b"error" not in value[:60])
        assert (CALL[:11].encode() in texts) is shown
    assert CALL[:11] in text_of(events(output(*CUT_CALL, {"message_id": "m"} | ending)))


@pytest.mark.parametrize("name", HIDING)
def test_a_call_that_is_wrong_is_text_whatever_ends_the_answer(name: str) -> None:
    """It was not cut off, and what follows may speak of it."""
    out = output(
        OPEN | {"delta": "a <tool_call>{oops</tool_call> b"},
        {"message_id": "m", "finish_reason": "length"},
        specs=(OutputSpec("said", dialect=name),),
    )
    assert b"{oops" in b"".join(each.value or b"" for each in out)
