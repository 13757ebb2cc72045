"""Which log a topic is now, what it holds, and up to where that is what was committed (design 4.13).

A broker that was away, frozen or cut off continues as if nothing had happened until it hears of the others: with the
metadata and the ends of before. So metadata are always fetched, offsets only from the leader that they name and with
its epoch, and a leader whose epoch is older than what is committed is not believed.
"""

import asyncio
import random
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from aiokafka import TopicPartition
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import IncompatibleBrokerVersion, UnknownTopicOrPartitionError, for_code

from tokenmill.config import Kafka
from tokenmill.errors import Unavailable
from tokenmill.kafka.aiokafka_inside import network
from tokenmill.kafka.calls import deadline
from tokenmill.kafka.clients import make_admin
from tokenmill.kafka.log_protocol import (
    BEGINNING,
    END,
    EPOCH_ENDS,
    WITH_EPOCHS,
    WITH_IDS,
    Ask,
    epoch_ends,
    list_offsets,
    metadata,
)
from tokenmill.partition import UNKNOWN_EPOCH, UNKNOWN_LOG, LogId, Mark

ANSWER_S = 3.0
"""Seconds for one broker's answer; then the next is asked."""

_EPOCH_ERRORS = {74: "it leads in a newer epoch", 75: "it has not heard of its epoch", 78: "it is new and catches up"}
"""Codes that the client has no name for (KIP-320, KIP-207)."""


class NoTopic(Unavailable):
    """There is no topic of that name now."""


class Leader(NamedTuple):
    """The leader of a partition."""

    node: int
    epoch: int
    """Number of elections so far; -1 if the broker does not report it."""


class TopicLog(NamedTuple):
    """A topic, as a broker sees it."""

    log: LogId
    leaders: dict[int, Leader]
    """By partition."""


class Extent(NamedTuple):
    """What the topic holds of a partition: from `first` up to and without `end`."""

    first: int
    end: int
    log: LogId = UNKNOWN_LOG
    """Which log it is."""
    epoch: int = UNKNOWN_EPOCH
    """The leader's epoch."""
    shared: int | None = None
    """Offset up to which it is what was read when the mark was made. None: unknown, or not asked for."""

    @property
    def agreed(self) -> int:
        """Return the highest offset that a commit may have."""
        return self.end if self.shared is None else min(self.end, self.shared)


async def look(client: AIOKafkaClient, topic: str, known: LogId = UNKNOWN_LOG) -> TopicLog:
    """Return the topic as the first broker that answers sees it. Raises `Unavailable`, `NoTopic` if there is none.

    Another log than the `known` one is believed when most brokers report it: one that was away may report it, too.
    """
    found = _read(await _metadata(client, topic))
    if found.log.is_another(known):
        nodes = [broker.nodeId for broker in client.cluster.brokers()]
        asked = (_answer(client, node, metadata(topic)) for node in nodes)
        answers = await asyncio.gather(*asked, return_exceptions=True)
        agreeing = [answer for answer in answers if not isinstance(answer, BaseException) and _is(answer, found.log)]
        if 2 * len(agreeing) <= len(nodes):
            raise Unavailable(f"Kafka: {topic} is {found.log} to {len(agreeing)} of {len(nodes)} brokers, not {known}")
    return found


def _is(answer: Any, log: LogId) -> bool:
    try:
        return _read(answer).log == log
    except Unavailable:
        return False


def unrecognised(found: TopicLog) -> Iterator[str]:
    """Yield what can't be recognised because the broker does not report it, as ends of sentences about it."""
    if not found.log.cluster:
        yield "reports no id of its cluster: another cluster with the same names must not share this Redis"
    if not found.log.topic:
        yield "reports no ids of topics: a topic that is deleted and made again is taken for the old one"
    if any(leader.epoch == UNKNOWN_EPOCH for leader in found.leaders.values()):
        yield "reports no epochs of leaders: one that was away is believed with what it had before"


async def cluster_id(kafka: Kafka) -> str:
    """Return the id of the cluster; empty if it reports none. Raises `Unavailable` if it does not answer."""
    async with make_admin(kafka) as admin:
        return (await _metadata(network(admin), "")).cluster_id or ""


async def _metadata(client: AIOKafkaClient, topic: str) -> Any:
    nodes = [broker.nodeId for broker in client.cluster.brokers()]
    random.shuffle(nodes)
    why = "Kafka: there is no broker to ask about topics"
    for node in nodes:
        try:
            return await _answer(client, node, metadata(topic))
        except Unavailable as problem:
            why = str(problem)
    raise Unavailable(why)


