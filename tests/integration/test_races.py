"""A worker stands still in the middle of something, another one takes over, and it is killed there or goes on later.

Redis is emptied meanwhile, and new records come. What is published is the oracle's: with exactly-once each record once,
with at-least-once repeats are the same byte for byte.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
import redis

from tests.support.halting import HaltingWorker
from tests.support.rig import Rig, redis_of, rigged
from tests.support.stage import Stage, until, without_repeats
from tokenmill.servers import RedisServer

pytestmark = [pytest.mark.integration, pytest.mark.slow]

ONCE, AT_LEAST_ONCE = "exactly-once", "at-least-once"

KILLED, WOKEN = "killed", "woken"

CONVERSATIONS = 12


class Race:
    """A worker that halts at a point, the stage, and what is sent."""

    def __init__(self, stage: Stage, server: RedisServer, point: str, delivery: str, fate: str) -> None:
        self.stage = stage
        self._server = server
        self._fate = fate
        self._delivery = delivery
        self._rounds = 0
        settings = {**stage.settings, "worker": {**stage.settings["worker"], "delivery": delivery}}
        self.worker = HaltingWorker(stage.folder / "halting", settings, point)
        stage.workers.append(self.worker)

    async def start(self) -> None:
        """Start the worker that halts, and wait until it is ready or stands still."""
        await asyncio.to_thread(self.worker.start)

    async def work_and_arm(self) -> None:
        """It has committed something; the next time that it comes to its point it halts."""
        await self.start()
        await self.talk()
        await self.committed()
        self.worker.arm()

    async def talk(self, *, last: bool = False) -> None:
        """One more chunk in each conversation, without a number, and a record that is none."""
        chunk: dict[str, Any] = {"message_id": "m", "delta": f"{self._rounds} "} | ({"end": True} if last else {})
        await self.stage.send_all((f"c{number}", chunk) for number in range(CONVERSATIONS))
        await self.stage.send("c0", b"{")
        self._rounds += 1

    async def committed(self) -> None:
        """Wait until everything that was sent is committed."""
        await until(self.stage.caught_up, "everything is committed")

    async def halted(self) -> None:
        """Wait until the worker stands still; then Redis forgets everything, and new records come."""
        await until(lambda: self.worker.halted, "the worker is at its point")
        with redis.Redis(port=self._server.port) as client:
            client.flushall()
        await self.talk()

    def rig(self) -> AbstractAsyncContextManager[Rig]:
        """Another worker, in this process, that works by itself and is drained in the end."""
        return _working(self.stage, self._delivery)

    async def decide(self) -> None:
        """The other worker has done all there is; then the first one's fate comes, and nothing is wrong in the end."""
        await self.committed()
        await self.fulfil()
        await self.as_expected()

    async def fulfil(self) -> None:
        """The worker is killed where it stands, or goes on: then it ends, fenced, or is a member of the group again."""
        if self._fate == KILLED:
            self.worker.kill()
            return
        before = self._assignments()
        self.worker.thaw()
        await until(lambda: not self.worker.alive or self._assignments() > before, "it goes on")

    def _assignments(self) -> int:
        said = [line["message"] for line in self.stage.logged(self.worker)]
        return sum(message.startswith("generation") for message in said)

    async def as_expected(self) -> None:
        """Everything is ended and committed, and is what the oracle says."""
        await self.talk(last=True)
        await until(self.stage.at_rest, "every message is ended, and that is committed")
        found, expected = await self.stage.found(), await self.stage.expected()
        if self._delivery == ONCE:
            assert found == expected
        assert {place: without_repeats(contents) for place, contents in found.items()} == expected


@asynccontextmanager
async def _working(stage: Stage, delivery: str) -> AsyncIterator[Rig]:
    async with rigged(stage, redis_of(stage), delivery=delivery, snapshot_interval_s=0.2) as rig:
        rig.engine.start()
        yield rig
        await rig.engine.drain(10)
        assert rig.failures == []


@pytest.mark.parametrize(("delivery", "fate"), [(ONCE, WOKEN), (ONCE, KILLED), (AT_LEAST_ONCE, WOKEN)])
async def test_in_front_of_a_commit(fragile: Stage, redis_server: RedisServer, delivery: str, fate: str) -> None:
    """All outputs are acknowledged, in an open transaction; the offset is not committed, and never is by this one."""
    race = Race(fragile, redis_server, "committing", delivery, fate)
    await race.work_and_arm()
    await race.talk()
    await race.halted()
    async with race.rig():
        await race.committed()
        await race.fulfil()
        if delivery == ONCE:
            await until(lambda: not race.worker.alive, "who is fenced ends")
        await race.as_expected()


@pytest.mark.parametrize(("delivery", "fate"), [(ONCE, WOKEN), (AT_LEAST_ONCE, KILLED)])
async def test_between_commit_and_snapshot(fragile: Stage, redis_server: RedisServer, delivery: str, fate: str) -> None:
    """The snapshot is never written, or written when the partition is somebody else's."""
    race = Race(fragile, redis_server, "committed", delivery, fate)
    await race.work_and_arm()
    await race.talk()
    await race.halted()
    async with race.rig():
        await race.decide()


@pytest.mark.parametrize(("delivery", "fate"), [(ONCE, KILLED), (AT_LEAST_ONCE, WOKEN)])
async def test_between_assignment_and_restore(
    fragile: Stage, redis_server: RedisServer, delivery: str, fate: str
) -> None:
    """It has partitions, and has not asked yet where they stand; it holds parked state that soon is too old."""
    race = Race(fragile, redis_server, "assigned", delivery, fate)
    await race.work_and_arm()
    async with race.rig():  # the group gives out its partitions anew
        await race.halted()
        await race.decide()


@pytest.mark.parametrize(("delivery", "fate"), [(ONCE, WOKEN), (AT_LEAST_ONCE, KILLED)])
async def test_during_a_replay(fragile: Stage, redis_server: RedisServer, delivery: str, fate: str) -> None:
    """Half of the state is there; another worker has to begin again."""
    race = Race(fragile, redis_server, "replayed", delivery, fate)
    async with race.rig():
        await race.talk()
        await race.committed()
    with redis.Redis(port=redis_server.port) as client:
        client.flushall()
    race.worker.arm()
    await race.start()
    await race.halted()
    async with race.rig():
        await race.decide()


@pytest.mark.parametrize(("delivery", "fate"), [(ONCE, WOKEN), (AT_LEAST_ONCE, WOKEN)])
async def test_in_the_revoke_callback(fragile: Stage, redis_server: RedisServer, delivery: str, fate: str) -> None:
    """The group goes on without it; what it then finishes and commits comes too late."""
    race = Race(fragile, redis_server, "revoked", delivery, fate)
    await race.work_and_arm()
    async with race.rig():
        await race.halted()
        await race.decide()
