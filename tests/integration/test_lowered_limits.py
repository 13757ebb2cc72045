"""An output's `max.message.bytes` lowered while workers run: they fit their outputs to it, or say what to do."""

import asyncio
import json
from itertools import count

import pytest

from tests.support.stage import Content, Stage, until
from tokenmill.limits import KIB
from tokenmill.servers.worker import WorkerProcess

pytestmark = pytest.mark.integration

LOWERED = 450_000
"""Above the least that the limits need, and below what one batch of outputs had before."""

IDLE = 1_000
"""Messages, of which the records that end them are more than the input takes in one batch."""

TEXT = "something long " * 60_000
"""Of one chunk: it becomes many events, of which a batch of before is more than the topic takes."""


async def _ended(worker: WorkerProcess) -> str:
    """The last line of level `critical` of a worker that ends by itself."""
    try:
        await until(lambda: not worker.alive, "the worker ends")
    finally:
        logged = worker.log.read_text()
        print(logged)  # noqa: T201 -- shown where the test fails
    return logged.partition('"critical"')[2].partition("\n")[0]


async def _too_much(stage: Stage, worker: WorkerProcess) -> None:
    """Send text until it is too much for the topic: brokers answer a new limit before all of them apply it."""

    def refused() -> bool:
        return not worker.alive or '"critical"' in worker.log.read_text()

    async def refused_or_taken() -> bool:
        return refused() or await stage.caught_up()

    for seq in count():
        await stage.send("c", {"message_id": "m", "seq": seq, "delta": TEXT})
        await until(refused_or_taken, "the text is refused or taken")
        if refused():
            return


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
async def test_outputs_are_fitted_at_the_next_start(stage: Stage, delivery: str) -> None:
    """One exit that names the topic, then all comes out, in smaller batches; open messages go on, also by replay."""
    stage.settings["redis"]["url"] = "memory://"
    worker = await stage.start(delivery=delivery)
    await stage.send("c", {"message_id": "open", "delta": "and "})
    await until(stage.caught_up, "a message is open")
    await stage.raise_limit(stage.topics.events, LOWERED)
    await _too_much(stage, worker)
    said = await _ended(worker)
    assert f"topic {stage.topics.events} no longer accepts " in said
    assert "bytes: its max.message.bytes was lowered; restart the worker to fit outputs to it" in said

    worker = await stage.start(delivery=delivery)
    await stage.send("c", {"message_id": "open", "delta": "on", "end": True})
    await until(stage.caught_up, "everything is committed")
    assert _compared(await stage.found()) == _compared(await stage.expected())
    [conformed] = [line["message"] for line in stage.logged(worker) if "is lowered from" in line["message"]]
    assert f"topic {stage.topics.events} takes no more, its max.message.bytes is {LOWERED}; `kafka-configs" in conformed
    assert worker.alive


def _compared(outputs: dict[tuple[str, int], list[Content]]) -> dict[tuple[str, int], list[object]]:
    """Outputs without repeats, of which the exit may make some at least once.

    What `message-start` says of the cap is left out: it is that of the worker which published it.
    """
    return {place: list(dict.fromkeys(map(_without_cap, contents))) for place, contents in outputs.items()}


def _without_cap(content: Content) -> object:
    timestamp, key, value, headers = content
    event = json.loads(value or b"{}")
    event.get("request", {}).pop("payload_bytes", None)
    if not event.get("request"):
        event.pop("request", None)
    return timestamp, key, json.dumps(event), headers


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
async def test_what_ends_the_idle_fits_an_input_that_takes_little(stage: Stage, delivery: str) -> None:
    """However many there are at once: it is divided, and the worker goes on."""
    await stage.raise_limit(stage.topics.tokens, 64 * KIB)
    await stage.send_all(("c", {"message_id": f"m{number}", "delta": "x"}) for number in range(IDLE))
    worker = await stage.start(delivery=delivery, idle_timeout_s=1)
    await until(stage.at_rest, "all are ended")
    finishes = [event for event in await stage.events() if event["type"] == "finish"]
    assert [event["reason"] for event in finishes] == ["timeout"] * IDLE
    assert worker.alive


async def test_a_limit_that_is_too_small_is_refused_with_the_least(stage: Stage) -> None:
    """No worker could publish a call then; the sentence has no number that makes no sense."""
    await stage.raise_limit(stage.topics.dlq, 200)
    worker = stage.prepare()
    starting = asyncio.create_task(asyncio.to_thread(worker.start))
    await asyncio.wait([starting])
    assert starting.exception() is not None
    said = await _ended(worker)
    assert f"topic {stage.topics.dlq}: its max.message.bytes is 200, and limits.call_chars and" in said
    assert "need at least 402432" in said
    assert f"--entity-name {stage.topics.dlq} --add-config max.message.bytes=1065536`" in said
