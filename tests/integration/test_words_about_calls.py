"""Calls of one partition about which people have something to say."""

import asyncio

import msgspec
import pytest

from tests.support.call_queues import FUTURE_MS, config_of, desk_of, record, results
from tests.support.stage import until
from tests.support.topics import read_topic
from tokenmill.config import Config
from tokenmill.events import Finish
from tokenmill.records import InputRecord
from tokenmill.tools.call import Call, read_calls
from tokenmill.tools.concurrency_limits import ConcurrencyLimits
from tokenmill.tools.control import Approval, ApprovalRequest, Cancel, Orders, approval_of, read_control
from tokenmill.tools.outcome import Outcome

pytestmark = pytest.mark.integration


@pytest.fixture
async def config(kafka: str, unique: str) -> Config:
    return await config_of(kafka, unique, policy=("ask w__risky", "deny w__never"))


async def asked(config: Config) -> list[ApprovalRequest]:
    """What people are asked."""
    records = await read_topic(config.kafka.bootstrap_servers, config.topics.tool_control)
    found = [read_control(each.value) for each in records]
    return [each for each in found if isinstance(each, ApprovalRequest)]


async def test_a_call_waits_for_a_word_across_owners(config: Config) -> None:
    """Nothing runs before it, whoever has the partition; it is asked once, and holds no place."""
    made, orders = list[str](), Orders()

    async def run(call: Call) -> Outcome:
        made.append(call.id)
        return Outcome(result=call.id)

    async with desk_of(config, run) as old:
        old.begin_at(0)
        old.give([record(0, "one", "risky"), record(1, "two", "risky"), record(2, "three"), record(3, "four", "never")])
        working = asyncio.create_task(old.work())
        await until(lambda: old.committed == 4 and not old.unfinished, "all that needs no word is over")
        assert old.asking == 2
        working.cancel()
    requests = {each.id: each for each in await asked(config)}
    assert (made, sorted(requests)) == (["three"], ["one", "two"])
    orders.take(Approval(approval=requests["one"].approval, granted=True, by="me"), FUTURE_MS)
    async with desk_of(config, run, orders=orders) as new:
        new.begin_at(4)
        working = asyncio.create_task(new.work())
        await until(lambda: new.asking == 1 and not new.unfinished, "the first has its word")
        orders.take(Approval(approval=requests["two"].approval, granted=False, by="me", why="not now"), FUTURE_MS)
        new.hear()
        await until(lambda: not new.asking and not new.unfinished, "both have")
        working.cancel()
    assert made == ["three", "one"]
    said = {result.id: result.error or result.result for result in await results(config)}
    assert said == {
        "one": "one",
        "two": "refused by me: not now",
        "three": "three",
        "four": "this call is not allowed (tools.policy)",
    }
    assert len(await asked(config)) == 2


async def test_a_question_without_an_answer_ends(config: Config) -> None:
    """By itself, when its time is over."""
    config = msgspec.structs.replace(config, tools=msgspec.structs.replace(config.tools, approve_s=0.2))

    async def run(call: Call) -> Outcome:
        raise AssertionError(call)

    async with desk_of(config, run) as queue:
        queue.begin_at(0)
        queue.give([record(0, "one", "risky")])
        working = asyncio.create_task(queue.work())
        await until(lambda: results(config), "an answer")
        working.cancel()
    (result,) = await results(config)
    assert (result.code, result.error) == ("expired", "nobody approved of the call in time")


async def test_cancelled_calls_end_wherever_they_are(config: Config) -> None:
    """At their server, where they wait for a place or for a word, or on their way here."""
    orders, ended = Orders(), list[str]()

    async def run(call: Call) -> Outcome:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(call.id)
        raise AssertionError("nobody sets it")

    async with desk_of(config, run, ConcurrencyLimits(1, 1), orders) as queue:
        queue.begin_at(0)
        queue.give([record(0, "runs"), record(1, "waits"), record(2, "asks", "risky")])
        working = asyncio.create_task(queue.work())
        await until(lambda: queue.committed == 3 and queue.asking == 1, "all are taken")
        orders.take(Cancel(conversation_id="c", message_id="m"), 7)
        queue.hear()
        queue.give([record(3, "comes")])
        await until(lambda: queue.committed == 4 and not queue.unfinished and not queue.asking, "all are over")
        working.cancel()
    assert ended == ["runs"]
    assert {result.id: result.code for result in await results(config)} == dict.fromkeys(
        ("runs", "waits", "asks", "comes"), "cancelled"
    )


