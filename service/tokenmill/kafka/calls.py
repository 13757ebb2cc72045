"""Limits for calls to Kafka: a deadline for each, patience with a broker, and starts and ends of clients."""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Protocol, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import (
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    KafkaError,
    NotCoordinatorForGroupError,
    ProducerClosed,
)

from tokenmill.errors import CLOSED, Unavailable
from tokenmill.kafka import dropped_records, header_names, hung_brokers  # noqa: F401 -- two change how clients read
from tokenmill.kafka.aiokafka_inside import (
    consume_exceptions,
    leave_while_joining,
    network,
    refuse_unsent,
    sending_task,
)
from tokenmill.tasks import looked_at

log = logging.getLogger(__name__)

T = TypeVar("T")

NO_COORDINATOR = (GroupCoordinatorNotAvailableError, NotCoordinatorForGroupError, GroupLoadInProgressError)
"""Errors of a broker that does not know yet who keeps a group's offsets: a new cluster makes a topic for them first."""

CALL_S = 15.0
"""Seconds for one call to the broker that is not a join, a fetch or a produce request."""

STOOD_S = 1.0
"""A timer this late means that the whole process stood still, as in `docker pause`."""

CUT_S = 1.0
"""Seconds for each step of ending a client that did not end by itself."""

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 5.0
"""Seconds between two attempts at what is not available yet: each pause is twice as long as the one before."""


class Client(Protocol):
    """What aiokafka's clients have in common."""

    async def start(self) -> None: ...
    async def stop(self) -> None: ...


C = TypeVar("C", bound=Client)


async def deadline(call: Awaitable[T], what: str, seconds: float = CALL_S) -> T:
    """Return the result of a call that may not take longer. Raises `Unavailable` for a time-out or an error of Kafka's.

    `asyncio.wait_for` is used nowhere: until Python 3.12 it loses a cancellation that comes with the result.
    """
    try:
        async with _within(seconds):
            return await call
    except TimeoutError as problem:
        raise Unavailable(f"Kafka: {what}: no answer within {seconds:g} s") from problem
    except hung_brokers.NotReachable as problem:
        raise Unavailable(problem.sentence) from problem
    except (KafkaError, OSError) as problem:
        raise Unavailable(f"Kafka: {what}: {problem!r}") from problem
    except RuntimeError as problem:
        if CLOSED not in str(problem):
            raise
        raise Unavailable(f"Kafka: {what}: the connection is gone") from problem


@asynccontextmanager
async def _within(seconds: float) -> AsyncIterator[None]:
    """`asyncio.timeout`, except that a stop of the whole process does not count as the broker's silence.

    When the process continues, all is due at once: the answer, the end of a poll, and this. So an answer that is there
    is taken first, and after a long stop the call gets its full time once more.
    """
    loop = asyncio.get_running_loop()
    due = loop.time() + seconds
    async with asyncio.timeout(None) as limit:

        def ring() -> None:
            stood = loop.time() - due > STOOD_S
            limit.reschedule(loop.time() + (seconds if stood else 0))  # in the loop's next turn at the earliest

        timer = loop.call_at(due, ring)
        try:
            yield
        finally:
            timer.cancel()


async def until_available(attempt: Callable[[], Awaitable[T]], seconds: float) -> T:
    """Try again, with growing pauses, for this many seconds, and log each failure. Raises the last one.

    `math.inf` seconds are for work that holds up no other.
    """
    loop = asyncio.get_running_loop()
    give_up = loop.time() + seconds
    pause = FIRST_PAUSE_S
    while True:
        try:
            return await attempt()
        except Unavailable as problem:
            left = give_up - loop.time()
            if left <= 0:
                raise
            end = "" if math.isinf(left) else f", giving up in {left:.0f} s"
            log.warning("%s; next try in %g s%s", problem, pause, end)
        await asyncio.sleep(min(pause, max(left, 0)))
        pause = min(2 * pause, LONGEST_PAUSE_S)


async def started(make: Callable[[], C], what: str, seconds: float) -> C:
    """Return a new client, started. Raises `Unavailable` when the broker did not answer in time."""
    client = make()
    async with stopped_on_failure(client):
        await deadline(client.start(), what, seconds)
    return client