def _read(response: Any) -> TopicLog:
    [(code, name, *more)] = response.topics
    if code:
        error = for_code(code)
        raise (NoTopic if error is UnknownTopicOrPartitionError else Unavailable)(f"Kafka: {name}: {error.__name__}")
    with_ids, with_epochs = response.API_VERSION >= WITH_IDS, response.API_VERSION >= WITH_EPOCHS
    topic_id = more[0] if with_ids else ""
    partitions = more[2] if with_ids else more[1]
    leaders = {number: Leader(node, rest[0] if with_epochs else UNKNOWN_EPOCH) for _, number, node, *rest in partitions}
    return TopicLog(LogId(response.cluster_id or "", topic_id), leaders)


async def extents_of(
    client: AIOKafkaClient, marks: Mapping[TopicPartition, Mark | None]
) -> dict[TopicPartition, Extent]:
    """Return the same as `extents`, for partitions of any topic."""
    found: dict[TopicPartition, Extent] = {}
    for topic in {tp.topic for tp in marks}:
        of_topic = {tp.partition: mark for tp, mark in marks.items() if tp.topic == topic}
        for number, extent in (await extents(client, topic, of_topic)).items():
            found[TopicPartition(topic, number)] = extent
    return found


async def extents(client: AIOKafkaClient, topic: str, marks: Mapping[int, Mark | None]) -> dict[int, Extent]:
    """Return what the topic holds now, by partition; `marks` are what was committed of each.

    Raises `Unavailable` also for a leader that can't be believed, which passes.
    """
    known = (mark.log for mark in marks.values() if mark is not None)
    found = await look(client, topic, next(known, UNKNOWN_LOG))
    by_node: dict[int, dict[int, int]] = {}
    for number, mark in marks.items():
        leader = found.leaders.get(number, Leader(-1, UNKNOWN_EPOCH))
        _believe(f"{topic}/{number}", found.log, leader, mark)
        by_node.setdefault(leader.node, {})[number] = leader.epoch
    ends: dict[int, Extent] = {}
    for part in await asyncio.gather(*(_of_node(client, topic, found, each, marks) for each in by_node.items())):
        ends |= part
    return ends


def _believe(place: str, log: LogId, leader: Leader, mark: Mark | None) -> None:
    if leader.node < 0:
        raise Unavailable(f"Kafka: {place} has no leader")
    if mark is None or log.is_another(mark.log) or leader.epoch == UNKNOWN_EPOCH:
        return
    if leader.epoch < mark.epoch:
        raise Unavailable(
            f"Kafka: {place}: broker {leader.node} is said to lead it in epoch {leader.epoch}, "
            f"but what is committed was written in epoch {mark.epoch}: these metadata are older"
        )


async def _of_node(
    client: AIOKafkaClient,
    topic: str,
    found: TopicLog,
    asked: tuple[int, dict[int, int]],
    marks: Mapping[int, Mark | None],
) -> dict[int, Extent]:
    """Return extents of partitions that one broker leads; `asked` is its number and its epochs as their leader."""
    node, epochs = asked
    ends = await _offsets(client, node, list_offsets(topic, epochs, END))
    firsts = await _offsets(client, node, list_offsets(topic, epochs, BEGINNING))
    wanted = {
        number: (epoch, mark.epoch)
        for number, epoch in epochs.items()
        if (mark := marks[number]) and min(epoch, mark.epoch) >= 0 and not found.log.is_another(mark.log)
    }
    shared = await _offsets(client, node, epoch_ends(topic, wanted)) if wanted else {}
    for number, until in shared.items():
        if (mark := marks[number]) and ends[number] < mark.offset <= until:
            raise Unavailable(f"Kafka: {topic}/{number}: broker {node} has what is committed, but does not show it yet")
    return {
        number: Extent(firsts[number], ends[number], found.log, epoch, shared.get(number))
        for number, epoch in epochs.items()
    }


async def _offsets(client: AIOKafkaClient, node: int, request: Ask) -> dict[int, int]:
    """Return the leader's answers, by partition; none where a broker does not know the request, or the answer."""
    try:
        response = await _answer(client, node, request)
    except Unavailable as problem:
        if request.key == EPOCH_ENDS and isinstance(problem.__cause__, IncompatibleBrokerVersion):
            return {}
        raise
    result = {}
    for topic, partitions in response.topics:
        for row in partitions:
            number, code, offset = _fields(request, row)
            if code:
                why = _EPOCH_ERRORS.get(code) or for_code(code).__name__
                raise Unavailable(f"Kafka: offsets of {topic}/{number} from broker {node}: {why}")
            if offset >= 0:
                result[number] = offset
    return result


def _fields(request: Ask, row: tuple[int, ...]) -> tuple[int, int, int]:
    """Return partition, error and offset."""
    if request.key == EPOCH_ENDS:
        return row[1], row[0], row[3]
    return row[0], row[1], row[3]


async def _answer(client: AIOKafkaClient, node: int, request: Ask) -> Any:
    return await deadline(client.send(node, request), f"ask broker {node}", ANSWER_S)
