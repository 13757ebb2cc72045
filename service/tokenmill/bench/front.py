"""The front's cost and delay, compared with the same clients directly at the same model server.

Processes: a Kafka, a Redis, a worker, a front with its caller, a cheap model server, and clients. The same code takes
both ways in turns.
"""

import asyncio
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from tokenmill.bench.answer_clients import AnswerClients, Got, Job
from tokenmill.bench.clock import Progress, p50_p99
from tokenmill.bench.front_report import LOADS, RATE, Compared, Load, Report, Side
from tokenmill.bench.front_stops import measure_stops
from tokenmill.bench.load import PARTITIONS
from tokenmill.bench.model_server import MODEL, ModelServer
from tokenmill.bench.processes import processor_seconds, queued_seconds
from tokenmill.config import Config, Kafka
from tokenmill.errors import FatalError
from tokenmill.kafka.topics import create_topics
from tokenmill.servers import KafkaServer, RedisServer
from tokenmill.servers.front import FrontProcess
from tokenmill.servers.ours import Settings
from tokenmill.servers.process import Server
from tokenmill.servers.worker import WorkerProcess

WARM_UP_S, MEASURED_S = 3.0, 10.0

SPREAD_S = 1.0
"""Seconds over which clients start whose answers take no time."""

PLACES = 10_000
"""A limit above the number of concurrent answers."""


def run_front_bench(*, rounds: int, stops: int, flush_ms: int, progress: Progress) -> Report:
    """Measure with its own Kafka and Redis (java and mvn needed)."""
    with tempfile.TemporaryDirectory(prefix="tokenmill-bench-") as name, ExitStack() as running:
        bench = _Bench(Path(name), flush_ms, running)
        compared = [bench.compared(load, rounds, progress) for load in LOADS]
        progress(f"{stops} answers that are cancelled")
        return Report(compared, asyncio.run(measure_stops(bench.front.url, bench.model, stops)), flush_ms)


class _Bench:
    """All processes except the clients."""

    def __init__(self, folder: Path, flush_ms: int, running: ExitStack) -> None:
        self._folder = folder
        self._kafka = running.enter_context(KafkaServer(folder / "kafka"))
        redis = running.enter_context(RedisServer(folder / "redis"))
        asyncio.run(create_topics(Config(kafka=Kafka(bootstrap_servers=self._kafka.bootstrap)), PARTITIONS))
        self.model = running.enter_context(ModelServer(folder / "model", RATE))
        upstream = {"models": [MODEL], "kind": "vllm", "urls": [self.model.url], "format": "hermes", "calls": PLACES}
        common: Settings = {
            "kafka": {"bootstrap_servers": self._kafka.bootstrap},
            "redis": {"url": redis.url},
        }
        self._worker = running.enter_context(WorkerProcess(folder / "worker", common))
        gateway = {"flush_ms": flush_ms, "connections_per_principal": PLACES}
        settings: Settings = {**common, "gateway": gateway, "caller": {"answers": PLACES}, "upstreams": [upstream]}
        self.front = running.enter_context(FrontProcess(folder / "front", settings))

    def compared(self, load: Load, rounds: int, progress: Progress) -> Compared:
        """Measure both ways under a load."""
        compared = Compared(load, [], [])
        for number in range(1, rounds + 1):
            progress(f"{load.name}, round {number} of {rounds}: the model server")
            compared.direct.append(self._measured(load, self.model, {}))
            progress(f"{load.name}, round {number} of {rounds}: the front")
            behind = {"front and caller": self.front, "worker": self._worker, "broker": self._kafka}
            compared.front.append(self._measured(load, self.front, behind))
        return compared

    def _measured(self, load: Load, server: Server, behind: Mapping[str, Server]) -> Side:
        asked = self.model.seen().generations
        spread_s = max(SPREAD_S, load.tokens / RATE)
        job = Job(server.port, load.clients, load.tokens, spread_s, WARM_UP_S, MEASURED_S)
        with AnswerClients(self._folder, job) as clients:
            pids = {name: each.pid for name, each in behind.items()}
            pids |= {"model server": self.model.pid, "clients": clients.pid}
            clients.begun()
            before, in_line = _spent(pids), queued_seconds(server.pid) or 0.0
            clients.over()
            after, in_line = _spent(pids), (queued_seconds(server.pid) or 0.0) - in_line
            got = clients.got()
        if (generations := self.model.seen().generations - asked) != got.asked:
            raise FatalError(f"{got.asked} answers were asked for, and the model gave {generations}")
        return _side(got, {name: after[name] - before[name] for name in pids}, in_line)


def _spent(pids: Mapping[str, int]) -> dict[str, float]:
    """Return the seconds of processor time so far."""
    found = {name: processor_seconds(pid) for name, pid in pids.items()}
    if None in found.values():
        raise FatalError("this system does not tell the processor time of another process")
    return {name: seconds or 0.0 for name, seconds in found.items()}


def _side(got: Got, spent: Mapping[str, float], in_line: float) -> Side:
    tokens = len(got.token_ms)
    costs = {name: seconds * 1e6 / tokens for name, seconds in spent.items()}
    rates = got.answers / got.seconds, tokens / got.seconds
    return Side(*rates, *p50_p99(got.first_ms), *p50_p99(got.token_ms), costs, in_line / got.seconds)
