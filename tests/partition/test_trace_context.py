"""Tracing headers go from a message's first record to all its outputs."""

from typing import Any

import msgspec
import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from tests.partition.logs import SETTINGS, partition, record, run
from tests.support.restoring import restore
from tokenmill.limits import HEADER_BYTES, KEY_BYTES
from tokenmill.parser import Options
from tokenmill.partition import Mark, OutputSpec, Partition, PartitionSettings
from tokenmill.partition.trace_context import TraceContext, trace_context
from tokenmill.records import InputRecord, Output

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
OTHER = "00-11111111111111111111111111111111-2222222222222222-00"
STATE = "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7"
CONTEXT = (("traceparent", PARENT.encode()), ("tracestate", STATE.encode()))


def of(outputs: list[Output]) -> list[TraceContext]:
    """The tracing headers of each output."""
    names = {"traceparent", "tracestate"}
    return [tuple(header for header in output.headers if header[0] in names) for output in outputs]


def traced(offset: int, chunk: dict[str, Any] | bytes | None, parent: str = PARENT, **headers: str) -> InputRecord:
    """A record with tracing headers."""
    return record(offset, chunk, b"c", **{"traceparent": parent, "tracestate": STATE, **headers})


@pytest.mark.parametrize(
    ("parent", "state", "kept"),
    [
        (PARENT, STATE, CONTEXT),
        (PARENT, None, CONTEXT[:1]),
        (PARENT, "", CONTEXT[:1]),
        (PARENT, "a=é", CONTEXT[:1]),
        (PARENT, "a=" + "x" * 510, (CONTEXT[0], ("tracestate", b"a=" + b"x" * 510))),
        (PARENT, "a=" + "x" * 511, CONTEXT[:1]),
        (None, STATE, ()),
        ("", STATE, ()),
        (PARENT.upper(), STATE, ()),
        (PARENT + "-00", STATE, ()),
        (PARENT + "\n", STATE, ()),
        (PARENT[1:], STATE, ()),
        ("ff" + PARENT[2:], STATE, ()),
        (f"00-{'0' * 32}-00f067aa0ba902b7-01", STATE, ()),
        (f"00-4bf92f3577b34da6a3ce929d0e0e4736-{'0' * 16}-01", STATE, ()),
    ],
)
def test_only_what_looks_as_the_standard_says_is_kept(
    parent: str | None, state: str | None, kept: TraceContext
) -> None:
    """The rest is left out, and nothing else becomes of it."""
    given = {"traceparent": parent, "tracestate": state}
    headers = [(name, value.encode()) for name, value in given.items() if value is not None]
    assert trace_context([("other", b"x"), *headers]) == kept


def test_all_outputs_of_a_message_have_those_of_its_first_record() -> None:
    """Events, calls and answers, whatever later records hold; other messages have none."""
    settings = PartitionSettings(
        outputs=(
            OutputSpec("events"),
            OutputSpec("anthropic", "anthropic"),
            OutputSpec("completions", "openai_completion", key="choice"),
            OutputSpec("sessions", "session", key="choice"),
        )
    )
    call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    records = [
        traced(0, {"message_id": "m", "open": {"format": "hermes"}, "delta": "a"}),
        record(1, {"message_id": "n", "delta": "b"}),
        traced(2, {"message_id": "m", "delta": call}, OTHER),
        record(3, {"message_id": "m", "seq": 0, "choice": 1, "delta": "c"}),
        traced(4, {"message_id": "n", "delta": "d"}),
        record(5, {"message_id": "m", "choice": 1, "end": True}),
        record(6, {"message_id": "m", "end": True}),
        record(7, {"message_id": "n", "end": True}),
    ]
    out = run(Partition(settings, "tokens", 0), records)
    assert {output.topic for output in out} == {"events", "anthropic", "completions", "sessions"}
    by_message: dict[bytes, set[TraceContext]] = {}
    for output, context in zip(out, of(out), strict=True):
        by_message.setdefault(dict(output.headers)["tm-message-id"], set()).add(context)
    assert by_message == {b"m": {CONTEXT}, b"n": {()}}


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ({"choice": 1, "delta": "b"}, CONTEXT),
        ({"choice": 1, "open": {}, "delta": "b"}, CONTEXT),
        ({"open": {}, "delta": "b"}, (("traceparent", OTHER.encode()), CONTEXT[1])),
    ],
)
def test_choices_share_them_and_another_answer_has_its_own(second: dict[str, Any], expected: TraceContext) -> None:
    """Also where the first choice has ended; an id that is used again is another answer."""
    state = partition()
    run(state, [traced(0, {"message_id": "m", "delta": "a", "end": True})])
    assert set(of(run(state, [traced(1, {"message_id": "m"} | second, OTHER)]))) == {expected}


