"""What is read of aiokafka's inside, which promises nothing: one function for each thing, with why it is needed.

Nothing else of the package reaches there, but `hung_brokers`, which changes how connections are made, and
`header_names`, which changes how records are read. The tests of this file ask a real broker through each of these: an
upgrade that moves something fails there.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient
from aiokafka.cluster import ClusterMetadata
from aiokafka.producer import sender
from aiokafka.protocol.admin import CreateTopicsRequest
from aiokafka.protocol.group import LeaveGroupRequest
from aiokafka.structs import OffsetAndMetadata

Task: TypeAlias = asyncio.Task[None]


# Brokers


def network(client: AIOKafkaConsumer | AIOKafkaAdminClient) -> AIOKafkaClient:
    """The way to brokers that is beneath, for requests that no public call makes."""
    return client._client


async def fresh_metadata(consumer: AIOKafkaConsumer) -> ClusterMetadata:
    """All topics as brokers know them now: no public call waits for that."""
    return await consumer._client.fetch_all_metadata()


def controller(admin: AIOKafkaAdminClient) -> object:
    """The broker that makes topics; None of a cluster that has none, or none yet."""
    return admin._client.cluster.controller


def makes_no_topics(admin: AIOKafkaAdminClient) -> bool:
    """Whether a broker that it is connected to has no request for that, as an embedded one."""
    connections = admin._client._conns.values()
    return any(each._versions and CreateTopicsRequest.API_KEY not in each._versions for each in connections)


# The group


def member_id_of(consumer: AIOKafkaConsumer) -> str:
    """The name that the group gave it."""
    return str(consumer._coordinator.member_id)


def generation_of(consumer: AIOKafkaConsumer) -> int:
    """Of the group when it became a member; 0 or less: it is none."""
    return int(consumer._coordinator.generation)


def coordinator_id(consumer: AIOKafkaConsumer) -> int | None:
    """The broker that keeps the group; None while none is known."""
    number: int | None = consumer._coordinator.coordinator_id
    return number


async def heartbeat(consumer: AIOKafkaConsumer) -> bool:
    """Whether the group knows the member: asked now, where the client's own beats answer nobody."""
    return bool(await consumer._coordinator._do_heartbeat())


async def leave_while_joining(consumer: AIOKafkaConsumer) -> None:
    """Leave the group where it has not let the member in yet, in which the client itself leaves none. Static ones stay.

    Over a connection of its own: a broker reads nothing from one whose request to join it has not answered.
    """
    coordinator = consumer._coordinator
    member = getattr(coordinator, "member_id", "")
    if not member or coordinator._heartbeat_task is not None or coordinator._group_instance_id is not None:
        return
    if coordinator.coordinator_id is not None:
        await consumer._client.send(coordinator.coordinator_id, LeaveGroupRequest(coordinator.group_id, member))


async def commit_once(consumer: AIOKafkaConsumer, marks: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
    """One commit as the member that this is now. `commit` tries again, as whatever it is by then."""
    await consumer._coordinator._do_commit_offsets(None, marks)


async def committed(
    consumer: AIOKafkaConsumer, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, OffsetAndMetadata]:
    """With its metadata, which the consumer's own method drops."""
    found: dict[TopicPartition, OffsetAndMetadata] = await consumer._coordinator.fetch_committed_offsets(
        list(partitions)
    )
    return found


# Tasks of its own, which may end while `getmany` and `send` go on, doing nothing


def reading_tasks(consumer: AIOKafkaConsumer) -> dict[str, Task]:
    """What a consumer can't do without, by what it does."""
    return {"fetching": consumer._fetcher._fetch_task, "coordination": consumer._coordinator._coordination_task}


def heartbeat_task(consumer: AIOKafkaConsumer) -> Task | None:
    """None until it is a member. It ends, and another begins, when the member joins anew."""
    task: Task | None = consumer._coordinator._heartbeat_task
    return task


def sending_task(producer: AIOKafkaProducer) -> Task:
    """What gets records from the producer to Kafka, once that has started."""
    task: Task = producer._sender.sender_task
    return task


def refuse_unsent(producer: AIOKafkaProducer, problem: Exception) -> None:
    """Let whoever waits for a record of a producer that is given up hear why it does not come."""
    producer._message_accumulator.fail_all(problem)
    consume_exceptions(producer)


def consume_exceptions(producer: AIOKafkaProducer) -> None:
    """Ask for the errors of a producer that is given up, which nobody waits for: the loop would complain of each."""
    accumulator, manager = producer._message_accumulator, producer._txn_manager
    batches = [*accumulator._pending_batches, *(batch for each in accumulator._batches.values() for batch in each)]
    futures = [batch._drain_waiter for batch in batches]
    if manager is not None and manager._transaction_waiter is not None:
        futures.append(manager._transaction_waiter)
    for future in futures:
        if future.done() and not future.cancelled():
            future.exception()


# Records


def position(consumer: AIOKafkaConsumer, partition: TopicPartition) -> int:
    """The next offset that the consumer gives; -1 while it does not know, for which `position()` would wait."""
    assignment = consumer._subscription.subscription.assignment
    state = assignment.state_value(partition) if assignment else None
    return state.position if state is not None and state.has_valid_position else -1


def positions(consumer: AIOKafkaConsumer) -> dict[TopicPartition, int | None]:
    """The same of all that is assigned, to compare: before each read, so it takes no call for each partition."""
    assignment = consumer._subscription.subscription.assignment
    return {tp: state._position for tp, state in assignment._tp_state.items()} if assignment else {}


def give_plain_records(consumer: AIOKafkaConsumer, convert: Callable[[Any, Any], Any]) -> None:
    """Have what was fetched, and not yet given out, made into records by `convert`: there is no option for it."""
    for batch in _fetched(consumer):
        batch._consumer_record = convert


def _fetched(consumer: AIOKafkaConsumer) -> Iterator[Any]:
    for result in consumer._fetcher._records.values():
        batch = getattr(result, "_partition_records", None)
        if batch is not None:
            yield batch


def appender(batch: Any) -> Callable[..., Any]:
    """The builder in C beneath a batch's own `append`, which asks each record for serializers.

    Takes the record's number in the batch, timestamp, key, value and headers; None if there is no room left.
    """
    append: Callable[..., Any] = batch._builder.append
    return append


def set_count(batch: Any, records: int) -> None:
    """Tell a batch how many records it has, where they went past its own count."""
    batch._relative_offset = records


def take_back(producer: AIOKafkaProducer, partition: TopicPartition, records: int) -> None:
    """So many records that it sent were refused: count on where the broker does, or what follows is refused, too."""
    producer._txn_manager._sequence_numbers[partition] -= records


# Transactions


def producer_id(producer: AIOKafkaProducer) -> tuple[int, int]:
    """The id and the epoch that the broker gave, which no public call tells."""
    manager = producer._txn_manager
    return int(manager.producer_id), int(manager.producer_epoch)


def try_again_after(seconds: float) -> None:
    """Of all producers: so soon a transaction is tried again whose last one's end is still being written."""
    sender.BACKOFF_OVERRIDE = seconds
