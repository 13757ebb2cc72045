"""What happens to workers, Redis and the broker: one function for each kind of the plan.

What a fault of Redis does shows only where somebody restores, so each takes a worker with it. Faults that are orderly
begin when all is well and note a *quiet* time: nothing may be published again in it (I9).
"""

import asyncio
import random
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import NamedTuple

import redis

from tests.chaos.crew import Crew, Life
from tests.chaos.evidence import LOCKED_OUT, generations
from tests.chaos.feed import BATCH, Feeder
from tests.chaos.group import members_of, remove_members
from tests.chaos.watch import HELD_MS, Commits, Heads
from tests.support.stage import Stage, until
from tokenmill.servers import KafkaServer, RedisServer

FORMATS = ("hermes", "qwen3_xml")
"""What `parser.format` changes between."""

DUMP, OLD_DUMP = "dump.rdb", "old.rdb"

PROGRESS_S = 180.0
"""For every partition to move on, whatever happened: a broker that was killed, then sessions, then restores."""

MORE = 3 * BATCH
"""Chunks that are some for every partition."""

ZOMBIES = 5
"""For one of them to be fenced. One may also hear from the group that it is out before it comes to publish anything."""

GRACE_S = 30.0
"""From SIGTERM to the end of a process, as Kubernetes gives by default."""


class Quiet(NamedTuple):
    """A time in which everything was orderly. Seconds since the epoch."""

    kind: str
    begin: float
    end: float


class Scene:
    """What faults act on, and what they note."""

    def __init__(
        self,
        stage: Stage,
        crew: Crew,
        feeder: Feeder,
        servers: tuple[KafkaServer, RedisServer],
        watched: tuple[Commits, Heads],
    ) -> None:
        self.stage = stage
        self.crew = crew
        self.feeder = feeder
        self.kafka, self.redis = servers
        self.commits, self.heads = watched
        self.happened: list[tuple[float, str]] = []
        """When each fault began, in seconds since the epoch, and its kind."""
        self.quiet: list[Quiet] = []
        self.problems: list[str] = []
        self.without_redis_s: list[float] = []
        """How long it took every partition to move on while Redis did not answer (I7)."""

    async def progress(self) -> float:
        """Wait until what is sent from now on is committed on all partitions; answers how many seconds that took."""
        began, goal = time.monotonic(), self.feeder.sent + MORE
        await until(lambda: self.feeder.sent >= goal, "more is sent", PROGRESS_S)
        ends = await self.stage.ends()
        await until(lambda: all(self.commits.offsets.get(n, 0) >= end for n, end in ends.items()), "no lag", PROGRESS_S)
        return time.monotonic() - began

    async def well(self) -> None:
        """Wait until all workers are there and do their work."""
        await self.crew.complete()
        await self.progress()

    async def kill(self, dice: random.Random) -> None:
        """SIGKILL one that works."""
        (await self.choose(dice)).kill()

    async def choose(self, dice: random.Random) -> Life:
        """One that works, as soon as there is any."""
        working: list[Life] = await until(self.crew.working, "a worker to choose", PROGRESS_S)
        return dice.choice(working)

    @asynccontextmanager
    async def orderly(self, kind: str) -> AsyncIterator[None]:
        """What happens within repeats nothing. Readers have seen what was there before."""
        await asyncio.sleep(HELD_MS / 1000)
        begin = time.time()
        yield
        self.quiet.append(Quiet(kind, begin, time.time()))

    @contextmanager
    def redis_apart(self) -> Iterator[None]:
        """Heads may be gone, or be old ones, within."""
        self.heads.rest()
        try:
            yield
        finally:
            self.heads.go_on()

    def save_dump(self) -> None:
        """Let Redis write what it has, and keep it for later."""
        with redis.Redis(port=self.redis.port) as client:
            client.save()
        shutil.move(self.redis.folder / DUMP, self.redis.folder / OLD_DUMP)


async def kill_one(scene: Scene, dice: random.Random) -> None:
    """A worker dies in the middle of whatever it does."""
    await scene.kill(dice)


async def kill_all(scene: Scene, dice: random.Random) -> None:  # noqa: ARG001 -- there is nothing to choose
    """All die at once, also those that are just starting."""
    for life in scene.crew.lives:
        if life.alive:
            with suppress(ProcessLookupError, RuntimeError):  # it ends just now
                life.kill()


async def terminate(scene: Scene, dice: random.Random) -> None:
    """One is told to end: exit code 0 in time; the others go on where it stopped."""
    await scene.well()
    async with scene.orderly("terminate"):
        life = dice.choice(scene.crew.working())
        life.terminate()
        await until(lambda: life.ended_at, "a worker that was told to ends", GRACE_S)
        await scene.progress()


