"""What the integration tests share: topics and workers of their own, input, and what is on the topics afterwards."""

import asyncio
import json
import re
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, Self

from aiokafka import AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.admin import RecordsToDelete

from tests.support.kept import Kept
from tests.support.topics import admin_of, alter_topic, grow_topics, make_topics, read_topic
from tokenmill.config import Config, Kafka, Topics
from tokenmill.partition import Mark, PartitionSettings
from tokenmill.records import InputRecord
from tokenmill.replay import replay_records
from tokenmill.replay.records import to_bytes
from tokenmill.servers.worker import WorkerProcess

Chunk = dict[str, Any]
Content = tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes], ...]]
"""Of a record: timestamp, key, value, headers."""

PARTITIONS = 6

LOOK_S = 0.1


class Restore(NamedTuple):
    """A partition that a worker made ready, from its log."""

    partition: int
    offset: int
    source: str


async def until(condition: Callable[[], Awaitable[Any] | Any], what: str, seconds: float = 60) -> Any:
    """Wait until the condition holds and answer what it gave. The wait has a deadline that fails the test."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        result = condition()
        if isinstance(result, Awaitable):
            result = await result
        if result:
            return result
        await asyncio.sleep(LOOK_S)
    raise AssertionError(f"not within {seconds:g} s: {what}")


class Stage:
    """Topics, workers and a producer of one test. Use it as an asynchronous context manager."""

    copies = 1
    """Brokers that hold each topic."""

    def __init__(self, folder: Path, bootstrap: str, unique: str, redis_url: str, partitions: int = PARTITIONS) -> None:
        self.folder = folder
        self.bootstrap = bootstrap
        self.group = f"group-{unique}"
        self.partitions = partitions
        names = {key: f"{key}-{unique}" for key in ("tokens", "events", "tool_calls", "tool_results", "dlq")}
        self.topics = Topics(**names)
        self.settings: dict[str, Any] = {
            "kafka": {
                "bootstrap_servers": bootstrap,
                "group_id": self.group,
                "session_timeout_ms": 2_000,
                "heartbeat_interval_ms": 300,
                "rebalance_timeout_ms": 10_000,
                "request_timeout_ms": 15_000,
            },
            "redis": {"url": redis_url, "key_prefix": unique},
            "topics": names,
            "worker": {"snapshot_interval_s": 0.5, "commit_interval_ms": 50, "log_format": "json"},
        }
        self.workers: list[WorkerProcess] = []
        self._stack = ExitStack()
        self._kept = Kept(bootstrap)
        self._producer: AIOKafkaProducer | None = None

    async def __aenter__(self) -> Self:
        await self.make_topics()
        self._producer = AIOKafkaProducer(
            bootstrap_servers=self.bootstrap,
            enable_idempotence=True,
            max_request_size=8 << 20,
            request_timeout_ms=60_000,
        )
        await self._producer.start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        if self._producer is not None:
            await self._producer.stop()
        await self._kept.close()
        for worker in self.workers:
            worker.kill()
        self._stack.close()

    async def make_topics(self, **configs: str) -> None:
        """All topics of the test; `configs` are those of each, with `_` for `.`."""
        names = [getattr(self.topics, key) for key in ("tokens", "events", "tool_calls", "dlq")]
        await make_topics(self.bootstrap, *names, partitions=self.partitions, copies=self.copies, **configs)

    async def raise_limit(self, topic: str, size: int) -> None:
        """Set how many bytes a record batch of the topic may have."""
        await alter_topic(self.bootstrap, topic, {"max.message.bytes": str(size)})

    async def grow(self, partitions: int, *names: str) -> None:
        """Add partitions to topics, and have the stage's producer know them."""
        assert self._producer is not None
        await grow_topics(self.bootstrap, *names, partitions=partitions)
        await self._producer.client.force_metadata_update()

    async def delete_records(self, number: int, before: int, topic: str = "") -> None:
        """Let a partition of the input, or of another topic, begin at this offset, as retention does."""
        async with admin_of(self.bootstrap) as admin:
            await admin.delete_records({TopicPartition(topic or self.topics.tokens, number): RecordsToDelete(before)})

    # Workers

    def prepare(self, **worker: Any) -> WorkerProcess:
        """A worker that is not started yet; the keyword arguments are settings of section `worker`."""
        settings = {**self.settings, "worker": {**self.settings["worker"], **worker}}
        process = WorkerProcess(self.folder / f"worker-{len(self.workers)}", settings)
        self.workers.append(process)
        return process

    async def start(self, **worker: Any) -> WorkerProcess:
        """A worker that is ready."""
        process = self.prepare(**worker)
        await asyncio.to_thread(process.start)
        return process

    def logged(self, *workers: WorkerProcess) -> list[dict[str, Any]]:
        """What workers (or all) have logged, as objects."""
        logs = [worker.log for worker in workers or self.workers if worker.log.exists()]
        lines = [line for log in logs for line in log.read_text(errors="replace").splitlines()]
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def restores(self) -> list[Restore]:
        """Every partition that became live, in every worker so far."""
        said = (
            re.fullmatch(r"\S+/(\d+): live at (\d+) after \S+ s, from (\w+)", line["message"]) for line in self.logged()
        )
        return [Restore(int(match[1]), int(match[2]), match[3]) for match in said if match]

    def sources(self) -> Counter[str]:
        """How many partitions were restored from where."""
        return Counter(restore.source for restore in self.restores())

    # Input

    async def send(
        self,
        key: str | bytes | None,
        value: Chunk | bytes | None,
        headers: Sequence[tuple[str, bytes]] = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> int:
        """Put one record on the tokens topic; answers its offset."""
        assert self._producer is not None
        content = json.dumps(value).encode() if isinstance(value, dict) else value
        sent = await self._producer.send_and_wait(
            self.topics.tokens,
            content,
            key=key.encode() if isinstance(key, str) else key,
            headers=list(headers),
            partition=partition,
            timestamp_ms=timestamp_ms,
        )
        return int(sent.offset)

    async def send_all(self, chunks: Iterable[tuple[str, Chunk | bytes | None]]) -> None:
        """Put many records there, in order, and wait for them."""
        assert self._producer is not None
        futures = []
        for key, value in chunks:
            content = json.dumps(value).encode() if isinstance(value, dict) else value
            futures.append(await self._producer.send(self.topics.tokens, content, key=key.encode()))
        await asyncio.gather(*futures)

    # What is there

    async def committed(self) -> dict[int, tuple[int, str]]:
        """Offset and metadata that the group committed, by partition."""
        found = await self._kept.committed(self.group)
        return {tp.partition: (at.offset, at.metadata) for tp, at in found.items() if at.offset >= 0}

    async def committed_at(self, offset: int, number: int = 0) -> str:
        """Wait until the group's offset of a partition is that; its metadata.

        Brokers answer the end of a transaction first, and show its offset soon behind that.
        """

        async def shown() -> bool:
            return (await self.committed()).get(number, (-1, ""))[0] == offset

        await until(shown, f"offset {offset} of partition {number} is committed")
        return (await self.committed())[number][1]

    async def ends(self) -> dict[int, int]:
        """Where each partition of the input ends."""
        return await self.ends_of(self.topics.tokens)

    async def ends_of(self, topic: str, isolation: str = "read_uncommitted") -> dict[int, int]:
        """Where each partition of a topic ends; for readers of what is committed, in front of an open transaction."""
        places = [TopicPartition(topic, number) for number in range(self.partitions)]
        return {tp.partition: end for tp, end in (await self._kept.ends(places, isolation)).items()}

    async def _transactions_over(self) -> bool:
        """Whether none is open on the outputs. The end of one is answered before it is written on all of them."""
        for topic in (self.topics.events, self.topics.tool_calls, self.topics.dlq):
            if await self.ends_of(topic, "read_committed") != await self.ends_of(topic):
                return False
        return True

    async def caught_up(self) -> bool:
        """Whether everything on the input is processed and committed."""
        committed, ends = await self.committed(), await self.ends()
        return all(committed.get(number, (0, ""))[0] == end for number, end in ends.items())

    async def at_rest(self) -> bool:
        """Whether everything on the input is committed, and by those commits nothing is open that will time out."""
        committed, ends = await self.committed(), await self.ends()
        marks = {number: Mark.decode(metadata) for number, (_, metadata) in committed.items()}
        return all(
            end == 0 or (committed.get(number, (0, ""))[0] == end and (mark := marks[number]) and mark.count == 0)
            for number, end in ends.items()
        )

    async def read(self, topic: str) -> list[ConsumerRecord]:
        """Everything on a topic that is committed, partition by partition."""
        return await read_topic(self.bootstrap, topic)

    async def events(self) -> list[dict[str, Any]]:
        """The native events, repeats included."""
        return [json.loads(record.value) for record in await self.read(self.topics.events)]

    async def expected(self) -> dict[tuple[str, int], list[Content]]:
        """What the oracle makes of the input topic as it is now, by output topic and partition."""
        config = Config(kafka=Kafka(bootstrap_servers=self.bootstrap), topics=self.topics)
        records = [
            InputRecord(r.topic, r.partition, r.offset, r.timestamp, r.key, r.value, list(r.headers))
            for r in await self.read(self.topics.tokens)
        ]
        result: dict[tuple[str, int], list[Content]] = {}
        for output in replay_records(records, PartitionSettings.from_config(config)):
            headers = tuple((name, to_bytes(value) or b"") for name, value in output["headers"])
            content = output["timestamp"], to_bytes(output["key"]), to_bytes(output["value"]), headers
            result.setdefault((output["topic"], output["partition"]), []).append(content)
        return result

    async def found(self) -> dict[tuple[str, int], list[Content]]:
        """What is on the output topics when no transaction is open, repeats included, by topic and partition."""
        await until(self._transactions_over, "every transaction is over")
        result: dict[tuple[str, int], list[Content]] = {}
        for topic in filter(
            None, (self.topics.events, self.topics.tool_calls, self.topics.dlq, self.topics.completions)
        ):
            result |= by_partition(await self.read(topic))
        return result


def by_partition(records: Iterable[ConsumerRecord]) -> dict[tuple[str, int], list[Content]]:
    """What records say, by topic and partition."""
    result: dict[tuple[str, int], list[Content]] = {}
    for record in records:
        content = record.timestamp, record.key, record.value, tuple(record.headers)
        result.setdefault((record.topic, record.partition), []).append(content)
    return result


def asked(worker: WorkerProcess, path: str) -> tuple[int, str]:
    """Status and text of an answer of the worker's web server; 0 if it does not answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{worker.port}{path}", timeout=2) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read().decode()
    except OSError:
        return 0, ""


def counted(worker: WorkerProcess, sample: str) -> float | None:
    """The number behind a name with its labels in the worker's metrics; None if there is none, or no answer."""
    lines = worker.metrics().splitlines()
    return next((float(line.removeprefix(f"{sample} ")) for line in lines if line.startswith(f"{sample} ")), None)


def without_repeats(contents: Iterable[Content]) -> list[Content]:
    """First occurrences, in order. What is published again must be the same, byte for byte (P4)."""
    seen: dict[tuple[bytes | None, ...], Content] = {}
    for content in contents:
        headers = dict(content[3])
        if "tm-error-code" in headers:
            identity: tuple[bytes | None, ...] = (headers["tm-source-partition"], headers["tm-source-offset"])
        else:
            names = ("tm-message-id", "tm-choice", "tm-seq", "tm-part")
            identity = (content[1], *(headers.get(name) for name in names))
        assert seen.setdefault(identity, content) == content, "a repeat that differs"
    return list(seen.values())
