"""Records as JSON, and the oracle."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.partition.logs import log, run
from tests.properties.streams import SETTINGS, logs
from tokenmill.partition import Partition
from tokenmill.records import InputRecord
from tokenmill.replay import record_from_json, record_to_json, replay_records
from tokenmill.replay.records import output_to_json

datas = st.none() | st.binary() | st.text().map(lambda text: text.encode(errors="replace"))
headers = st.lists(st.tuples(st.sampled_from(["a", "tm-codec"]), st.binary()))


@given(st.builds(InputRecord, st.just("t"), st.just(1), st.integers(0), st.integers(0), datas, datas, headers))
def test_a_record_comes_back(record: InputRecord) -> None:
    """Through a line of JSON, whatever bytes it has."""
    line = msgspec.json.encode(record_to_json(record))
    assert record_from_json(msgspec.json.decode(line)) == record


def test_bytes_are_text_where_they_are_utf8() -> None:
    """So that a dump can be read."""
    record = InputRecord("t", 0, 1, 2, b"k", b"\xff", [("h", "é".encode())])
    assert record_to_json(record) == {
        "topic": "t",
        "partition": 0,
        "offset": 1,
        "timestamp": 2,
        "key": "k",
        "headers": [["h", "é"]],
        "value": {"base64": "/w=="},
    }


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"topic": "t"},
        {"topic": "t", "partition": 0, "offset": 1, "timestamp": 2, "key": "k", "value": {"base64": "?"}},
        {"topic": "t", "partition": 0, "offset": 1, "timestamp": 2, "key": "k", "value": {"base64": None}},
        {"topic": "t", "partition": 0, "offset": 1, "timestamp": 2, "key": "k", "value": {}},
        {"topic": "t", "partition": 0, "offset": "1", "timestamp": 2, "key": "k", "value": ""},
        {"topic": "t", "partition": 0, "offset": 1, "timestamp": None, "key": "k", "value": ""},
        {"topic": "t", "partition": 0, "offset": 1, "timestamp": 2, "key": 7, "value": ""},
        {"topic": "t", "partition": 0, "offset": 1, "timestamp": 2, "key": "k", "value": "", "headers": [["a"]]},
    ],
)
def test_a_line_that_is_no_record_is_refused(line: dict[str, Any]) -> None:
    """A dump that was cut short, or another file."""
    with pytest.raises(ValueError, match=r"."):
        record_from_json(line)


@given(logs())
def test_the_oracle_is_the_partition(records: list[InputRecord]) -> None:
    """Record by record, what a worker publishes."""
    state = Partition(SETTINGS, "tokens", 0)
    assert list(replay_records(records, SETTINGS)) == [output_to_json(output, 0) for output in run(state, records)]


def test_partitions_are_kept_apart_and_outputs_go_to_the_same_number() -> None:
    """A dump of a topic has all of them, in any order."""
    one = log({"message_id": "m", "seq": 0, "delta": "a"}, {"message_id": "m", "seq": 1, "end": True}, start=5)
    two = [msgspec.structs.replace(record, partition=1) for record in one]
    apart = [list(replay_records(records, SETTINGS)) for records in (one, two)]
    mixed = [record for pair in zip(one, two, strict=True) for record in pair]
    together = list(replay_records(mixed, SETTINGS))
    for number in (0, 1):
        assert [output for output in together if output["partition"] == number] == apart[number]


def test_a_long_dump_leaves_no_notes_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages that ended are forgotten while it is read."""
    monkeypatch.setattr("tokenmill.replay.records.SETTLE_EVERY", 10)
    seen: list[Partition] = []

    def watched(*place: Any) -> Partition:
        seen.append(Partition(*place))
        return seen[-1]

    monkeypatch.setattr("tokenmill.replay.records.Partition", watched)
    records = log(*({"message_id": str(number), "delta": "a", "end": True} for number in range(500)))
    assert sum(output["topic"] == "events" for output in replay_records(records, SETTINGS)) == 2_500
    (partition,) = seen
    assert len(list(partition._messages)) < 20
    assert len(partition._messages._touched) < 20
    assert sum(partition.tally.events.values()) < 200
