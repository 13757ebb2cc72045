"""Partitions that were added to the input first: those that all outputs have go on, the others wait for theirs."""

import asyncio

import pytest

from tests.support.stage import Stage, asked, until
from tokenmill.servers.worker import WorkerProcess

pytestmark = pytest.mark.integration

MORE = 3


def _words(first: int, count: int) -> list[dict[str, object]]:
    return [{"message_id": "m", "seq": seq, "delta": f"{seq} "} for seq in range(first, first + count)]


def _why(stage: Stage) -> str:
    """What is said of the three outputs, which have two partitions each."""
    names = (stage.topics.events, stage.topics.tool_calls, stage.topics.dlq)
    which = ", ".join(f"topic {name} has 2 partitions" for name in names)
    return f"{which}, {stage.topics.tokens} has {MORE}: `tokenmill topics create --partitions {MORE}` adds them"


async def _send(stage: Stage, number: int, first: int, count: int) -> None:
    for chunk in _words(first, count):
        await stage.send("c", chunk, partition=number)


async def _holds(stage: Stage, worker: WorkerProcess) -> None:
    """The worker is ready, and says in three ways that partition 2 waits, and for what."""
    ready = (200, f"{MORE} partitions, 1 held: {_why(stage)}\n")
    await until(lambda: asked(worker, "/readyz") == ready, "the worker holds the new partition")
    assert "tokenmill_held_partitions 1.0" in worker.metrics()
    said = [line for line in stage.logged(worker) if line["message"].startswith("partitions [2] are held")]
    assert [(line["level"], line["message"]) for line in said] == [("error", f"partitions [2] are held: {_why(stage)}")]


async def _mended(stage: Stage, worker: WorkerProcess) -> None:
    """The outputs grow, and all that was sent comes out, without a restart."""
    await stage.grow(MORE, stage.topics.events, stage.topics.tool_calls, stage.topics.dlq)
    stage.partitions = MORE
    await until(stage.caught_up, "the held partition goes on by itself", 15)
    assert await stage.found() == await stage.expected()
    assert asked(worker, "/readyz") == (200, f"{MORE} partitions\n")
    assert "tokenmill_held_partitions 0.0" in worker.metrics()
    assert worker.alive


async def test_partitions_added_to_the_input_alone_wait_for_the_outputs(stage: Stage) -> None:
    """While a worker runs: the old ones go on meanwhile, messages that are open included, and nothing is lost."""
    worker = await stage.start(delivery="exactly-once")
    await _send(stage, 0, 0, 5)
    await stage.grow(MORE, stage.topics.tokens)
    await _send(stage, 2, 0, 5)
    await _holds(stage, worker)
    await _send(stage, 0, 5, 5)
    await until(lambda: _committed(stage, 0, 10), "the old partition goes on")
    assert 2 not in await stage.committed()
    await _mended(stage, worker)


async def test_a_worker_starts_though_the_outputs_are_too_small(stage: Stage) -> None:
    """It does what can be done: refusing all for the sake of a few would help nobody."""
    await stage.grow(MORE, stage.topics.tokens)
    worker = await stage.start()
    await asyncio.gather(_send(stage, 1, 0, 5), _send(stage, 2, 0, 5))
    await until(lambda: _committed(stage, 1, 5), "a partition that the outputs have goes on")
    await _holds(stage, worker)
    await _mended(stage, worker)


async def _committed(stage: Stage, number: int, offset: int) -> bool:
    return (await stage.committed()).get(number, (0, ""))[0] == offset
