"""The processes of a run with fronts, which are started again whatever they ended of, and what was done to them."""

import asyncio
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeAlias

from tests.structure.tree import CHECKOUT
from tests.support.callers import CallerProcess, FrontAlone
from tests.support.stage import LOOK_S
from tokenmill.config import Config, Kafka
from tokenmill.errors import MissingServer
from tokenmill.kafka.topics import create_topics
from tokenmill.servers import KafkaServer, RedisServer
from tokenmill.servers.gateway import GatewayProcess
from tokenmill.servers.process import Server
from tokenmill.servers.worker import WorkerProcess

PARTITIONS = 4

LEASE_S = 2.0

SESSION_S = 2.0

DISCONNECT_S = 8.0
"""Longer than clients are away that come back, also while the broker starts again."""

FROZEN_S = 2 * SESSION_S + LEASE_S
"""Until others have what the frozen one had, and have seen that it is silent."""

Strike: TypeAlias = Literal["kill", "terminate", "freeze", "died"]


class Struck(NamedTuple):
    """Something happened to a process. Times are seconds since the epoch."""

    how: Strike
    begin: float
    end: float


class ModelServer(Server):
    """The model server, which outlives everything."""

    name = "the model server"
    start_s = 60.0

    def __init__(self, folder: Path, scripts: bytes) -> None:
        super().__init__(folder)
        folder.mkdir(parents=True)
        (folder / "scripts.json").write_bytes(scripts)
        self.ledger = folder / "ledger.jsonl"

    def command(self) -> Sequence[str]:
        path = f"PYTHONPATH={CHECKOUT}:{CHECKOUT / 'service'}"
        files = ["--ledger", str(self.ledger), "--scripts", str(self.folder / "scripts.json")]
        return ["env", path, sys.executable, "-m", "tests.chaos.front_model", "--port", str(self.port), *files]

    def ready(self) -> bool:
        return b"http://" in self.log.read_bytes()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class Slot:
    """One process after the other in the same place, with the same port."""

    def __init__(self, process: Server) -> None:
        self.process = process
        self.strikes: list[Struck] = []
        self.absences: list[tuple[float, float]] = []
        """From a strike until the next one was ready, or had failed to be."""
        self.logs: list[str] = []
        """Of those that have ended."""
        self.deaths: list[str] = []
        """The last words of those that ended by themselves."""
        self._busy = asyncio.Lock()

    async def start(self) -> None:
        """It is ready then."""
        await asyncio.to_thread(self.process.start)

    async def strike(self, how: Strike) -> None:
        """End it, and start the next one; or let it stand still for some seconds."""
        async with self._busy:
            begin = time.time()
            if how == "freeze":
                self.process.freeze()
                await asyncio.sleep(FROZEN_S)
                self.process.thaw()
            else:
                await asyncio.to_thread(self.process.kill if how == "kill" else self.process.stop)
            self.strikes.append(Struck(how, begin, time.time()))
            if how != "freeze":
                await self._again()
            self.absences.append((begin, time.time()))

    async def watch(self) -> None:
        """For ever: start it again when it ended by itself."""
        while True:
            await asyncio.sleep(LOOK_S)
            async with self._busy:
                if not self.process.alive:
                    self.deaths.append(self.process.log_end())
                    self.strikes.append(Struck("died", time.time() - LOOK_S, time.time()))
                    await self._again()

    async def _again(self) -> None:
        self.logs.append(self.process.log.read_text(errors="replace"))
        (self.process.folder / "earlier.log").write_text("".join(self.logs))
        try:
            await self.start()
        except MissingServer as problem:  # Kafka is away for longer: the next look tries again
            self.deaths.append(str(problem))

    def log(self) -> str:
        """Of all lives."""
        return "\n".join([*self.logs, self.process.log.read_text(errors="replace")])


class FrontStage:
    """Two fronts, callers, workers, a gateway and a model server, with a broker and a Redis; a context manager."""

    def __init__(self, folder: Path, kafka: KafkaServer, redis: RedisServer, scripts: bytes, callers: int = 3) -> None:
        self.kafka = kafka
        self.broker = Slot(kafka)
        self.model = ModelServer(folder / "model", scripts)
        self._folder = folder
        self._redis = redis
        self._callers = callers
        self.fronts: list[Slot] = []
        self.callers: list[Slot] = []
        self.workers: list[Slot] = []
        self.gateways: list[Slot] = []
        self._stack = AsyncExitStack()
        self._watching: list[asyncio.Task[None]] = []

    @property
    def slots(self) -> list[Slot]:
        """Of all processes of ours."""
        return [*self.fronts, *self.callers, *self.workers, *self.gateways]

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await create_topics(Config(kafka=Kafka(bootstrap_servers=self.kafka.bootstrap)), PARTITIONS)
            self._started(stack, [self.model])
            await asyncio.to_thread(self.model.start)
            self._make()
            self._started(stack, [slot.process for slot in self.slots])
            await asyncio.gather(*(slot.start() for slot in self.slots))
            self._watching = [asyncio.create_task(slot.watch()) for slot in self.slots]
            stack.push_async_callback(self._unwatched)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._stack.aclose()

    @staticmethod
    def _started(stack: AsyncExitStack, processes: Iterable[Server]) -> None:
        for process in processes:
            stack.callback(process.kill)

    async def _unwatched(self) -> None:
        for task in self._watching:
            task.cancel()
        await asyncio.gather(*self._watching, return_exceptions=True)

    def _make(self) -> None:
        base, folder = self._settings(), self._folder
        self.fronts = [Slot(FrontAlone(folder / f"front-{at}", base)) for at in range(2)]
        self.callers = [
            Slot(CallerProcess(folder / f"caller-{at}", self._of_caller(at))) for at in range(self._callers)
        ]
        self.workers = [Slot(WorkerProcess(folder / f"worker-{at}", base)) for at in range(2)]
        self.gateways = [Slot(GatewayProcess(folder / "gateway", base))]

    def _of_caller(self, number: int) -> dict[str, Any]:
        """The first is a static member of its group."""
        settings = self._settings()
        if not number:
            settings["kafka"] = {**settings["kafka"], "group_instance_id": "caller-0"}
        return settings

    def _settings(self) -> dict[str, Any]:
        upstream = {"kind": "vllm", "urls": [self.model.url], "model": "test-model", "format": "hermes"}
        return {
            "kafka": {
                "bootstrap_servers": self.kafka.bootstrap,
                "session_timeout_ms": int(SESSION_S * 1000),
                "heartbeat_interval_ms": 300,
                "rebalance_timeout_ms": 10_000,
                "request_timeout_ms": 15_000,
            },
            "redis": {"url": self._redis.url},
            "worker": {"snapshot_interval_s": 0.5, "commit_interval_ms": 100},
            "gateway": {"flush_ms": 5},
            "front": {"disconnect_s": DISCONNECT_S, "answer_s": 120, "drain_s": 2},
            "caller": {"lease_s": LEASE_S, "drain_s": 2},
            "upstreams": [
                {"models": ["cut-off"], **upstream},
                {"models": ["goes-on"], "continues": True, **upstream},
            ],
        }

    def ports(self) -> list[int]:
        """Of the fronts."""
        return [slot.process.port for slot in self.fronts]

    def fates(self) -> Counter[str]:
        """What became of answers that were taken over, by the logs of the callers."""
        said = re.compile(r"took an answer over; its fate is ([\w-]+):")
        return Counter(fate for slot in self.callers for fate in said.findall(slot.log()))
