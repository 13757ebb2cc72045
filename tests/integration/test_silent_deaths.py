"""What would die without a word ends the service with one, in time: each death is brought about in a running service.

The exit code of a process is `service.failure`'s (`host.run_worker`). That a process ends so when the broker or the
event loop hangs is shown by `test_end` and `tests/worker/test_watch.py`.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec
import pytest
from aiokafka.errors import GroupAuthorizationFailedError

from tests.support.rig import Recorder, configuration, rigged
from tests.support.stage import Stage, until
from tokenmill.kafka.transaction import Transaction
from tokenmill.observe import Numbers
from tokenmill.partition import Partition
from tokenmill.worker.engine import Engine
from tokenmill.worker.exactly_once import in_transactions
from tokenmill.worker.lane import Lane
from tokenmill.worker.service import WorkerService

pytestmark = pytest.mark.integration

PATIENCE_S = 4.0

CALL_S = 15.0
"""Deadline of one call to the broker, which some deaths wait for."""

Injection = Callable[[Engine], Awaitable[None] | None]


async def _never(*_: Any, **__: Any) -> None:
    await asyncio.Event().wait()


def _fetching(engine: Engine) -> None:
    engine.consumer._fetcher._fetch_task.cancel()


def _coordination(engine: Engine) -> None:
    engine.consumer._coordinator._coordination_task.cancel()


def _heartbeats(engine: Engine) -> None:
    engine.consumer._coordinator._heartbeat_task.cancel()


def _sending(engine: Engine) -> None:
    engine.delivery.producers()[-1]._sender.sender_task.cancel()


def _own_task(engine: Engine) -> None:
    next(task for task in engine._tasks if task.get_name() == "snapshots").cancel()


def _reading(engine: Engine) -> None:
    async def refused(**_: object) -> None:
        raise GroupAuthorizationFailedError("group")

    engine.consumer.getmany = refused


def _not_read(engine: Engine) -> None:
    """What is fetched is never asked for."""

    async def nothing(**_: object) -> dict[object, object]:
        await asyncio.sleep(0.05)
        return {}

    engine.consumer.getmany = nothing


def _read_again(engine: Engine) -> None:
    """Fetches are answered, and the position never moves: as with a record that the client can't decode."""
    places = {tp: engine.position(tp) for tp in engine.lanes}

    async def nothing(**_: object) -> dict[object, object]:
        await asyncio.sleep(0.05)
        for tp, position in places.items():
            engine.consumer.seek(tp, position)
        return {}

    engine.consumer.getmany = nothing


def _paused(engine: Engine) -> None:
    """Behind our back: the client does so at a rebalance."""
    engine.consumer.pause(*engine.consumer.assignment())


def _acknowledging(engine: Engine) -> None:
    """Whatever is sent from now on gets no answer."""

    async def unanswered(*_: object, **__: object) -> "asyncio.Future[object]":
        return asyncio.get_running_loop().create_future()

    engine.producer.send_batch = unanswered


def _committing(engine: Engine) -> None:
    engine.consumer.commit = _never


def _transaction(engine: Engine) -> None:
    """No transaction ends any more, nor those of producers that take the place of these."""

    def never_ends(transaction: Transaction) -> None:
        opens = transaction.open

        async def open_() -> int:
            epoch = await opens()
            transaction.client.commit_transaction = _never
            return epoch

        transaction.open = open_  # type: ignore[method-assign] # of this one

    def make_lane(partition: Partition) -> Lane:
        lane = makes(partition)
        never_ends(in_transactions(lane).transaction)
        return lane

    makes, engine.delivery.make_lane = engine.delivery.make_lane, make_lane  # type: ignore[method-assign] # likewise
    for producer in engine.delivery.producers():
        producer.commit_transaction = _never


def _coordinator(engine: Engine) -> None:
    """It is gone, and nobody knows a new one."""
    engine.consumer._client.coordinator_lookup = _never
    engine.consumer._coordinator.coordinator_dead()


async def _joining(engine: Engine) -> None:
    """A rebalance begins and never ends."""
    engine.consumer._coordinator._perform_group_join = _never
    engine.consumer._coordinator.ensure_active_group = _never
    await engine.ownership.on_partitions_revoked([])


