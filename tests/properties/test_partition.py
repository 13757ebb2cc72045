"""Promises of a whole partition, over random logs: what comes out depends on the log and on nothing else."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.streams import SETTINGS, logs
from tests.support.restoring import restore
from tokenmill.parser import Options
from tokenmill.partition import Mark, Partition
from tokenmill.records import InputRecord, Output, Record

Outputs = list[list[Output]]

HEADERS = ["tm-codec", "tm-stream", "tm-message-id", "tm-last-offset", "tm-opened-before", "content-type", "other"]
HEADER_VALUES = [b"native", b"text", b"application/msgpack", b"5"]
ODD_VALUES = [
    b'{"delta":"\\ud800"}',
    b'{"seq":99999999999999999999}',
    b'{"delta":"a","choice":9007199254740992}',
    b'{"message_id":"\\u0000","delta":"\\u0000"}',
    b'{"tool_calls":[{},{"index":-1},{"index":"x","function":[]},{"function":{"arguments":5,"name":null}}]}',
    b'{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\\"a\\":1e999,\\"b\\":\\"\\\\ud800\\"}"}}],"end":true}',
    b'{"open":{"format":[]},"delta":"a"}',
    b'{"open":{"tools":[{"x":1},{"function":{"name":5,"parameters":[]}}]},"delta":"a"}',
    b'{"open":{"format":"hermes"},"delta":"<tool_call>{\\"name\\":\\"f\\",\\"arguments\\":{\\"n\\":99999999999999999999}}</tool_call>"}',
    b'{"part":{"kind":"x","value":{"a":[[[]]]}},"usage":{"":null},"finish_reason":"\\u0000","error":""}',
    b"\x81\xa5delta\xa1a",
]
PIECES = [
    "a", "é", "<", "<think>", "</think>", "<tool_call>", "</tool_call>", '{"name": "f", "arguments": {"a": "x"}}', "\n",
    "<function=f>", "<parameter=a>", "</parameter>", "</function>", '"', "}", "<tool_",
]  # fmt: skip

OTHER_SETTINGS = msgspec.structs.replace(SETTINGS, defaults=Options(format="hermes"))


def process(partition: Partition, records: Sequence[InputRecord]) -> Outputs:
    """The outputs of each record."""
    outputs: Outputs = []
    for record in records:
        outputs.append([])
        partition.process([record], outputs[-1])
    return outputs


def live(records: Sequence[InputRecord]) -> tuple[Outputs, Mark]:
    """What a worker that never stopped publishes, and what it commits in the end."""
    partition = Partition(SETTINGS, "tokens", 0)
    outputs = process(partition, records)
    return outputs, partition.mark()


def fields(partition: Partition) -> dict[bytes, bytes]:
    """All that a snapshot would hold of the messages."""
    return partition.changes(full=True).changed


@given(logs())
def test_batches_change_nothing(records: list[InputRecord]) -> None:
    """P3: the same bytes whether records come one by one or all at once."""
    outputs, mark = live(records)
    partition, out = Partition(SETTINGS, "tokens", 0), list[Output]()
    partition.process(records, out)
    assert out == [output for each in outputs for output in each]
    assert partition.mark() == mark


def counts(partition: Partition) -> list[object]:
    """Everything that the partition has counted."""
    tally = partition.drain()
    return [tally.chunks, tally.events, tally.parse_errors, tally.tool_calls, tally.dead_letters, tally.dropped]


class LongWay(Partition):
    """A partition that never takes the short path."""

    def process(self, records: Iterable[Record], out: list[Output]) -> None:
        """Apply records, each the long way."""
        for record in records:
            self._intake.plain = False
            super().process([record], out)


@given(logs())
def test_the_short_path_changes_nothing(records: list[InputRecord]) -> None:
    """P3: the same bytes, marks, counts and state whether records take the short path or not."""
    short, long = Partition(SETTINGS, "tokens", 0), LongWay(SETTINGS, "tokens", 0)
    for record in records:
        assert process(short, [record]) == process(long, [record])
        assert short.mark() == long.mark()
    assert counts(short) == counts(long)
    assert fields(short) == fields(long)


@given(logs())
def test_marks_and_snapshots_change_nothing(records: list[InputRecord]) -> None:
    """P3: a host that looks at the state after every record gets the same outputs."""
    outputs, mark = live(records)
    partition = Partition(SETTINGS, "tokens", 0)
    for record, expected in zip(records, outputs, strict=True):
        partition.mark()
        assert process(partition, [record]) == [expected]
        partition.changes(full=False)
        partition.idle(record.offset * 1_000, 1_000)
    assert partition.mark() == mark


@given(logs())
def test_a_snapshot_at_every_boundary_changes_nothing(records: list[InputRecord]) -> None:
    """P3: the state goes through bytes after every record, and everything is as if it had not."""
    outputs, mark = live(records)
    partition = Partition(SETTINGS, "tokens", 0)
    for record, expected in zip(records, outputs, strict=True):
        before = partition.mark()
        write = partition.changes(full=True)
        partition = restore(SETTINGS, "tokens", 0, before, (write.meta, write.changed))
        assert partition.mark() == before
        assert process(partition, [record]) == [expected]
    assert partition.mark() == mark


@given(logs())
def test_deltas_add_up_to_the_whole(records: list[InputRecord]) -> None:
    """A store that applies every delta holds what a full write would hold."""
    partition, twin = Partition(SETTINGS, "tokens", 0), Partition(SETTINGS, "tokens", 0)
    stored = dict(partition.changes(full=True).changed)
    for record in records:
        for each in (partition, twin):
            process(each, [record])
        write = partition.changes(full=False)
        assert not write.full
        stored = {name: value for name, value in stored.items() if name not in write.removed} | write.changed
        whole = twin.changes(full=True)
        assert stored == whole.changed
        assert write.meta == whole.meta


@settings(max_examples=300)
@given(records=logs(), looked_at=st.booleans())
def test_a_replay_from_the_low_water_mark_gives_the_same_state(*, records: list[InputRecord], looked_at: bool) -> None:
    """At every boundary: who starts there with nothing has the state and the later outputs of who never stopped.

    Whether or not the host looks at the state after each record of the replay, to keep it small.
    """
    outputs, mark = live(records)
    truth = Partition(SETTINGS, "tokens", 0)
    for number, record in enumerate(records):
        process(truth, [record])
        committed = truth.mark()
        again = Partition(SETTINGS, "tokens", 0, committed.low_water)
        again.begin_replay(committed, lossy=False)
        for old in records[: number + 1]:
            process(again, [old])
            if looked_at:
                again.mark()
                again.drain()
        announced: list[Output] = []
        end = again.end_replay(announced)
        assert (announced, end.lost, end.agrees) == ([], 0, True)
        assert again.mark() == committed
        assert fields(again) == fields(truth)
        assert process(again, records[number + 1 :]) == outputs[number + 1 :]
        assert again.mark() == mark


def recovered(mark: Mark, records: Sequence[InputRecord], *, lossy: bool = False, other: bool = False) -> Partition:
    """A partition that was replayed to the mark, from nothing."""
    settings_ = OTHER_SETTINGS if other else SETTINGS
    start = records[0].offset if lossy else mark.low_water
    partition = Partition(settings_, "tokens", 0, start)
    partition.begin_replay(mark, lossy=lossy)
    process(partition, [record for record in records if record.offset < mark.offset])
    partition.end_replay([])
    return partition


@given(records=logs(), first=st.integers(0, 23), second=st.integers(0, 23), reconfigured=st.booleans())
def test_what_was_announced_as_lost_stays_lost(
    *, records: list[InputRecord], first: int, second: int, reconfigured: bool
) -> None:
    """After a replay that could not rebuild everything, a later one from the low-water mark gives the same state."""
    committed = min(second, len(records) - 1)
    before = Partition(SETTINGS, "tokens", 0)
    process(before, records[:committed])
    mark = before.mark()
    if not committed or mark.low_water >= mark.offset:
        return
    kept = records if reconfigured else records[min(first, committed - 1) :]
    truth = recovered(mark, kept, lossy=not reconfigured, other=reconfigured)
    for record in records[committed:]:
        later = truth.mark()
        again = recovered(later, records, other=reconfigured)
        assert again.mark() == later
        assert fields(again) == fields(truth)
        assert process(again, [record]) == process(truth, [record])


@given(
    st.lists(
        st.builds(
            InputRecord,
            topic=st.just("tokens"),
            partition=st.just(0),
            offset=st.integers(0, 30),
            timestamp=st.integers(-1, 2**62),
            key=st.none() | st.sampled_from([b"c", b"\xff"]) | st.binary(max_size=5),
            value=st.none() | st.binary() | st.sampled_from(ODD_VALUES),
            headers=st.lists(
                st.tuples(st.sampled_from(HEADERS), st.binary(max_size=3) | st.sampled_from(HEADER_VALUES))
            ),
        )
    )
)
def test_nothing_raises(records: list[InputRecord]) -> None:
    """P7: whatever stands in records, in whatever order, the partition goes on, and the state can be kept."""
    partition = Partition(SETTINGS, "tokens", 0)
    for record in records:
        process(partition, [record])
        write = partition.changes(full=True)
        partition = restore(SETTINGS, "tokens", 0, partition.mark(), (write.meta, write.changed))
    last = InputRecord("tokens", 0, 99, 0, b"last", b'{"delta":"a","end":true}')
    topics = [output.topic for output in process(partition, [last])[0]]
    assert (topics.count("events"), topics.count("chunks"), topics.count("completions")) == (5, 3, 1)


@given(st.lists(st.sampled_from(PIECES), min_size=1), st.data())
def test_the_cut_changes_nothing_but_the_deltas(pieces: list[str], data: st.DataObject) -> None:
    """P2 and P9: through codec, session and dialect; merged, the events are the same, and the text is all there."""
    text = "".join(pieces)
    places = sorted({0, len(text), *data.draw(st.lists(st.integers(0, len(text))))})
    cut = [text[start:end] for start, end in pairwise(places)]
    assert merged(cut) == merged([text])


def merged(deltas: Sequence[str]) -> list[tuple[str, ...]]:
    """The events of a message whose text comes in these deltas, adjacent deltas of an id joined, without numbers.

    And what is kept of it, which has no deltas.
    """
    opening = {"message_id": "m", "open": {"format": ["hermes", "qwen3_xml"]}}
    chunks = [opening, *({"message_id": "m", "delta": delta} for delta in deltas), {"message_id": "m", "end": True}]
    partition, out = Partition(SETTINGS, "tokens", 0), list[Output]()
    for offset, chunk in enumerate(chunks):
        partition.process([InputRecord("tokens", 0, offset, 0, b"c", msgspec.json.encode(chunk))], out)
    joined: list[tuple[str, ...]] = []
    for output in out:
        if output.topic in ("completions", "sessions"):
            joined.append((output.topic, str(output.value)))
        if output.topic not in ("events", "tool-calls"):
            continue
        event = msgspec.json.decode(output.value or b"")
        who, delta = (event["type"], event.get("id", "")), event.get("delta")
        if delta is not None and joined and joined[-1][:2] == who:
            joined[-1] = (*who, joined[-1][2] + delta)
        elif output.topic == "events":
            rest = {name: value for name, value in event.items() if name not in {"seq", "time", "delta"}}
            joined.append((*who, delta if delta is not None else str(rest)))
    return joined
