"""The load of the pipeline benchmark."""

from collections import Counter, defaultdict

import msgspec

from tokenmill.bench.load import MESSAGE_CHUNKS, OPEN_AT_ONCE, PARTITIONS, Load, shape_of
from tokenmill.events import Finish, ToolCall, decode_event
from tokenmill.parser import Options
from tokenmill.partition import Partition, PartitionSettings
from tokenmill.records import InputRecord, Output

SETTINGS = PartitionSettings(defaults=Options(format="hermes"))


GROWN = OPEN_AT_ONCE * MESSAGE_CHUNKS
"""Records until all conversations grow, and some have come to their second message."""


def test_every_conversation_stays_on_its_partition_and_counts_its_chunks() -> None:
    """Whatever others say between two chunks of a message."""
    places: defaultdict[bytes, set[int]] = defaultdict(set)
    numbers: defaultdict[bytes, list[int]] = defaultdict(list)
    for partition, key, value in Load(GROWN):
        places[key].add(partition)
        numbers[key].append(msgspec.json.decode(value)["seq"])
    assert len({key.split(b"-")[2] for key in places}) == OPEN_AT_ONCE
    assert {len(place) for place in places.values()} == {1}
    assert set().union(*places.values()) == set(range(PARTITIONS))
    assert all(seqs == list(range(len(seqs))) for seqs in numbers.values())


def test_conversations_are_at_all_places_of_their_messages() -> None:
    """As they are where nobody waits for another: only a handful of a thousand end at the same time."""
    latest = {key.split(b"-")[2]: msgspec.json.decode(value)["seq"] for _, key, value in Load(GROWN)}
    steps = Counter(latest.values())
    assert sum(steps.values()) == OPEN_AT_ONCE
    assert max(steps.values()) <= 3 * OPEN_AT_ONCE // MESSAGE_CHUNKS


def test_a_conversation_is_one_clean_message_with_a_call() -> None:
    """From its first chunk to its finish."""
    records = [chunk for chunk in Load(2 * GROWN) if chunk[1] == b"conversation-0-0"]
    out: list[Output] = []
    partition = Partition(SETTINGS, "tokens", 0)
    partition.process((InputRecord("tokens", 0, n, 0, key, value) for n, (_, key, value) in enumerate(records)), out)
    events = [decode_event(output.value or b"") for output in out]
    assert [event.problem for event in events if isinstance(event, ToolCall)] == [msgspec.UNSET]
    assert isinstance(events[-1], Finish)
    assert events[-1].reason == "tool-calls"


def test_a_record_may_have_more_tokens() -> None:
    """The same text in fewer chunks."""
    texts = []
    for tokens in (1, 16):
        chunks = [
            msgspec.json.decode(value) for _, key, value in Load(2 * GROWN, tokens=tokens) if key == b"conversation-0-0"
        ]
        texts.append("".join(chunk.get("delta", "") for chunk in chunks))
        assert max(len(chunk.get("delta", "")) for chunk in chunks) == 4 * tokens
    assert texts[0] == texts[1] != ""


def test_its_shape_is_that_of_whole_messages() -> None:
    """About one output for each record."""
    shape = shape_of(SETTINGS)
    assert 0.8 < shape.outputs_per_record < 1.2
    assert 100 < shape.mean_output_bytes < 400
