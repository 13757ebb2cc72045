"""What is written of the calls of one partition, on a real Kafka."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaProducer, TopicPartition

from tests.support.call_queues import config_of, progress, results, states
from tests.support.slow_publisher import turns
from tests.support.topics import make_anew, read_topic
from tokenmill.config import Topics
from tokenmill.errors import FatalError
from tokenmill.kafka.clients import make_producer
from tokenmill.kafka.transaction import Transaction
from tokenmill.tools.call import Call
from tokenmill.tools.call_states import CallStates
from tokenmill.tools.control import ApprovalRequest, read_control
from tokenmill.tools.outcome import Outcome, Progress
from tokenmill.tools.pending_approvals import AskedCall
from tokenmill.tools.state_log import StateLog
from tokenmill.tools.waiting_calls import Step

pytestmark = pytest.mark.integration


def call(id_: str) -> Call:
    return Call("c", "m", 0, 7, id_, "w__note", {}, 5, (("traceparent", "00-ab-cd-01"),))


async def test_all_of_it_is_one_transaction(kafka: str, unique: str) -> None:
    """Each call's place, what came of one, how far another is, the question about a third; and it is known where."""
    config, known = await config_of(kafka, unique), CallStates(1_000)
    make = partial(make_producer, config.kafka, transactional_id=unique, transaction_timeout_ms=10_000)
    transaction = Transaction(make, unique, unique, 10, lambda _: None)
    log = StateLog(TopicPartition(config.topics.tool_calls, 0), transaction, config.topics, known)
    await transaction.open()
    asked = AskedCall(call("asks"), "f", 99)
    steps = [
        Step(call("over"), "done", Outcome(result=1)),
        Step(call("runs"), "running"),
        Step(call("asks"), "asking", asked=asked),
    ]
    await log.write(steps, [(call("runs"), Progress(1, 2))], 3, 10)
    await transaction.close(5)
    await transaction_after(make)
    assert await states(config) == [("over", "done"), ("runs", "running"), ("asks", "asking")]
    assert [each.id for each in await results(config)] == ["over"]
    assert [each.id for each in await progress(config)] == ["runs"]
    (question,) = await read_topic(kafka, config.topics.tool_control)
    said = read_control(question.value)
    assert isinstance(said, ApprovalRequest)
    assert (said.id, said.until) == ("asks", 99)
    assert {dict(each.headers)["traceparent"] for each in await read_topic(kafka, config.topics.tool_results)} == {
        b"00-ab-cd-01"
    }
    assert [each.written.stage if each.written else "done" for each in known._known.values()] == [
        "done",
        "running",
        "asking",
    ]
    assert known.first_needed(2_000) == 1
    assert msgspec.json.decode(question.value)["type"] == "approval-request"


async def test_a_log_that_begins_again_is_not_gone_on_with(kafka: str, unique: str) -> None:
    """What is known of calls is not on it, and the next owner would read from the wrong place: nothing is committed."""
    config, known = await config_of(kafka, unique), CallStates(1_000)
    make = partial(make_producer, config.kafka, transactional_id=unique, transaction_timeout_ms=10_000)
    transaction = Transaction(make, unique, unique, 10, lambda _: None)
    log = StateLog(TopicPartition(config.topics.tool_calls, 0), transaction, config.topics, known)
    await transaction.open()
    await log.write([Step(call("before"), "running")], [], 1, 10)
    await make_anew(kafka, config.topics.tool_state, 1)
    with pytest.raises(FatalError, match=f"{config.topics.tool_state}/0 is another log"):
        await log.write([Step(call("before"), "done", Outcome(result=1))], [], 2, 10)
    await transaction.close(5)
    await transaction_after(make)
    assert (await states(config), await results(config)) == ([], [])


async def test_nothing_is_committed_before_all_is_acknowledged() -> None:
    """A result, too: the broker would commit without it. The next owner reads from the oldest record that counts."""
    known, sent, committed = CallStates(1_000), list[asyncio.Future[Any]](), list[tuple[int, str]]()
    known.end = 5

    async def send(*_: object, **__: object) -> asyncio.Future[Any]:
        sent.append(asyncio.get_running_loop().create_future())
        return sent[-1]

    async def commit(_: object, offset: Any, acknowledged: Callable[[], Awaitable[None]]) -> None:
        await acknowledged()
        committed.append((offset.offset, offset.metadata))

    transaction: Any = SimpleNamespace(client=SimpleNamespace(send=send), commit=commit)
    log = StateLog(TopicPartition("tool-calls", 0), transaction, Topics(), known)
    writing = asyncio.create_task(log.write([Step(call("over"), "done", Outcome(result=1))], [], 3, 10))
    await turns()
    state, result = sent
    state.set_result(SimpleNamespace(offset=5))
    await turns()
    assert committed == []
    result.set_result(None)
    await writing
    assert committed == [(3, "5")]


async def transaction_after(make: Callable[[], AIOKafkaProducer]) -> None:
    """Of the next owner: it aborts what was left open, and waits until the end of what was committed is written."""
    transaction = Transaction(make, "next", "next", 10, lambda _: None)
    await transaction.open()
    await transaction.close(5)
