"""A group's offsets are moved with Kafka's own tool: forward nobody is left in doubt, back everything comes again.

What the runbook "Move the offsets of a group" says is done here, step by step.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer

from tests.support.conversations import interleaved
from tests.support.group_tool import reset_offsets
from tests.support.stage import Chunk, Content, Stage, until, without_repeats
from tokenmill.servers.worker import WorkerProcess

pytestmark = pytest.mark.integration

RECORDS = 600
"""Of some sixty conversations side by side: wherever the log is cut, messages are open."""

BACK = 37

Outputs = dict[tuple[str, int], list[Content]]


def _kept_in(stage: Stage, store: str) -> None:
    """Snapshots are in Redis, or die with their worker."""
    if store == "memory":
        stage.settings["redis"]["url"] = "memory://"


async def _stopped(stage: Stage, worker: WorkerProcess) -> None:
    """Everything is committed, and the group is empty: the tool refuses while it has members."""
    await until(stage.caught_up, "everything is committed")
    await asyncio.to_thread(worker.stop)


async def _move(stage: Stage, *where: str) -> None:
    said = await reset_offsets(stage.bootstrap, stage.group, stage.topics.tokens, *where)
    assert "Error" not in said


def _moves(stage: Stage, worker: WorkerProcess) -> list[str]:
    """What a worker said of offsets that were moved, as errors."""
    lines = [line for line in stage.logged(worker) if "was not committed by a worker" in line["message"]]
    assert {line["level"] for line in lines} <= {"error"}
    return [line["message"].partition("by a worker: ")[2] for line in lines]


def _count(worker: WorkerProcess, metric: str) -> float:
    [value] = re.findall(rf"^{re.escape(metric)} (\S+)$", worker.metrics(), re.MULTILINE)
    return float(value)


def _again(found: Outputs, before: Outputs) -> Outputs:
    """What was published since."""
    return {place: contents[len(before.get(place, [])) :] for place, contents in found.items()}


def _is_the_end_of(again: Outputs, expected: Outputs) -> bool:
    """Whether all that came again is the end of what should be there, in order and byte for byte."""
    return all(contents == expected[place][len(expected[place]) - len(contents) :] for place, contents in again.items())


@pytest.mark.parametrize(("delivery", "store"), [("at-least-once", "redis"), ("exactly-once", "memory")])
async def test_back_everything_is_published_again_byte_for_byte(stage: Stage, delivery: str, store: str) -> None:
    """By some records, to a time, to the beginning: messages that were open there go on as they did the first time."""
    _kept_in(stage, store)
    chunks = interleaved(100, seed=5)
    worker = await stage.start(delivery=delivery)
    await stage.send_all(islice(chunks, RECORDS // 2))
    middle = datetime.now(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00")
    await asyncio.sleep(0.01)
    await stage.send_all(islice(chunks, RECORDS // 2))
    refused = await reset_offsets(stage.bootstrap, stage.group, stage.topics.tokens, "--to-earliest")
    assert "can only be reset if the group" in refused
    await _stopped(stage, worker)
    expected, before = await stage.expected(), await stage.found()
    assert before == expected

    for where in (("--shift-by", f"-{BACK}"), ("--to-datetime", middle), ("--to-earliest",)):
        await _move(stage, *where)
        worker = await stage.start(delivery=delivery)
        await _stopped_after_moving(stage, worker, ["back"] * 2)
        found = await stage.found()
        again = _again(found, before)
        assert _is_the_end_of(again, expected)
        assert again[stage.topics.events, 0]
        before = found
    assert again == expected
    assert {place: without_repeats(contents) for place, contents in found.items()} == expected

    worker = await stage.start(delivery=delivery)
    await stage.send_all(islice(chunks, RECORDS // 2))
    await until(stage.caught_up, "it goes on")
    found = await stage.found()
    assert {place: without_repeats(contents) for place, contents in found.items()} == await stage.expected()
    assert _moves(stage, worker) == []


async def _stopped_after_moving(stage: Stage, worker: WorkerProcess, directions: Sequence[str]) -> None:
    """The worker said, for each partition, where the offset was moved; then it is stopped."""
    await until(lambda: len(_moves(stage, worker)) == len(directions), "what was moved is said")
    for direction, count in Counter(directions).items():
        assert _count(worker, f'tokenmill_offsets_moved_total{{direction="{direction}"}}') == count
    await _stopped(stage, worker)


def _chunk(message: str, text: str, **more: Any) -> Chunk:
    return {"message_id": message, "delta": text, **more}


GAP: Sequence[Chunk] = (
    _chunk("touched", "is skipped "),
    {"message_id": "ended", "end": True},
    _chunk("whole", "nobody hears of it", end=True),
    _chunk("begun", "without its beginning "),
)
"""What is skipped: of a message that goes on, of one that ends, all of one, the beginning of one."""

TOLD = [
    ("touched", "error", "state-lost"),
    ("touched", "finish", "error"),
    ("ended", "error", "state-lost"),
    ("ended", "finish", "error"),
    ("begun", "error", "state-lost"),
    ("begun", "finish", "error"),
]


async def _say(stage: Stage, *chunks: Chunk) -> None:
    for chunk in chunks:
        await stage.send("c", chunk, partition=0)


async def _told(stage: Stage) -> list[tuple[str, str, str]]:
    """Message, type, and code or reason of the events without a number."""
    events = [event for event in await stage.events() if "seq" not in event]
    return [(event["message_id"], event["type"], event.get("code") or event["reason"]) for event in events]


def _text(events: Sequence[dict[str, Any]], message: str) -> str:
    return "".join(
        event["delta"] for event in events if event["message_id"] == message and event["type"] == "text-delta"
    )


@pytest.mark.parametrize(("delivery", "store"), [("at-least-once", "memory"), ("exactly-once", "redis")])
async def test_forward_what_lost_events_ends_as_lost_once(stage: Stage, delivery: str, store: str) -> None:
    """Every message that was open for its readers and lost events ends with `state-lost`; what lost none goes on.

    Said once: neither a restart with a snapshot nor one without says it again, and none takes a lost message for sound.
    """
    _kept_in(stage, store)
    worker = await stage.start(delivery=delivery)
    await _say(stage, _chunk("quiet", "one "), _chunk("touched", "begins "), _chunk("ended", "begins "))
    await _stopped(stage, worker)
    await _say(stage, *GAP)
    await _move(stage, "--to-latest")
    worker = await stage.start(delivery=delivery)
    await until(lambda: len(_moves(stage, worker)) == 2, "what was moved is said")
    await _say(stage, _chunk("quiet", "two "), _chunk("touched", "late "), _chunk("begun", "late "), _chunk("new", "x"))
    await until(stage.caught_up, "everything is committed")

    assert await _told(stage) == TOLD
    why = {event["message"] for event in await stage.events() if event.get("code") == "state-lost"}
    assert why == {"records of this message were skipped: the group's offset was set past them"}
    assert sorted(_moves(stage, worker)) == [
        "no events are skipped or published again; dead letters from there on are written again",
        "records 3 to 6 are skipped, with 11 events that nobody gets; 3 messages that were open end as lost",
    ]
    assert _count(worker, 'tokenmill_offsets_moved_total{direction="forward"}') == 1
    assert _count(worker, "tokenmill_records_skipped_total") == 4
    assert _count(worker, 'tokenmill_chunks_dropped_total{reason="lost"}') == 2
    [lost] = [line for line in stage.logged(worker) if "messages are announced as lost: their state" in line["message"]]
    assert lost["level"] == "error"

    await _stopped(stage, worker)
    stage.settings["redis"]["url"] = "memory://"
    worker = await stage.start(delivery=delivery)
    await _say(stage, _chunk("quiet", "three", end=True), _chunk("touched", "later"), _chunk("new", "y"))
    await _stopped(stage, worker)
    assert "replay gave" not in worker.log.read_text()
    assert await _told(stage) == TOLD
    events = await stage.events()
    assert [_text(events, message) for message in ("quiet", "touched", "ended", "whole", "begun", "new")] == [
        *("one two three", "begins ", "begins ", "", "", "xy")
    ]
    numbers = [event["seq"] for event in events if event["message_id"] == "quiet" and "seq" in event]
    assert numbers == list(range(len(numbers)))


async def test_what_a_foreign_consumer_commits_is_an_order_too(stage: Stage) -> None:
    """One that is in the group for a while gets a partition, and commits; when it is gone, what is lost is said."""
    worker = await stage.start()
    for number in range(2):
        await stage.send("c", _chunk("m", "one "), partition=number)
    await until(stage.caught_up, "everything is committed")
    foreign = AIOKafkaConsumer(
        stage.topics.tokens, bootstrap_servers=stage.bootstrap, group_id=stage.group, enable_auto_commit=False
    )
    await foreign.start()
    try:
        [taken] = await until(lambda: [tp.partition for tp in foreign.assignment()], "it has a partition")
        await stage.send("c", _chunk("m", "two "), partition=taken)
        await foreign.getone()
        await foreign.commit()
    finally:
        await foreign.stop()
    await until(lambda: _moves(stage, worker), "the worker has it again")
    await stage.send("c", _chunk("m", "three "), partition=taken)
    await until(stage.caught_up, "everything is committed")
    assert _moves(stage, worker) == [
        "records 1 to 1 are skipped, with 1 events that nobody gets; 1 messages that were open end as lost"
    ]
    assert await _told(stage) == [("m", "error", "state-lost"), ("m", "finish", "error")]


async def _empty(stage: Stage) -> None:
    """As retention does."""
    ends = await stage.ends_of(stage.topics.events)
    await stage.delete_records(0, ends[0], stage.topics.events)


async def test_where_the_output_was_emptied_a_snapshot_says_how_far_it_came(stage: Stage) -> None:
    """And without one nothing is known: then what is skipped is not said, and the log says that."""
    worker = await stage.start()
    await _say(stage, _chunk("touched", "begins "))
    await _stopped(stage, worker)
    await _empty(stage)
    await _say(stage, GAP[0])
    await _move(stage, "--to-latest")
    worker = await stage.start()
    await until(lambda: len(_moves(stage, worker)) == 2, "what was moved is said")
    assert sum(move.startswith("records 1 to 1 are skipped, with 1 events") for move in _moves(stage, worker)) == 1
    await _stopped(stage, worker)

    stage.settings["redis"]["url"] = "memory://"
    await _empty(stage)
    await _say(stage, GAP[3])
    await _move(stage, "--to-latest")
    worker = await stage.start()
    await until(lambda: len(_moves(stage, worker)) == 2, "what was moved is said")
    assert 'tokenmill_offsets_moved_total{direction="unknown"} 1.0' in worker.metrics()
