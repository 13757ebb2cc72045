"""The short path: which records it takes, and that it leaves all others alone."""

from typing import Any

import pytest

from tests.partition.logs import SETTINGS, log, partition, record, run
from tokenmill.limits import KEY_BYTES
from tokenmill.partition import Partition
from tokenmill.records import InputRecord

OPENED: list[dict[str, Any]] = [{"message_id": "m", "seq": 0, "delta": "a"}]
GOES_ON: dict[str, Any] = {"message_id": "m", "seq": 1, "delta": "b"}


def takes(state: Partition, each: InputRecord) -> bool:
    """Whether the short path applies the record."""
    return state._short_path.take(iter([each]), state, []) is None


@pytest.mark.parametrize(
    ("chunk", "taken"),
    [
        (GOES_ON, True),
        (GOES_ON | {"conversation_id": "c", "choice": 0}, True),
        ({"message_id": "m", "delta": "b"}, True),
        (GOES_ON | {"seq": 0}, False),
        (GOES_ON | {"seq": 2}, False),
        (GOES_ON | {"choice": 1}, False),
        (GOES_ON | {"delta": ""}, False),
        (GOES_ON | {"message_id": "other"}, False),
        (GOES_ON | {"message_id": ""}, False),
        (GOES_ON | {"conversation_id": "other"}, False),
        (GOES_ON | {"finish_reason": "stop"}, False),
        (GOES_ON | {"open": {}}, False),
        (GOES_ON | {"unknown": 1}, False),
        (GOES_ON | {"delta": 1}, False),
        ({"message_id": "m", "seq": 1}, False),
    ],
)
def test_which_chunks_it_takes(chunk: dict[str, Any], taken: bool) -> None:
    """More text of one open message, the next in order; anything else, or anything more, is not sure."""
    assert takes(partition(*OPENED), record(1, chunk)) is taken


@pytest.mark.parametrize(
    "each",
    [
        record(1, GOES_ON, key=None),
        record(1, GOES_ON, key=b""),
        record(1, GOES_ON, key=b"c" * (KEY_BYTES + 1)),
        record(1, GOES_ON, tm_codec="native"),
        record(1, None),
        record(1, b"\xff"),
        record(1, b"{"),
        record(1, b'{"delta":"' + b"x" * SETTINGS.limits.record_bytes + b'"}'),
    ],
)
def test_which_records_it_leaves_alone(each: InputRecord) -> None:
    """Headers, odd keys and values that are not chunks are left to the long path; nothing has changed."""
    state = partition(*OPENED)
    before = state.mark()
    assert not takes(state, each)
    assert state.mark() == before


def test_ended_and_several_choices_are_left_alone() -> None:
    """An ended message, and one with several choices, go the long way."""
    assert not takes(partition(*OPENED, GOES_ON | {"end": True}), record(2, GOES_ON | {"seq": 2}))
    assert not takes(partition(*OPENED, {"message_id": "m", "choice": 1, "delta": "x"}), record(2, GOES_ON))


def test_what_a_codec_remembers_switches_it_off() -> None:
    """While a codec keeps state, every record goes the long way, and is counted all the same."""
    state = partition(*OPENED)
    run(state, [record(1, b"\xc3", key=b"other", tm_codec="text")])
    seen = [state._intake.plain]
    run(state, [record(2, b"\xa9", key=b"other", tm_codec="text"), *log(GOES_ON, start=3)])
    assert [*seen, state._intake.plain] == [False, True]
    assert state.drain().chunks["native"] == 2