@pytest.mark.parametrize("told", [True, False])
async def test_a_cancelled_message_takes_its_calls_with_it(config: Config, told: bool) -> None:
    """Wherever they are, and whoever has the partition next; other messages go on. Unless that is switched off."""
    tools = msgspec.structs.replace(config.tools, cancel_with_message=told)
    config, go, ended = msgspec.structs.replace(config, tools=tools), asyncio.Event(), list[str]()

    async def run(call: Call) -> Outcome:
        try:
            await go.wait()
        finally:
            ended.append(call.id)
        return Outcome(result=call.id)

    async with desk_of(config, run, ConcurrencyLimits(1, 1)) as queue:
        queue.begin_at(0)
        queue.give([record(0, "runs"), record(1, "waits"), record(2, "asks", "risky")])
        working = asyncio.create_task(queue.work())
        await until(lambda: queue.committed == 3 and queue.asking == 1, "all are taken")
        queue.give([record(3, "comes"), cancelled(4), cancelled(5)])
        await until(lambda: queue.committed == 6, "the end is taken")
        if told:
            await until(lambda: not queue.unfinished and not queue.asking, "all are over")
        working.cancel()
    assert ended == ["runs"]
    found = {result.id: result.code for result in await results(config)}
    assert found == (dict.fromkeys(("runs", "waits", "asks", "comes"), "cancelled") if told else {})
    async with desk_of(config, run) as new:
        new.begin_at(6)
        assert (new.unfinished + new.asking == 0) is told


def cancelled(offset: int) -> InputRecord:
    """The end of the message that all calls are of."""
    end = Finish("cancelled", conversation_id="c", message_id="m", seq=9, time=1)
    return InputRecord("tool-calls", 0, offset, FUTURE_MS, b"c", msgspec.json.encode(end), [("tm-opened", b"7")])


async def test_a_word_that_was_there_before_the_question_counts(config: Config) -> None:
    """The call was asked about before, by somebody who has forgotten it."""
    made, orders = list[str](), Orders()

    async def run(call: Call) -> Outcome:
        made.append(call.id)
        return Outcome(result=call.id)

    said = read_calls(record(0, "one", "risky"))
    assert isinstance(said, Call)
    orders.take(Approval(approval=approval_of(said, f"as it is: {said.name}"), granted=True), FUTURE_MS)
    async with desk_of(config, run, orders=orders) as queue:
        queue.begin_at(0)
        working = asyncio.create_task(queue.work())
        queue.give([record(0, "before")])
        await until(lambda: made == ["before"], "orders were looked at")
        queue.give([record(1, "one", "risky")])
        await until(lambda: made == ["before", "one"], "it was made")
        working.cancel()


async def test_nothing_begins_before_all_was_read_that_was_there(config: Config) -> None:
    """Who takes over finds calls that wait, and behind the place of the owner before the end of their message."""
    made = list[str]()

    async def run(call: Call) -> Outcome:
        made.append(call.id)
        return Outcome(result=call.id)

    async with desk_of(config, run, ConcurrencyLimits(0, 0)) as old:
        old.begin_at(0)
        old.give([record(0, "one")])
        working = asyncio.create_task(old.work())
        await until(lambda: old.committed == 1, "it is taken")
        working.cancel()
    async with desk_of(config, run) as new:
        new.begin_at(1, 2)
        working = asyncio.create_task(new.work())
        await asyncio.sleep(0.1)  # as long as it takes to read on
        new.give([cancelled(1)])
        await until(lambda: not new.unfinished, "it is over")
        working.cancel()
    assert (made, [result.code for result in await results(config)]) == ([], ["cancelled"])


async def test_marks_of_transactions_hold_nothing_up_for_long(config: Config) -> None:
    """The end of the topic may be one, which is never read."""

    async def run(call: Call) -> Outcome:
        return Outcome(result=call.id)

    async with desk_of(config, run) as queue:
        queue.begin_at(0, 2)
        queue.give([record(0, "one")])
        working = asyncio.create_task(queue.work())
        await until(lambda: results(config), "it is made")
        working.cancel()
