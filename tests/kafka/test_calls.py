"""Patience with limits."""

import asyncio
import math
import time
from collections.abc import Iterator
from contextlib import nullcontext
from typing import cast

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaConnectionError, ProducerClosed

from tests.support.stage import until
from tests.support.topics import make_topics
from tokenmill.demo.broker import embedded_broker
from tokenmill.errors import Unavailable
from tokenmill.kafka import calls
from tokenmill.kafka.aiokafka_inside import reading_tasks, sending_task
from tokenmill.kafka.calls import deadline, running, started, stopped, until_available
from tokenmill.kafka.hung_brokers import NotReachable
from tokenmill.servers import KafkaServer


async def test_a_call_has_a_deadline() -> None:
    """A call that hangs, one that fails and one that works."""

    async def fails() -> None:
        raise KafkaConnectionError("no")

    async def closed() -> None:
        raise RuntimeError("unable to perform operation on <TCPTransport closed=True>; the handler is closed")

    async def unreachable() -> None:
        raise NotReachable("localhost:1", TimeoutError())

    async def mistaken() -> None:
        raise RuntimeError("a mistake")

    async def works() -> int:
        return 7

    with pytest.raises(Unavailable, match=r"look: no answer within 0.01 s"):
        await deadline(asyncio.Event().wait(), "look", 0.01)
    with pytest.raises(Unavailable, match="look: KafkaConnectionError"):
        await deadline(fails(), "look")
    with pytest.raises(Unavailable, match="Kafka: look: the connection is gone"):
        await deadline(closed(), "look")
    with pytest.raises(
        Unavailable, match=r"^Kafka at localhost:1 can't be reached \(no answer in time\): is it running"
    ):
        await deadline(unreachable(), "look")
    with pytest.raises(RuntimeError, match="a mistake"):
        await deadline(mistaken(), "look")
    assert await deadline(works(), "look") == 7


async def test_a_cancellation_that_comes_with_the_answer_is_not_lost() -> None:
    """Otherwise a loop of calls that is cancelled would continue for ever."""
    answer = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(deadline(answer, "look"))
    await asyncio.sleep(0)
    answer.set_result(7)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("stood_s", [0.1, 0.4])