@asynccontextmanager
async def running(make: Callable[[], C], what: str, seconds: float) -> AsyncIterator[C]:
    """Run a new client for the length of a block. Raises `Unavailable` when the broker did not answer in time."""
    client = await started(make, what, seconds)
    try:
        yield client
    finally:
        await stopped(client)


@asynccontextmanager
async def stopped_on_failure(client: Client) -> AsyncIterator[None]:
    """Do what a client needs before it is of use: if that fails, or is cancelled, the client is stopped."""
    try:
        yield
    except BaseException:
        await stopped(client)
        raise


async def stopped(client: Client, seconds: float = CALL_S) -> None:
    """Stop a client; that a broken one raises or hangs is only logged.

    A producer first writes what it has; what is left when time is up fails. A consumer that is still joining its group
    leaves it: otherwise the other members would wait for it, and a partition with them. If this is cancelled, however
    often, the client has `CUT_S` left to stop: its tasks would stay as long as the process.
    One whose broker is away may raise the cancellation of its own requests, which is not the caller's; one that is
    cancelled as it stops may raise something else, or nothing. So only the task itself says whether it was cancelled.
    """
    before = _cancellations()
    stopping = asyncio.create_task(_stop(client), name="the end of a Kafka client")
    problem = await _problem_of(stopping, seconds)
    if problem is not None:
        log.info("a Kafka client did not stop cleanly: %r", problem)
        await _problem_of(asyncio.create_task(_cut_off(client), name="the cut of a Kafka client"), 5 * CUT_S)
    if isinstance(client, AIOKafkaProducer):
        consume_exceptions(client)
    if _cancellations() > before:
        raise asyncio.CancelledError


async def _stop(client: Client) -> None:
    await asyncio.gather(client.stop(), _leave(client))


async def _problem_of(work: "asyncio.Task[None]", seconds: float) -> BaseException | None:
    """Wait for work, and cancel it when time is up. Return why it did not end well."""
    if not await _waited(work, seconds):
        work.add_done_callback(looked_at)
        work.cancel()
        await _waited(work, CUT_S)
        raised = work.exception() if work.done() and not work.cancelled() else None
        return raised or TimeoutError("it took too long")
    return asyncio.CancelledError() if work.cancelled() else work.exception()


async def _waited(work: "asyncio.Task[None]", seconds: float) -> bool:
    """Wait for work, for at most `CUT_S` once this is cancelled. Return whether it has ended."""
    loop = asyncio.get_running_loop()
    due = loop.time() + seconds
    while not work.done() and (left := due - loop.time()) > 0:
        try:
            await asyncio.wait({work}, timeout=left)
        except asyncio.CancelledError:
            due = min(due, loop.time() + CUT_S)
    return work.done()


async def _leave(client: Client) -> None:
    if isinstance(client, AIOKafkaConsumer):
        with suppress(KafkaError):
            await leave_while_joining(client)


async def _cut_off(client: Client) -> None:
    """End a client whose `stop` did not finish."""
    if isinstance(client, AIOKafkaProducer):
        await _cut_off_producer(client)
    elif isinstance(client, AIOKafkaConsumer):
        await _disconnect(network(client))


async def _cut_off_producer(producer: AIOKafkaProducer) -> None:
    """End its sender, which would continue as long as the process."""
    refuse_unsent(producer, ProducerClosed())
    sending: asyncio.Task[None] | None = sending_task(producer)  # there is none, if it did not start
    if sending is not None:
        sending.cancel()
    for _ in range(2):  # what the sender has under way may open another connection
        await _disconnect(producer.client)
        if sending is not None:
            await asyncio.wait([sending], timeout=CUT_S)


async def _disconnect(client: AIOKafkaClient) -> None:
    with suppress(KafkaError, OSError, TimeoutError, asyncio.CancelledError):
        async with asyncio.timeout(CUT_S):
            await client.close()


def _cancellations() -> int:
    """Return how often the running task was cancelled."""
    task = asyncio.current_task()
    return task.cancelling() if task is not None else 0
