"""What is kept of an answer."""

import tracemalloc

import msgspec

from tests.partition.logs import log, partition, run
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.partition.message import Ended, Lost, Open

OPEN_MESSAGE_BYTES = 2 * 1024
SNAPSHOT_BYTES = 512


def many(count: int) -> Partition:
    """A partition with open, idle messages of as many conversations, as they are in practice."""
    settings = PartitionSettings(outputs=(OutputSpec("events"),))
    state = Partition(settings, "tokens", 0)
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    options = {"format": "hermes", "model": "qwen3-32b", "tools": [tool]}
    for number in range(count):
        key = b"conversation-%024d" % number
        chunk = {"message_id": f"chatcmpl-{number:024d}", "seq": 0, "open": options, "delta": "Hello, <tool_"}
        record = msgspec.structs.replace(log(chunk, start=10_000_000 + number)[0], key=key)
        state.process([record], [])
    state.idle(0, 1_000)
    state.mark()
    return state


def test_an_open_message_takes_two_kibibytes_at_most() -> None:
    """P8: with the index, the envelope, the watch and all."""
    many(100)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        state = many(2_000)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert state.open_messages == 2_000
    assert (after - before) / 2_000 <= OPEN_MESSAGE_BYTES


def test_its_snapshot_takes_half_a_kibibyte_at_most() -> None:
    """Options and tools are there once, not with each message."""
    fields = many(200).changes(full=True).changed
    messages = [len(name) + len(value) for name, value in fields.items() if name.startswith(b"m")]
    assert len(messages) == 200
    assert max(messages) <= SNAPSHOT_BYTES
    assert len(fields) == 201


def test_the_weight_says_who_it_is_and_how_far_it_has_come() -> None:
    """Two choices never weigh the same, nor does one before and after an event."""
    state = partition({"message_id": "m", "delta": "a"}, {"message_id": "m", "choice": 1, "delta": "a"})
    (message,) = state._messages
    first, second = message.choices
    weights = {first.weight(), second.weight()}
    first.seq += 1
    weights.add(first.weight())
    first.state = Lost()
    weights.add(first.weight())
    assert len(weights) == 4
    first.state = Ended(1)
    assert first.weight() == 0


def test_choices_are_found_by_number() -> None:
    """Unfinished choices are distinguished from those that are only remembered."""
    state = partition(
        {"message_id": "m", "choice": 3, "delta": "a"},
        {"message_id": "m", "delta": "a"},
        {"message_id": "m", "end": True},
    )
    (message,) = state._messages
    assert [choice.index for choice in message.choices] == [3, 0]
    assert [choice.index for choice in message.going_on()] == [3]
    third = message.choice(3)
    assert third is not None
    assert isinstance(third.state, Open)
    assert message.choice(1) is None


def test_what_is_lost_was_not_seen_to_begin() -> None:
    """Neither while it is open nor once it has ended."""
    state = partition({"message_id": "m", "delta": "x"})
    message = state._messages.find(b"c", "m")
    assert message is not None
    seen = [message.begun]
    state._messages.lose(message, message.choices[0])
    seen.append(message.begun)
    run(state, log({"message_id": "m", "end": True}, start=1))
    seen.append(message.begun)
    assert (seen, message.going_on()) == ([True, False, False], [])