async def test_who_stood_still_takes_what_came_meanwhile(stood_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A frozen process finds the end of a poll and its deadline due at the same time, however long it stood."""
    monkeypatch.setattr(calls, "STOOD_S", 0.2)

    async def poll() -> int:
        await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=0.02)
        return 7

    asyncio.get_running_loop().call_soon(time.sleep, stood_s)
    assert await deadline(poll(), "poll", 0.04) == 7


async def test_who_stood_still_waits_for_as_long_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer may be on its way; if it does not come then either, the call fails."""
    monkeypatch.setattr(calls, "STOOD_S", 0.1)
    loop = asyncio.get_running_loop()
    answer = loop.create_future()
    loop.call_later(0.6, answer.set_result, 7)
    loop.call_soon(time.sleep, 0.55)
    assert await deadline(answer, "look", 0.3) == 7
    loop.call_soon(time.sleep, 0.55)
    with pytest.raises(Unavailable, match=r"look: no answer within 0.3 s"):
        await deadline(loop.create_future(), "look", 0.3)


@pytest.mark.parametrize(("seconds", "end"), [(30, ", giving up in 30 s"), (math.inf, "")])
async def test_attempts_are_repeated_until_one_succeeds(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, seconds: float, end: str
) -> None:
    """Each failure is logged; pauses grow up to a bound."""
    monkeypatch.setattr(calls, "FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(calls, "LONGEST_PAUSE_S", 0.003)
    failures = ["first", "second", "third", "fourth"]

    async def attempt() -> str:
        if failures:
            raise Unavailable(failures.pop(0))
        return "done"

    assert await until_available(attempt, seconds) == "done"
    said = [record.getMessage().split("; next try in ") for record in caplog.records]
    assert [problem for problem, _ in said] == ["first", "second", "third", "fourth"]
    assert [pause for _, pause in said] == [f"{pause} s{end}" for pause in ("0.001", "0.002", "0.003", "0.003")]


async def test_attempts_end() -> None:
    """With the last failure."""

    async def attempt() -> None:
        raise Unavailable("still away")

    with pytest.raises(Unavailable, match="still away"):
        await until_available(attempt, 0.01)


class Client:
    """A client whose start and stop do what a test sets."""

    def __init__(self, *, start: Exception | None = None, stop: Exception | None = None) -> None:
        self._start = start
        self._stop = stop
        self.stops = 0

    async def start(self) -> None:
        if self._start:
            raise self._start

    async def stop(self) -> None:
        self.stops += 1
        if self._stop:
            raise self._stop


async def test_a_client_that_does_not_start_is_stopped() -> None:
    """It may have connections and tasks already; a stop that fails, too, changes nothing."""
    client = Client(start=KafkaConnectionError("away"), stop=RuntimeError("broken"))
    with pytest.raises(Unavailable, match="away"):
        await started(lambda: client, "start", 1)
    assert client.stops == 1


async def test_a_started_client_is_handed_out() -> None:
    """And the caller stops it."""
    client = Client()
    assert await started(lambda: client, "start", 1) is client
    await stopped(client)
    assert client.stops == 1


@pytest.mark.parametrize("fails", [False, True])
async def test_a_client_runs_as_long_as_its_block(*, fails: bool) -> None:
    """However the block ends."""
    client = Client()
    with nullcontext() if not fails else pytest.raises(ValueError, match="of the block"):
        async with running(lambda: client, "start", 1) as ours:
            assert (ours, client.stops) == (client, 0)
            if fails:
                raise ValueError("of the block")
    assert client.stops == 1


@pytest.fixture(scope="module")
def own_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaServer]:
    """A broker to freeze."""
    with KafkaServer(tmp_path_factory.mktemp("own-broker")) as broker:
        yield broker


@pytest.fixture
def broker(own_broker: KafkaServer) -> Iterator[KafkaServer]:
    """The same broker, which continues when a test ends."""
    yield own_broker
    own_broker.thaw()


@pytest.mark.integration
@pytest.mark.parametrize("cancelled", [False, True])
async def test_a_producer_that_cannot_write_is_ended_all_the_same(
    broker: KafkaServer, unique: str, *, cancelled: bool
) -> None:
    """Its sender and connections would stay as long as the process; those that wait for its record get an error."""
    await make_topics(broker.bootstrap, unique, partitions=1)
    producer = await started(lambda: AIOKafkaProducer(bootstrap_servers=broker.bootstrap), "start", 20)
    await producer.send_and_wait(unique, b"before")
    broker.freeze()
    sent = await producer.send(unique, b"after")
    stopping = asyncio.create_task(stopped(producer, 30 if cancelled else 0.5))
    _, late = await asyncio.wait([stopping], timeout=0.5 if cancelled else None)
    for task in late:
        task.cancel()
    await asyncio.wait([stopping])
    broker.thaw()
    assert isinstance(sent.exception(), ProducerClosed)  # otherwise the broker had it before it stood still
    assert stopping.cancelled() == cancelled
    assert sending_task(producer).done()
    assert not [conn for conn in producer.client._conns.values() if conn.connected()]


async def test_a_consumer_whose_broker_is_away_is_stopped(caplog: pytest.LogCaptureFixture) -> None:
    """It raises the cancellation of its own requests, which must not look like the caller's."""
    place = TopicPartition("tokens", 0)
    with embedded_broker(["tokens"]) as bootstrap:
        options = {"bootstrap_servers": bootstrap, "retry_backoff_ms": 60_000}
        consumer = await started(lambda: AIOKafkaConsumer(**options), "start", 20)
        consumer.assign([place])
        consumer.seek(place, 0)
        await until(lambda: consumer.highwater(place) is not None, "a fetch is answered")
    missed = "Failed fetch messages", "no broker returned metadata"
    await until(lambda: any(each in caplog.text for each in missed), "it has missed the broker")
    metadata = reading_tasks(consumer)["metadata"]
    await stopped(consumer)
    assert metadata.done()


class Closing:
    """A client whose requests are cancelled as it closes, or that takes the cancellation of its task for theirs."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ends = asyncio.Event()

    async def close(self) -> None:
        """Pass their cancellation on, or end as if nothing was."""
        self.begun.set()
        try:
            await self.ends.wait()
        except asyncio.CancelledError:
            return
        raise asyncio.CancelledError


class Away(AIOKafkaConsumer):  # type: ignore[misc] # untyped base class
    """A consumer that does not stop cleanly."""

    def __init__(self, client: Closing) -> None:
        self._client, self._coordinator, self._closed = client, None, True

    async def stop(self) -> None:
        """Fail."""
        raise KafkaConnectionError("away")


async def test_requests_that_are_cancelled_cancel_nobody_who_closes_their_client() -> None:
    """Only the task's own cancellation does, and that always, though the client takes it for theirs."""
    for cancelled in (False, True):
        client = Closing()
        task = asyncio.create_task(stopped(Away(client)))
        await client.begun.wait()
        if cancelled:
            task.cancel()
        client.ends.set()
        await asyncio.wait([task])
        assert task.cancelled() == cancelled


class Confused(Closing):
    """A client that reports its task's cancellation as something else."""

    async def stop(self) -> None:
        """Raise an error of its own once it is cancelled."""
        await self.close()
        raise KafkaConnectionError("closed")


async def test_a_cancellation_that_a_client_reports_as_an_error_is_not_lost() -> None:
    """Otherwise the task would go on that was to end."""
    client = Confused()
    task = asyncio.create_task(stopped(cast(AIOKafkaConsumer, client)))
    await client.begun.wait()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


class Orderly(Closing):
    """A client that stops in several steps."""

    async def stop(self) -> None:
        """Take them, unless it is cancelled."""
        self.begun.set()
        for _ in range(5):
            await asyncio.sleep(0)
        self.ends.set()


async def test_a_client_is_stopped_however_often_its_owner_is_cancelled() -> None:
    """It takes a moment, after which the owner is cancelled all the same."""
    client = Orderly()
    task = asyncio.create_task(stopped(cast(AIOKafkaConsumer, client)))
    await client.begun.wait()
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    await asyncio.wait([task])
    assert (client.ends.is_set(), task.cancelled()) == (True, True)


async def test_what_a_late_client_raises_at_last_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """It says more than that time was up."""
    caplog.set_level("INFO")

    class Late(Client):
        async def stop(self) -> None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise KafkaConnectionError("no answer of broker 1") from None

    await stopped(Late(), 0.01)
    assert "no answer of broker 1" in caplog.text


class Hanging:
    """A client that does not stop."""

    async def stop(self) -> None:
        """Wait for ever."""
        await asyncio.Event().wait()


async def test_a_client_that_hangs_hides_no_cancellation() -> None:
    """A task that was cancelled ends as one, whatever its clients do at their end."""

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await stopped(cast(AIOKafkaConsumer, Hanging()), 0.01)

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
