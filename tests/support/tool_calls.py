"""Calls on a topic, runners of them, and what came of each."""

import asyncio
import re
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Self

import msgspec
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from tests.structure.tree import CHECKOUT
from tests.support.stage import Stage
from tests.support.topics import make_topics, read_topic
from tests.support.warm_tools import warm
from tokenmill.config import Config, Kafka, Tools, Topics
from tokenmill.events import Finish, ToolCall, ToolResult, decode_event
from tokenmill.kafka.clients import make_producer
from tokenmill.kafka.transaction import Transaction, transactional_id
from tokenmill.observe import TOOLS_METRICS, Numbers
from tokenmill.process import Deadline
from tokenmill.servers.tools import ToolsProcess
from tokenmill.tools.link import Links
from tokenmill.tools.runner import Runner

PARTITIONS = 3

NOTED = {"weather__note", "weather__sign"}
"""Tools that write down what they do."""


def weather(**settings: Any) -> dict[str, Any]:
    """A server in a file of servers: `mcp_server`, which has its imports already."""
    return {"command": sys.executable, "args": list(warm()), "cwd": str(CHECKOUT), **settings}


async def runner_settings(stage: Stage, unique: str, **tools: Any) -> dict[str, dict[str, Any]]:
    """Of a runner of the calls that a stage's workers find; its topics are made, with names of its own."""
    names = {key: f"{key}-{unique}" for key in ("tool_state", "tool_control")}
    for name in (*names.values(), stage.topics.tool_results):
        await make_topics(stage.bootstrap, name, partitions=stage.partitions)
    return {
        "kafka": stage.settings["kafka"],
        "topics": {**stage.settings["topics"], **names},
        "tools": {"group_id": f"tools-{unique}", **tools},
    }


class Calls:
    """Topics of one test, and runners on them."""

    def __init__(self, folder: Path, bootstrap: str, unique: str, **tools: Any) -> None:
        self.folder = folder
        self.bootstrap = bootstrap
        names = {key: f"{key}-{unique}" for key in ("tool_calls", "tool_results", "tool_state", "tool_control")}
        self.topics = Topics(**names)
        self.settings: dict[str, dict[str, Any]] = {
            "kafka": {
                "bootstrap_servers": bootstrap,
                "session_timeout_ms": 2_000,
                "heartbeat_interval_ms": 300,
                "rebalance_timeout_ms": 10_000,
            },
            "topics": names,
            "tools": {"group_id": unique, "handover_s": 0.5, "drain_s": 5} | tools,
        }
        self.ledger = folder / "ledger"
        self.runners: list[ToolsProcess] = []

    async def __aenter__(self) -> Self:
        topics = self.topics
        for name in (topics.tool_calls, topics.tool_results, topics.tool_state, topics.tool_control):
            await make_topics(self.bootstrap, name, partitions=PARTITIONS)
        self._producer = AIOKafkaProducer(bootstrap_servers=self.bootstrap)
        await self._producer.start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._producer.stop()
        for runner in self.runners:
            runner.kill()

    def runner(self, servers: Mapping[str, Any] | None = None) -> ToolsProcess:
        """A new one, not started."""
        folder = self.folder / f"runner-{len(self.runners)}"
        folder.mkdir()
        self.runners.append(ToolsProcess(folder, self.settings, servers or {"weather": weather()}))
        return self.runners[-1]

    async def call(
        self,
        id_: str,
        name: str = "weather__note",
        partition: int = 0,
        age_s: float = 0,
        message: str = "m",
        **more: Any,
    ) -> None:
        """Put a call on the topic, as a worker does."""
        arguments = {"words": id_, "ledger": str(self.ledger)} | more if name in NOTED else more
        event = ToolCall(id_, name, arguments, conversation_id=f"c{partition}", message_id=message, seq=1, time=1)
        headers = [("tm-message-id", b"m"), ("tm-opened", b"77"), ("traceparent", b"00-ab-cd-01")]
        await self._producer.send_and_wait(
            self.topics.tool_calls,
            msgspec.json.encode(event),
            key=event.conversation_id.encode(),
            partition=partition,
            headers=headers,
            timestamp_ms=int((time.time() - age_s) * 1000),
        )

    async def cancel(self, conversation: str, message: str) -> None:
        """Say that the message was cancelled, as a worker does."""
        end = Finish("cancelled", conversation_id=conversation, message_id=message, seq=2, time=2)
        await self._producer.send_and_wait(
            self.topics.tool_calls,
            msgspec.json.encode(end),
            key=conversation.encode(),
            partition=int(conversation.removeprefix("c")),
            headers=[("tm-message-id", b"m"), ("tm-opened", b"77")],
        )

    async def results(self) -> dict[str, list[ToolResult]]:
        """What was answered, by the ids of the calls."""
        found: dict[str, list[ToolResult]] = {}
        for record in await read_topic(self.bootstrap, self.topics.tool_results):
            result = decode_event(record.value)
            if not isinstance(result, ToolResult):
                continue
            found.setdefault(result.id, []).append(result)
        return found

    async def answered(self, *ids: str) -> bool:
        """Whether all of these are."""
        return set(ids) <= (await self.results()).keys()

    def effects(self) -> list[str]:
        """What the tools did."""
        return self.ledger.read_text().splitlines() if self.ledger.exists() else []


def owned(runner: ToolsProcess) -> float:
    """The number of partitions that a runner has; 0 if it does not answer."""
    found = re.search(r"^tokenmill_tools_partitions (\S+)$", runner.metrics(), re.MULTILINE)
    return float(found[1]) if found else 0


def runner_of(calls: Calls, deadline: Deadline | None = None) -> Runner:
    """A runner in this process, without servers."""
    config = Config(kafka=Kafka(**calls.settings["kafka"]), topics=calls.topics, tools=Tools(**calls.settings["tools"]))
    return Runner(config, Links(()), Numbers(TOOLS_METRICS), deadline=deadline)


async def left(calls: Calls, unique: str, offset: OffsetAndMetadata) -> None:
    """Commit for the first partition, as its owner before."""
    make = partial(make_producer, Kafka(bootstrap_servers=calls.bootstrap), transactional_id=unique)
    other = Transaction(make, unique, unique, 10, lambda _: None)
    await other.open()
    await other.commit(TopicPartition(calls.topics.tool_calls, 0), offset, nothing)
    await other.close(5)


async def nothing() -> None:
    """All of it is acknowledged."""


async def owner_of(runner: Runner, place: TopicPartition) -> Transaction:
    """Another owner of a partition, which has fenced the one before."""
    kafka = runner._kafka
    name = transactional_id(kafka, place.topic, place.partition)
    owner = Transaction(partial(make_producer, kafka, transactional_id=name), name, kafka.group_id, 10, lambda _: None)
    await owner.open()
    return owner


async def refusal_of(owner: Transaction, place: TopicPartition) -> BaseException | None:
    """Why an owner can't commit."""
    commit = owner.commit(place, OffsetAndMetadata(0, ""), nothing)
    (problem,) = await asyncio.gather(commit, return_exceptions=True)
    return problem
