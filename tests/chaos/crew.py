"""The workers of a run and who starts them again, as a supervisor would, whatever they ended of."""

import asyncio
import json
import math
import os
import signal
import time
from typing import Any, Self

from tests.support.stage import Stage, until
from tokenmill.errors import MissingServer
from tokenmill.servers.process import free_port
from tokenmill.servers.worker import WorkerProcess

WORKERS = 3

START_S = 240.0
"""For a worker to start, and for all to be there: seconds on a quiet machine, and no finding on a busy one."""

STATIC = {"session_timeout_ms": 60_000, "rebalance_timeout_ms": 60_000, "request_timeout_ms": 70_000}
"""Of static members: the session is longer than a restart takes on a busy machine, or others get the partitions."""


class Life:
    """One worker process, from its start to its end. Times are in seconds since the epoch, as in logs."""

    def __init__(self, worker: WorkerProcess, slot: int, instance: str | None) -> None:
        self.worker = worker
        self.slot = slot
        self.instance = instance
        """The id of a static member."""
        self.told = ""
        """What was done to it last: `kill`, `terminate` or `freeze`."""
        self.told_at = 0.0
        self.struck: list[float] = []
        """When it was killed or frozen: from then on its partitions are nobody's."""
        self.frozen = False
        """Whether it was a zombie once."""
        self.began = time.time()
        self.ready_at = 0.0
        self.ended_at = 0.0
        self.code: int | None = None
        """The exit code; negative is the number of a signal."""
        self._read: tuple[int, list[dict[str, Any]]] = (0, [])
        """How many characters of its log were looked at last, and what they say."""

    @property
    def alive(self) -> bool:
        """Whether it was started and has not ended."""
        return not self.ended_at and self.worker.alive

    @property
    def working(self) -> bool:
        """Whether it has been ready, and nothing was done to it since."""
        return bool(self.ready_at) and self.alive and not self.told

    def kill(self) -> None:
        """SIGKILL."""
        self._signal(signal.SIGKILL, "kill")

    def terminate(self) -> None:
        """SIGTERM."""
        self._signal(signal.SIGTERM, "terminate")

    def freeze(self) -> None:
        """SIGSTOP."""
        self._signal(signal.SIGSTOP, "freeze")
        self.frozen = True

    def thaw(self) -> None:
        """SIGCONT."""
        os.kill(self.worker.pid, signal.SIGCONT)

    def woke_up(self) -> None:
        """It was frozen, and has noticed what it missed: if it is still there it is one of the others again."""
        self.told = "" if self.alive else "freeze"

    def _signal(self, number: signal.Signals, told: str) -> None:
        os.kill(self.worker.pid, number)
        self.told, self.told_at = told, time.time()
        if told != "terminate":
            self.struck.append(self.told_at)

    def lines(self) -> list[dict[str, Any]]:
        """What it has logged."""
        log = self._log()
        if len(log) != self._read[0]:
            lines = [json.loads(line) for line in log.splitlines() if line.startswith("{") and line.endswith("}")]
            self._read = len(log), lines
        return self._read[1]

    def last_words(self) -> str:
        """Why it ended: the first critical line, else what it wrote that is no log: first and last line of that."""
        critical = [str(line["message"]) for line in self.lines() if line["level"] == "critical"]
        other = [line for line in self._log().splitlines() if line.strip() and not line.startswith("{")]
        return critical[0] if critical else " ... ".join(dict.fromkeys([*other[:1], *other[-1:]]))

    def _log(self) -> str:
        return self.worker.log.read_text(errors="replace") if self.worker.log.exists() else ""


class Crew:
    """So many workers; who ends is started again with the settings of that moment. An asynchronous context manager."""

    def __init__(self, stage: Stage, **worker: Any) -> None:
        """`worker` are settings of that section."""
        self._stage = stage
        self._worker = worker
        self.lives: list[Life] = []
        self.static = False
        """Whether workers that start from now on are static members."""
        self._keepers: list[asyncio.Task[None]] = []
        self._over = False

    async def __aenter__(self) -> Self:
        self._keepers = [asyncio.create_task(self._keep(slot)) for slot in range(WORKERS)]
        await self.complete()
        return self

    async def __aexit__(self, *exception: object) -> None:
        self._over = True
        for life in self.lives:
            if life.alive:
                life.kill()
        await asyncio.gather(*self._keepers)

    def working(self) -> list[Life]:
        """Those that faults may choose from."""
        return [life for life in self.lives if life.working]

    def current(self, slot: int) -> Life:
        """The life that a slot is at."""
        return next(life for life in reversed(self.lives) if life.slot == slot)

    async def complete(self, seconds: float = START_S) -> list[Life]:
        """Wait until all workers are there and have everything restored."""

        async def ready() -> list[Life]:
            working = self.working()
            answers = await asyncio.gather(*(asyncio.to_thread(life.worker.ready) for life in working))
            return working if len(working) == WORKERS and all(answers) else []

        found: list[Life] = await until(ready, "all workers are there", seconds)
        return found

    async def restart(self, slot: int) -> None:
        """One of a rolling restart: told to end, and waited for until the next one is ready."""
        life = self.current(slot)
        if life.alive:
            life.terminate()
        await until(
            lambda: self.current(slot) is not life and self.current(slot).ready_at, "it is there again", START_S
        )

    async def stop(self) -> None:
        """Tell all to end, and start none again."""
        self._over = True
        for life in self.working():
            life.terminate()
        await asyncio.gather(*self._keepers)

    async def _keep(self, slot: int) -> None:
        while not self._over:
            life = self._life(slot)
            self.lives.append(life)
            try:
                await asyncio.to_thread(life.worker.start)
                life.ready_at = time.time()
                await until(lambda: not life.worker.alive, "it ends", math.inf)  # noqa: B023 -- waited for here
                life.code = life.worker.process.returncode
            except MissingServer:
                life.code = None  # it ended, or was ended, before it was ready
            life.ended_at = time.time()

    def _life(self, slot: int) -> Life:
        settings = dict(self._stage.settings)
        settings["worker"] = settings["worker"] | self._worker
        instance = f"worker-{slot}" if self.static else None
        if instance:
            settings["kafka"] = settings["kafka"] | STATIC | {"group_instance_id": instance}
        worker = WorkerProcess(self._stage.folder / f"life-{len(self.lives)}", settings)
        worker.port = free_port()
        worker.start_s = START_S
        self._stage.workers.append(worker)
        return Life(worker, slot, instance)
