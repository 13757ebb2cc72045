"""The load of the pipeline benchmark."""

from collections import defaultdict

import msgspec

from tokenmill.bench.load import MESSAGE_CHUNKS, OPEN_AT_ONCE, PARTITIONS, Load, shape_of
from tokenmill.events import Finish, ToolCall, decode_event
from tokenmill.parser import Options
from tokenmill.records import InputRecord, Output
from tokenmill.session import Partition, SessionSettings

SETTINGS = SessionSettings(defaults=Options(format="hermes"))


def test_every_conversation_stays_on_its_partition_and_counts_its_chunks() -> None:
    """Consecutive records belong to different conversations."""
    load = Load(OPEN_AT_ONCE * 3)
    places: defaultdict[bytes, set[int]] = defaultdict(set)
    numbers: defaultdict[bytes, list[int]] = defaultdict(list)
    for partition, key, value in load:
        places[key].add(partition)
        numbers[key].append(msgspec.json.decode(value)["seq"])
    assert len(places) == OPEN_AT_ONCE
    assert {len(place) for place in places.values()} == {1}
    assert set().union(*places.values()) == set(range(PARTITIONS))
    assert set(map(tuple, numbers.values())) == {(0, 1, 2)}


def test_a_conversation_is_one_clean_message_with_a_call() -> None:
    """From its first chunk to its finish."""
    records = [chunk for chunk in Load(OPEN_AT_ONCE * MESSAGE_CHUNKS) if chunk[1] == b"conversation-0-0"]
    out: list[Output] = []
    partition = Partition(SETTINGS, "tokens", 0)
    partition.process((InputRecord("tokens", 0, n, 0, key, value) for n, (_, key, value) in enumerate(records)), out)
    events = [decode_event(output.value or b"") for output in out]
    assert [event.problem for event in events if isinstance(event, ToolCall)] == [msgspec.UNSET]
    assert isinstance(events[-1], Finish)
    assert events[-1].reason == "tool-calls"


def test_its_shape_is_that_of_whole_messages() -> None:
    """About one output for each record."""
    shape = shape_of(SETTINGS)
    assert 0.8 < shape.outputs_per_record < 1.2
    assert 100 < shape.mean_output_bytes < 400