async def _restoring(engine: Engine) -> None:
    """What the group committed is asked for, and nobody answers."""
    engine.consumer._coordinator.fetch_committed_offsets = _never
    lanes = list(engine.lanes)
    await engine.ownership.on_partitions_revoked([])
    engine.ownership.on_partitions_assigned(lanes)


class Death(NamedTuple):
    """Of what, and how it is told."""

    inject: Injection
    says: str
    exactly_once: bool = False
    seconds: float = PATIENCE_S
    """After which it must be found."""


DEATHS = {
    "fetching": Death(_fetching, "the Kafka client's fetching task has ended: it returned"),
    "coordination": Death(_coordination, "cancelled"),
    "heartbeats": Death(_heartbeats, "the Kafka client has sent no heartbeats for 4 s"),
    "sending": Death(_sending, "the Kafka client's sending task has ended: it returned"),
    "sending in transactions": Death(
        _sending, "the Kafka client's sending task has ended: it returned", exactly_once=True
    ),
    "a task of ours": Death(_own_task, "task 'snapshots' was cancelled"),
    "reading": Death(_reading, "reading has failed for"),
    "what is fetched is not read": Death(_not_read, "no answer to a fetch for 4 s"),
    "the position": Death(_read_again, "lag without progress for 4 s"),
    "a partition is paused": Death(_paused, "no answer to a fetch for 4 s"),
    "acknowledging": Death(_acknowledging, "unacknowledged output to events"),
    "committing": Death(_committing, "no commit came through for 4 s", seconds=CALL_S + PATIENCE_S),
    # Either no commit came through for so long, or no output was acknowledged.
    "a transaction": Death(_transaction, "for 4 s", exactly_once=True, seconds=3 * PATIENCE_S),
    "the coordinator": Death(_coordinator, "no coordinator of the group for 4 s"),
    "joining": Death(_joining, "no place in the group for 14 s", seconds=14),
    "restoring": Death(_restoring, "state restoring without progress for 4 s", seconds=CALL_S + PATIENCE_S),
}

SLACK_S = 20.0
"""For what a busy machine adds."""


async def _death(stage: Stage, name: str, death: Death) -> str:
    """What the service says in the end."""
    delivery = "exactly-once" if death.exactly_once else "at-least-once"
    timeouts: dict[str, Any] = {"stall_timeout_s": PATIENCE_S, "transaction_timeout_ms": 3_000}
    config = configuration(stage, commit_interval_ms=20, delivery=delivery, **timeouts)
    group = f"{stage.group}-{name.replace(' ', '-')}"
    config = msgspec.structs.replace(config, kafka=msgspec.structs.replace(config.kafka, group_id=group))
    told: list[None] = []
    service = WorkerService(config, Numbers(), Recorder(), failing=lambda: told.append(None))
    service._pulse._patience = SLACK_S  # it would end this process, which does the work of fifteen
    await service.start()
    try:
        await until(lambda: service.readiness()[0], f"{name}: ready")
        engine = service._engine
        assert engine is not None
        clients = [engine.consumer._client, *(producer.client for producer in engine.delivery.producers())]
        done = death.inject(engine)
        if done is not None:
            await done
        await until(lambda: service.failure, f"{name}: it is noticed", death.seconds + SLACK_S)
    finally:
        await service.stop()
    for client in clients:
        await client.close()  # one of which the tasks are dead does not stop by itself
    assert told == [None]
    return str(service.failure)


async def test_no_death_is_silent(stage: Stage) -> None:
    """Each is found within the patience, or a call's deadline, and named; input flows meanwhile."""

    async def feed() -> None:
        for seq in itertools.count():
            for number in range(2):
                await stage.send(f"c{number}", {"message_id": "m", "seq": seq, "delta": "x"}, partition=number)
            await asyncio.sleep(0.1)

    async with rigged(stage, delivery="exactly-once") as rig:  # the first one waits for topics of the broker's own
        await until(lambda: rig.engine.ready, "the broker is ready for transactions")
    feeding = asyncio.create_task(feed())
    try:
        said = await asyncio.gather(*(_death(stage, name, death) for name, death in DEATHS.items()))
    finally:
        feeding.cancel()
    unsaid = {name: text for (name, death), text in zip(DEATHS.items(), said, strict=True) if death.says not in text}
    assert unsaid == {}