def test_a_choice_that_shares_them_depends_on_the_log_from_where_they_are() -> None:
    """Replayed from its own first record, it would have others. Without any there is nothing to depend on."""
    for make, low_water in ((traced, 0), (record, 1)):
        state = partition()
        run(state, [make(0, {"message_id": "m", "delta": "a"})])
        run(state, [make(1, {"message_id": "m", "choice": 1, "open": {}, "delta": "b"})])
        run(state, [record(2, {"message_id": "m", "choice": 0, "end": True}), record(500, {"usage": {}})])
        assert state.mark().low_water == low_water


def test_an_end_that_nobody_of_the_answer_sent_has_them() -> None:
    """Of a time-out."""
    state = partition()
    run(state, [traced(0, {"message_id": "m", "delta": "a"})])
    (control,) = state.longest_idle(1)
    end = InputRecord("tokens", 0, 1, 0, control.key, control.value, list(control.headers))
    assert of(run(state, [end])) == [CONTEXT] * 2


def announced(mark: Mark, records: list[InputRecord], settings: PartitionSettings, *, lossy: bool) -> list[Output]:
    """What is announced of messages that could not be rebuilt."""
    state, out = Partition(settings, "tokens", 0, records[0].offset), list[Output]()
    state.begin_replay(mark, lossy=lossy)
    run(state, records)
    state.end_replay(out)
    return out


def test_an_announcement_has_them_where_the_first_record_was_seen() -> None:
    """The first record that a lossy replay saw may be another."""
    records = [traced(0, {"message_id": "m", "delta": "a"}), traced(1, {"message_id": "m", "delta": "b"}, OTHER)]
    state = partition()
    run(state, records)
    mark = state.mark()
    other = msgspec.structs.replace(SETTINGS, defaults=Options(format="hermes"))
    assert of(announced(mark, records, other, lossy=False)) == [CONTEXT] * 2
    assert of(announced(mark, records[1:], SETTINGS, lossy=True)) == [()] * 2


def test_a_snapshot_keeps_them() -> None:
    """Restored, the message continues with them."""
    state = partition()
    run(state, [traced(0, {"message_id": "m", "delta": "a"})])
    mark, write = state.mark(), state.changes(full=True)
    again = restore(SETTINGS, "tokens", 0, mark, (write.meta, write.changed))
    out = run(again, [record(1, {"message_id": "m", "delta": "b"})])
    assert of(out) == [CONTEXT]
    assert out == run(state, [record(1, {"message_id": "m", "delta": "b"})])


def test_there_is_room_for_the_longest() -> None:
    """P8: with the longest key, id and tracing, an output is not above the cap."""
    chunk = {"message_id": "m" * KEY_BYTES, "choice": 2**53, "delta": "a", "end": True}
    first = msgspec.structs.replace(traced(0, chunk, tracestate="a=" + "x" * 510), key=b"k" * KEY_BYTES)
    settings = PartitionSettings(outputs=(OutputSpec("completions", "openai_completion", key="choice"),))
    (output,) = run(Partition(settings, "tokens", 2**31 - 1), [first])
    around = DefaultRecordBatchBuilder.estimate_size_in_bytes(output.key, b"", output.headers)
    assert dict(output.headers)["tracestate"] == b"a=" + b"x" * 510
    assert around <= 3 * KEY_BYTES + HEADER_BYTES