async def zombie(scene: Scene, dice: random.Random) -> None:
    """One is frozen until the others have its partitions; then it goes on as if nothing had happened.

    This is done again until one was locked out: until what it had in its hands when it woke up came to nothing.
    """
    locked_out = LOCKED_OUT[scene.stage.settings["worker"]["delivery"]]
    for _ in range(ZOMBIES):
        if locked_out(await _frozen_for_a_while(scene, dice)):
            return


async def _frozen_for_a_while(scene: Scene, dice: random.Random) -> Life:
    await scene.progress()
    life = await scene.choose(dice)
    seen = len(generations(life))
    life.freeze()
    await scene.progress()
    life.thaw()
    await until(lambda: not life.alive or len(generations(life)) > seen, "the zombie notices", PROGRESS_S)
    life.woke_up()
    return life


async def redis_flush(scene: Scene, dice: random.Random) -> None:
    """All snapshots are gone."""
    with scene.redis_apart():
        await scene.kill(dice)
        with redis.Redis(port=scene.redis.port) as client:
            client.flushall()
        await scene.progress()


async def redis_freeze(scene: Scene, dice: random.Random) -> None:
    """Redis takes connections and never answers. Work goes on, and so it does when a worker dies then."""
    scene.redis.freeze()
    try:
        scene.without_redis_s.append(await scene.progress())
        await scene.kill(dice)
        await scene.progress()
    finally:
        scene.redis.thaw()


async def redis_kill(scene: Scene, dice: random.Random) -> None:
    """Redis dies, and comes back with nothing in it when a worker's partitions have been restored without it."""
    with scene.redis_apart():
        scene.redis.kill()
        await scene.kill(dice)
        await scene.progress()
        await asyncio.to_thread(scene.redis.start)


async def redis_old_dump(scene: Scene, dice: random.Random) -> None:
    """Redis is restored from a dump of some time ago."""
    with scene.redis_apart():
        await scene.kill(dice)
        scene.redis.kill()
        shutil.copy(scene.redis.folder / OLD_DUMP, scene.redis.folder / DUMP)
        await asyncio.to_thread(scene.redis.start)
        await scene.progress()
    scene.save_dump()


async def broker_kill(scene: Scene, dice: random.Random) -> None:
    """The broker dies and is started again."""
    scene.kafka.kill()
    await asyncio.sleep(dice.uniform(0, 2))
    await asyncio.to_thread(scene.kafka.start)
    await scene.progress()


async def static_restart(scene: Scene, dice: random.Random) -> None:
    """Static members are restarted, one after the other, and the group does not notice (I8)."""
    crew = scene.crew
    await _change_over(scene, static=True)
    before = {generation.number for life in crew.working() for generation in generations(life)[-1:]}
    async with scene.orderly("static-restart"):
        for slot in dice.sample(range(len(crew.working())), len(crew.working())):
            await crew.restart(slot)
        await crew.complete()
    after = {generation.number for life in crew.working() for generation in generations(life)[-1:]}
    if len(before) != 1 or before != after:
        scene.problems.append(f"I8: a restart of static members: generation {before} became {after}")
    await _change_over(scene, static=False)


async def _change_over(scene: Scene, *, static: bool) -> None:
    """All end in an orderly way and come back as static members, or as others."""
    await scene.well()
    scene.crew.static = static
    group = scene.stage.bootstrap, scene.stage.group
    async with scene.orderly("change-over"):
        members = await members_of(*group)
        lives = scene.crew.working()
        for life in lives:
            life.terminate()
        await until(lambda: all(life.ended_at for life in lives), "workers that were told to end", GRACE_S)
        await remove_members(*group, members)
        await scene.crew.complete()
        await scene.progress()


async def reconfigure(scene: Scene, dice: random.Random) -> None:
    """Messages without a format of their own are opened under another one from now on; the open ones go on."""
    await scene.well()
    await _roll(scene, dice)


async def reconfigure_without_redis(scene: Scene, dice: random.Random) -> None:
    """The same when no snapshot says what messages were opened with: they end, and say why."""
    await scene.well()
    with scene.redis_apart():
        scene.redis.kill()
        await _roll(scene, dice)
        await asyncio.to_thread(scene.redis.start)


async def _roll(scene: Scene, dice: random.Random) -> None:
    crew = scene.crew
    before = scene.stage.settings["parser"]["format"]
    scene.stage.settings["parser"] = {"format": FORMATS[1 - FORMATS.index(before)]}
    async with scene.orderly("reconfigure"):
        for slot in dice.sample(range(len(crew.working())), len(crew.working())):
            await crew.restart(slot)
        await crew.complete()
        await scene.progress()


FAULTS: Mapping[str, Callable[[Scene, random.Random], Awaitable[None]]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        kill_one,
        kill_all,
        terminate,
        zombie,
        redis_flush,
        redis_freeze,
        redis_kill,
        redis_old_dump,
        broker_kill,
        static_restart,
        reconfigure,
        reconfigure_without_redis,
    )
}
