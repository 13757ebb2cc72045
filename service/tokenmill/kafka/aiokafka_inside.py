"""What is used of aiokafka's internals, which promise nothing: one function for each thing, with why it is needed.

Nothing else in the package uses them, except `hung_brokers`, which changes how connections are made, and
`header_names` and `dropped_records`, which change how records are read and dropped. The tests of this file call each
of these with a real broker: an upgrade that moves something fails there.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient
from aiokafka.cluster import ClusterMetadata
from aiokafka.errors import KafkaError
from aiokafka.producer import sender
from aiokafka.protocol.admin import CreateTopicsRequest
from aiokafka.protocol.group import LeaveGroupRequest
from aiokafka.structs import OffsetAndMetadata

Task: TypeAlias = asyncio.Task[None]


# Brokers


def network(client: AIOKafkaConsumer | AIOKafkaAdminClient) -> AIOKafkaClient:
    """Return the client beneath, for requests that no public call makes."""
    return client._client


async def fresh_metadata(consumer: AIOKafkaConsumer, *topics: str) -> ClusterMetadata:
    """Return these topics as brokers have them now, and make none: the public calls want all topics of a cluster."""
    found = ClusterMetadata()
    found.need_all_topic_metadata = True  # one that is not there is no error
    if not await consumer._client._metadata_update(found, topics):
        raise KafkaError("no broker returned metadata")
    return found


def controller(admin: AIOKafkaAdminClient) -> object:
    """Return the broker that makes topics; None while the cluster has none."""
    return admin._client.cluster.controller


def makes_no_topics(admin: AIOKafkaAdminClient) -> bool:
    """Whether a connected broker lacks the request for that, as the embedded one does."""
    connections = admin._client._conns.values()
    return any(each._versions and CreateTopicsRequest.API_KEY not in each._versions for each in connections)


# The group


def member_id_of(consumer: AIOKafkaConsumer) -> str:
    """Return the id that the group gave the member."""
    return str(consumer._coordinator.member_id)


def generation_of(consumer: AIOKafkaConsumer) -> int:
    """Return the generation it joined in; 0 or less: it is not a member."""
    return int(consumer._coordinator.generation)


def coordinator_id(consumer: AIOKafkaConsumer) -> int | None:
    """Return the broker that keeps the group; None while none is known."""
    number: int | None = consumer._coordinator.coordinator_id
    return number


async def heartbeat(consumer: AIOKafkaConsumer) -> bool:
    """Whether the group knows the member, asked now: the client keeps the results of its own heartbeats to itself."""
    return bool(await consumer._coordinator._do_heartbeat())


async def leave_while_joining(consumer: AIOKafkaConsumer) -> None:
    """Leave a group whose join is still pending, which the client itself does not do. Static members stay.

    Over a connection of its own: a broker reads nothing from one whose request to join it has not answered.
    """
    coordinator = consumer._coordinator
    member = getattr(coordinator, "member_id", "")
    if not member or coordinator._heartbeat_task is not None or coordinator._group_instance_id is not None:
        return
    if coordinator.coordinator_id is not None:
        await consumer._client.send(coordinator.coordinator_id, LeaveGroupRequest(coordinator.group_id, member))


async def commit_once(consumer: AIOKafkaConsumer, marks: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
    """Commit once, as the member that this is now. `commit` tries again, as whatever member it is by then."""
    await consumer._coordinator._do_commit_offsets(None, marks)


async def committed(
    consumer: AIOKafkaConsumer, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return the commits with their metadata, which the consumer's own method drops."""
    found: dict[TopicPartition, OffsetAndMetadata] = await consumer._coordinator.fetch_committed_offsets(
        list(partitions)
    )
    return found


# Tasks of the clients, without which `getmany` and `send` still run, and do nothing


def reading_tasks(consumer: AIOKafkaConsumer) -> dict[str, Task]:
    """Return the tasks that a consumer can't do without, by what they do."""
    coordinator, metadata = consumer._coordinator, consumer._client._sync_task
    tasks = {"fetching": consumer._fetcher._fetch_task}
    if metadata is not None:  # a consumer that is stopped has none
        tasks["metadata"] = metadata
    if hasattr(coordinator, "_coordination_task"):  # a consumer without a group has none
        tasks["coordination"] = coordinator._coordination_task
    return tasks


def heartbeat_task(consumer: AIOKafkaConsumer) -> Task | None:
    """Return the task; None until it is a member. It ends, and another begins, when the member joins again."""
    task: Task | None = consumer._coordinator._heartbeat_task
    return task


def sending_task(producer: AIOKafkaProducer) -> Task:
    """Return the task that sends a producer's records, once that has started."""
    task: Task = producer._sender.sender_task
    return task


def refuse_unsent(producer: AIOKafkaProducer, problem: Exception) -> None:
    """Fail the records that a producer has not sent when it is given up, so that nobody waits for them."""
    producer._message_accumulator.fail_all(problem)
    consume_exceptions(producer)


def consume_exceptions(producer: AIOKafkaProducer) -> None:
    """Retrieve the errors of a producer that is given up: the loop would complain of each that is not awaited."""
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
    """Return the next offset of the consumer; -1 while it is not known, for which `position()` would wait."""
    assignment = consumer._subscription.subscription.assignment
    state = assignment.state_value(partition) if assignment else None
    return state.position if state is not None and state.has_valid_position else -1


def positions(consumer: AIOKafkaConsumer) -> dict[TopicPartition, int | None]:
    """Return the same for all that is assigned, to compare: before each read, so without a call per partition."""
    assignment = consumer._subscription.subscription.assignment
    return {tp: state._position for tp, state in assignment._tp_state.items()} if assignment else {}


def give_plain_records(consumer: AIOKafkaConsumer) -> None:
    """Have what is fetched, and not yet returned, come as its decoder, in C, gives it: there is no option for it.

    To make a `ConsumerRecord` of each record costs more than all reading before it, and adds only topic and partition.
    What arrives during the next `getmany` comes as `ConsumerRecord`s, which serve as well.
    """
    for batch in _fetched(consumer):
        batch._consumer_record = _as_it_is


def _as_it_is(_: object, record: Any) -> Any:
    return record


def _fetched(consumer: AIOKafkaConsumer) -> Iterator[Any]:
    for result in consumer._fetcher._records.values():
        batch = getattr(result, "_partition_records", None)
        if batch is not None:
            yield batch


def appender(batch: Any) -> Callable[..., Any]:
    """Return the C builder's `append`; the batch's own looks for serializers with each record.

    It takes the record's number in the batch, timestamp, key, value and headers, and returns None if there is no room.
    """
    append: Callable[..., Any] = batch._builder.append
    return append


def set_count(batch: Any, records: int) -> None:
    """Set how many records a batch has that were appended without its counting them."""
    batch._relative_offset = records


def take_back(producer: AIOKafkaProducer, partition: TopicPartition, records: int) -> None:
    """The broker refused this many records: step back to its sequence number, or all that follows is refused too."""
    producer._txn_manager._sequence_numbers[partition] -= records


# Transactions


def producer_id(producer: AIOKafkaProducer) -> tuple[int, int]:
    """Return the id and the epoch that the broker gave, which no public call returns."""
    manager = producer._txn_manager
    return int(manager.producer_id), int(manager.producer_epoch)


def try_again_after(seconds: float) -> None:
    """For all producers: seconds until a transaction is begun again while the end of the last one is being written."""
    sender.BACKOFF_OVERRIDE = seconds
