"""How a worker ends: in order when it is told to, loudly when it can't go on; and its place in the group."""

import asyncio
import os
import signal
import time
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition

from tests.support.stage import Stage, counted, until
from tokenmill.servers import KafkaServer
from tokenmill.servers.process import free_port
from tokenmill.servers.worker import WorkerProcess

pytestmark = pytest.mark.integration


async def _ended(worker: WorkerProcess, seconds: float = 30) -> int:
    """The exit code."""
    process = worker.process
    await until(lambda: process.poll() is not None, "the process ends", seconds)
    return int(process.returncode)


async def test_sigterm_in_the_middle_of_a_stream_repeats_nothing(stage: Stage) -> None:
    """What is read is finished and committed; the exit code is 0; the next worker goes on without a repeat."""
    worker = await stage.start()
    chunks = [("c", {"message_id": "m", "seq": seq, "delta": f"{seq} "}) for seq in range(20_000)]
    sending = asyncio.create_task(stage.send_all(chunks))
    await until(lambda: counted(worker, "tokenmill_records_consumed_total"), "the worker is at work")
    os.kill(worker.pid, signal.SIGTERM)
    assert await _ended(worker) == 0
    await sending
    await stage.start()
    await until(stage.caught_up, "everything is committed")
    assert await stage.found() == await stage.expected()


async def test_idle_messages_are_closed_through_the_log(stage: Stage) -> None:
    """A record on the input, native whatever its codec, ends the message; the same for every reader of the log."""
    await stage.start(idle_timeout_s=1)
    await stage.send("c", {"message_id": "m", "seq": 0, "delta": "and then"})
    await until(lambda: _finished(stage), "the message is closed")
    await until(stage.caught_up, "everything is committed")
    *_, control = await stage.read(stage.topics.tokens)
    assert control.key == b"c"
    assert dict(control.headers)["tm-codec"] == b"native"
    assert (await stage.events())[-1]["reason"] == "timeout"
    assert await stage.found() == await stage.expected()


async def _finished(stage: Stage) -> bool:
    return any(event["type"] == "finish" for event in await stage.events())


async def test_a_static_member_comes_back_without_a_rebalance(stage: Stage) -> None:
    """Its restart moves no partition: the other member hears nothing of it."""
    stage.settings["kafka"] |= {"session_timeout_ms": 10_000, "group_instance_id": "one"}
    first = await stage.start()
    stage.settings["kafka"]["group_instance_id"] = "two"
    second = await stage.start()
    await until(lambda: "tokenmill_assigned_partitions 1.0" in first.metrics(), "one partition each")
    before = _rebalances(first)
    await asyncio.to_thread(second.stop)
    again = await stage.start()
    assert "tokenmill_assigned_partitions 1.0" in again.metrics()
    await stage.send_all((f"c{n}", {"message_id": "m", "delta": "x", "end": True}) for n in range(20))
    await until(stage.caught_up, "everything is committed")
    assert _rebalances(first) == before


async def test_the_second_of_two_with_one_name_ends(stage: Stage) -> None:
    """Exit code 1, and the name is said. The first goes on, and so does one that takes its place after a SIGKILL."""
    stage.settings["kafka"]["group_instance_id"] = "pod-0"
    first = await stage.start()
    began = time.monotonic()
    await until(lambda: time.monotonic() - began > 2.5, "its first session is over")
    second = stage.prepare()
    second.port = free_port()  # it is started once, and not again on another
    starting = asyncio.create_task(asyncio.to_thread(second.start))
    await until(lambda: any(line["level"] == "critical" for line in stage.logged(second)), "it hears of the first")
    assert await _ended(second) == 1
    await asyncio.gather(starting, return_exceptions=True)
    said = next(line["message"] for line in stage.logged(second) if line["level"] == "critical")
    assert "kafka.group_instance_id 'pod-0' must be that of one process alone" in said
    await stage.send("c", {"message_id": "m", "seq": 0, "delta": "x"})
    await until(stage.caught_up, "the first goes on")
    first.kill()
    await stage.start()
    await stage.send("c", {"message_id": "m", "seq": 1, "delta": "x", "end": True})
    await until(stage.caught_up, "so does the next")


class _Holding(ConsumerRebalanceListener):  # type: ignore[misc] # untyped base class
    """A member that lets the others wait, from the second time that partitions are shared out."""

    def __init__(self) -> None:
        self.asked, self.released = asyncio.Event(), asyncio.Event()
        self.assigned: list[int] = []

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """As one that has much to finish."""
        if revoked:
            self.asked.set()
            await self.released.wait()

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """How many it has each time."""
        self.assigned.append(len(assigned))


async def test_one_that_ends_while_it_joins_is_not_waited_for(stage: Stage) -> None:
    """It leaves a group that has not let it in yet: the others have its share at once, and not a session later."""
    session_ms = 30_000
    stage.settings["kafka"] |= {"session_timeout_ms": session_ms, "rebalance_timeout_ms": session_ms}
    stage.settings["kafka"]["request_timeout_ms"] = 2 * session_ms
    listener = _Holding()
    member = AIOKafkaConsumer(
        bootstrap_servers=stage.bootstrap,
        group_id=stage.group,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=session_ms,
        heartbeat_interval_ms=300,
        enable_auto_commit=False,
    )
    member.subscribe([stage.topics.tokens], listener=listener)
    await member.start()
    try:
        worker = stage.prepare()
        worker.port = free_port()  # it is started once, and not again on another
        starting = asyncio.create_task(asyncio.to_thread(worker.start))
        await until(listener.asked.is_set, "the worker wants to join")
        os.kill(worker.pid, signal.SIGTERM)
        assert await _ended(worker) == 0
        began = time.monotonic()
        listener.released.set()
        await until(lambda: listener.assigned == [2, 2], "the other has all again")
        assert time.monotonic() - began < session_ms / 3_000
        await asyncio.gather(starting, return_exceptions=True)
    finally:
        listener.released.set()
        await member.stop()


def _rebalances(worker: WorkerProcess) -> list[str]:
    """How often the group gave partitions to a worker."""
    return [line for line in worker.metrics().splitlines() if line.startswith("tokenmill_rebalances_total ")]


@pytest.fixture(scope="module")
def breakable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaServer]:
    """A broker to freeze; who did thaws it."""
    with KafkaServer(tmp_path_factory.mktemp("kafka")) as server:
        yield server


async def test_a_broker_that_stops_answering_ends_the_process(
    tmp_path: Path, breakable: KafkaServer, unique: str
) -> None:
    """Nothing waits for ever: exit code 1 and a sentence, within the configured time."""
    async with Stage(tmp_path, breakable.bootstrap, unique, "memory://", partitions=1) as stage:
        worker = await stage.start(stall_timeout_s=3)
        breakable.freeze()
        try:
            assert await _ended(worker) == 1
        finally:
            breakable.thaw()
        assert any(line["level"] == "critical" and "for 3 s" in line["message"] for line in stage.logged(worker))


async def test_a_stop_has_its_own_deadline(tmp_path: Path, breakable: KafkaServer, unique: str) -> None:
    """With a broker that does not answer a drain can't succeed: the process ends all the same, in time."""
    async with Stage(tmp_path, breakable.bootstrap, unique, "memory://", partitions=1) as stage:
        worker = await stage.start(shutdown_timeout_s=3)
        breakable.freeze()
        try:
            os.kill(worker.pid, signal.SIGTERM)
            assert await _ended(worker, 10) == 1
        finally:
            breakable.thaw()
