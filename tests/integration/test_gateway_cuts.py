"""What a client gets over any number of reconnects is what it would have read without any (G1).

Clients of every transport in four dialects sit behind a proxy that cuts their connections at random bytes, by FIN and
by RST. Meanwhile workers and gateways are killed, partitions move with them, and Redis is emptied. What each client was
sent is compared with what one run of the library makes of the input.

In CI it runs for seconds; `make cuts` cuts a thousand times.
"""

import asyncio
import os
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest
import redis

from tests.support.conversations import interleaved
from tests.support.cutting import FORMS, Cutter, Follower
from tests.support.gateway_clients import gateway_of, payloads_of
from tests.support.stage import Content, Stage, until
from tokenmill.servers import RedisServer
from tokenmill.servers.gateway import GatewayProcess

CUTS = int(os.environ.get("TOKENMILL_CUTS", "40"))
"""For each delivery mode."""

FAULTS = max(3, CUTS // 25)

CONVERSATIONS = 18

DIALECTS = ("native", "openai", "anthropic", "ai_sdk_ui")

BATCH = 12

LONG_S = 240 + 2 * CUTS

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600 + 4 * CUTS)]


class Trial:
    """Everything that runs, and what is done to it."""

    def __init__(self, stage: Stage, cache: redis.Redis, stack: ExitStack, worker: dict[str, object]) -> None:
        self._stage = stage
        self._cache = cache
        self._worker = worker
        self._dice = random.Random(15)
        self.gateways = [gateway_of(stage, stage.folder / f"gateway-{number}", stack) for number in range(2)]
        self.cutter = Cutter(self._ports, self._dice)
        self.faults = 0
        self._rounds = 0

    def _ports(self) -> list[int]:
        return [gateway.port for gateway in self.gateways]

    async def start(self) -> None:
        """Two of each."""
        await asyncio.gather(*(asyncio.to_thread(gateway.start) for gateway in self.gateways))
        await asyncio.gather(*(self._stage.start(**self._worker) for _ in range(2)))

    def clients(self) -> list[Follower]:
        """Each form and dialect in turn, over all conversations of this round; two clients of each share a channel."""
        self._rounds += 1
        kinds = [(form, dialect) for form in FORMS for dialect in DIALECTS]
        names = [f"conversation-{self._rounds}-{number}" for number in range(CONVERSATIONS)]
        return [
            Follower(self.cutter.port, name, *reversed(kinds[(2 * number + more) % len(kinds)]))  # type: ignore[arg-type] # a form
            for number, name in enumerate(names)
            for more in (0, 0, 1)
        ]

    async def talk(self) -> None:
        """The conversations of the round, bit by bit."""
        chunks = list(interleaved(CONVERSATIONS, self._rounds))
        for at in range(0, len(chunks), BATCH):
            await self._stage.send_all(chunks[at : at + BATCH])
            await asyncio.sleep(0.05)

    @asynccontextmanager
    async def hurting(self) -> AsyncIterator[asyncio.Task[None]]:
        """One fault after the other inside; the last is waited for, as it starts what has to be ended."""
        enough = asyncio.Event()
        faults = asyncio.create_task(self._hurt(enough))
        try:
            yield faults
        finally:
            enough.set()
            await faults

    async def _hurt(self, enough: asyncio.Event) -> None:
        while not enough.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(enough.wait(), self._dice.uniform(0.5, 2))
                return
            await self._dice.choice([self._kill_worker, self._kill_gateway, self._flush])()
            self.faults += 1

    async def _kill_worker(self) -> None:
        living = [worker for worker in self._stage.workers if worker.alive]
        self._dice.choice(living).kill()
        await self._stage.start(**self._worker)

    async def _kill_gateway(self) -> None:
        victim: GatewayProcess = self._dice.choice(self.gateways)
        victim.kill()
        await asyncio.to_thread(victim.start)

    async def _flush(self) -> None:
        await asyncio.to_thread(self._cache.flushall)


async def everything(stage: Stage) -> dict[int, list[Content]]:
    """What one run makes of the input, by partition of the events."""
    await until(stage.at_rest, "every message is ended, and that is committed", LONG_S)
    return {
        number: found for (topic, number), found in (await stage.expected()).items() if topic == stage.topics.events
    }


async def judge(stage: Stage, clients: list[Follower]) -> None:
    """Wait until everybody has as much as there is, and compare."""
    contents = await everything(stage)
    wanted = {
        client: [
            payload
            for found in contents.values()
            for payload in payloads_of(found, client.conversation.encode(), client.dialect)
        ]
        for client in clients
    }

    def done() -> bool:
        return all(client.wrong or len(client.got) >= len(wanted[client]) for client in clients)

    with suppress(AssertionError):  # the comparison says what is missing
        await until(done, "every client has everything", 120)
    await asyncio.sleep(1)  # for what should not come
    for client in clients:
        assert client.wrong == [], str(client)
        assert client.got == wanted[client], str(client)


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
async def test_clients_that_are_cut_off_get_everything_once(
    delivery: str,
    tmp_path: Path,
    kafka: str,
    redis_server: RedisServer,
    unique: str,
    record_property: Callable[[str, object], None],
) -> None:
    """Whatever was killed meanwhile: nothing is missing, nothing comes twice, and all of it in order."""
    worker: dict[str, object] = {"idle_timeout_s": 2, "delivery": delivery}
    if delivery == "at-least-once":
        worker["commit_interval_ms"] = 400  # a kill finds events that are published and not committed
    async with Stage(tmp_path, kafka, unique, redis_server.url, partitions=3) as stage, AsyncExitStack() as stack:
        processes = stack.enter_context(ExitStack())
        cache = redis.Redis(port=redis_server.port)
        stack.callback(cache.close)
        trial = Trial(stage, cache, processes, worker)
        await trial.start()
        await stack.enter_async_context(trial.cutter.running())
        hurting = await stack.enter_async_context(trial.hurting())
        payloads = 0
        while not payloads or trial.cutter.cuts < CUTS or trial.faults < FAULTS:
            clients = trial.clients()
            following = [asyncio.create_task(client.follow()) for client in clients]
            try:
                await trial.talk()
                await judge(stage, clients)
            finally:
                for task in following:
                    task.cancel()
                await asyncio.gather(*following, return_exceptions=True)
            payloads += sum(len(client.got) for client in clients)
            assert not hurting.done(), hurting
        record_property(
            "report", f"{delivery}: {payloads:,} payloads over {trial.cutter.cuts} cuts and {trial.faults} faults"
        )
