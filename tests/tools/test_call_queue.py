"""One partition of calls on a real Kafka: claimed before they are made, answered once, fenced when it is another's."""

import asyncio
import time

import msgspec
import pytest

from tests.support.call_queues import FUTURE_MS, config_of, desk_of, progress, record, results, states
from tests.support.pipes import soon
from tests.support.stage import until
from tests.support.topics import write_topic
from tokenmill.config import Config
from tokenmill.errors import FatalError
from tokenmill.events import Finish
from tokenmill.observe.tools_table import Code
from tokenmill.records import InputRecord
from tokenmill.tools import call_queue
from tokenmill.tools.call import Call, Written, read_calls
from tokenmill.tools.concurrency_limits import ConcurrencyLimits
from tokenmill.tools.control import Approval, Cancel, Orders, approval_of
from tokenmill.tools.outcome import Outcome

pytestmark = pytest.mark.integration


@pytest.fixture
async def config(kafka: str, unique: str) -> Config:
    return await config_of(kafka, unique, repeat=("w__again*",))


async def test_a_call_is_made_when_it_is_claimed(config: Config) -> None:
    """What is committed can be read a moment later, while the call is still made; so can its end with its result."""
    seen = list[list[tuple[str, str]]]()

    async def run(_: Call) -> Outcome:
        seen.append(await until(lambda: states(config), "the claim"))
        return Outcome(result={"n": 1}, elapsed_ms=3)

    async with desk_of(config, run) as queue:
        queue.begin_at(0)
        queue.give([record(0, "one")])
        working = asyncio.create_task(queue.work())
        await until(lambda: results(config), "a result")
        assert queue.committed == 1
        working.cancel()
    assert seen == [[("one", "running")]]
    assert await states(config) == [("one", "running"), ("one", "done")]
    (result,) = await results(config)
    assert (result.id, result.result, result.elapsed_ms, result.conversation_id) == ("one", {"n": 1}, 3, "c")


async def test_a_call_whose_claim_is_refused_is_not_made(config: Config) -> None:
    """Another one has the partition, who makes it."""
    made = list[str]()

    async def run(call: Call) -> Outcome:
        made.append(call.id)
        return Outcome(result=1)

    async with desk_of(config, run) as old, desk_of(config, run):
        old.begin_at(0)
        old.give([record(0, "one")])
        with pytest.raises(FatalError, match=r"fenced|failed"):
            await old.work()
        await soon()
        assert made == []


async def test_where_there_is_no_place_a_call_waits(config: Config) -> None:
    """Known to all, so that its record is not needed any more; and it is made when there is one."""
    go = asyncio.Event()

    async def run(call: Call) -> Outcome:
        if call.id == "one":
            await go.wait()
        return Outcome(result=call.id)

    async with desk_of(config, run, ConcurrencyLimits(1, 1)) as queue:
        queue.begin_at(0)
        queue.give([record(0, "one"), record(1, "two"), record(2, "two")])
        working = asyncio.create_task(queue.work())
        await until(lambda: queue.committed == 3, "all are taken")
        assert await states(config) == [("one", "running"), ("two", "waiting")]
        assert (queue.running, queue.unfinished) == (1, 2)
        go.set()
        await until(lambda: queue.unfinished == 0, "all are over")
        working.cancel()
    assert [result.result for result in await results(config)] == ["one", "two"]


async def test_an_approval_that_is_there_before_its_question_counts(config: Config) -> None:
    """The call was asked about by the owner before, and nothing else will be said about it."""

    async def run(call: Call) -> Outcome:
        return Outcome(result=call.id)

    asked, orders = record(0, "one", "risky"), Orders()
    call = read_calls(asked)
    assert isinstance(call, Call)
    orders.take(Approval(approval=approval_of(call, "as it is: w__risky"), granted=True), 1)
    asking = msgspec.structs.replace(config, tools=msgspec.structs.replace(config.tools, policy=("ask w__risky",)))
    async with desk_of(asking, run, orders=orders) as queue:
        queue.begin_at(0)
        queue.give([asked])
        working = asyncio.create_task(queue.work())
        (result,) = await until(lambda: results(config), "a result")
        working.cancel()
    assert result.result == "one"


async def test_who_takes_over_shuts_out_the_owner_before(config: Config) -> None:
    """Which can't answer any more; what it had claimed is in doubt, run again, or run for the first time."""
    go, made = asyncio.Event(), list[str]()

    async def slow(call: Call) -> Outcome:
        await go.wait()
        return Outcome(result=call.id)

    async def quick(call: Call) -> Outcome:
        made.append(call.id)
        return Outcome(result="made again")

    async with desk_of(config, slow, ConcurrencyLimits(2, 2)) as old:
        old.begin_at(0)
        old.give([record(0, "one"), record(1, "two", "again"), record(2, "three")])
        working = asyncio.create_task(old.work())
        await until(lambda: old.committed == 3, "all are taken")
        async with desk_of(config, quick) as new:
            new.begin_at(3)
            go.set()
            with pytest.raises(FatalError, match=r"fenced|failed"):
                await working
            taking = asyncio.create_task(new.work())
            await until(lambda: new.unfinished == 0, "all are over")
            taking.cancel()
    assert sorted(made) == ["three", "two"]
    assert {result.id: result.code or result.result for result in await results(config)} == {
        "one": "in-doubt",
        "two": "made again",
        "three": "made again",
    }


async def test_of_what_may_have_been_made_nothing_is_denied(kafka: str, unique: str) -> None:
    """It may be made again, and can't be, or is too old; or today's policy wants a person to be asked, and none was."""
    config = await config_of(kafka, unique, repeat=("w__*",), policy=("ask w__risky",))
    codes: dict[str, Code] = {"away": "unavailable", "other": "denied", "slow": "timeout", "granted": "timeout"}

    async def run(call: Call) -> Outcome:
        return Outcome(error="why", code=codes[call.id])

    names = dict.fromkeys(codes, "w__note") | {"late": "w__note", "asked": "w__risky", "granted": "w__risky"}
    calls = [Call("c", "m", 0, 7, id_, name, {}, 1 if id_ == "late" else FUTURE_MS) for id_, name in names.items()]
    asked = {"granted": ("as it is: w__risky", FUTURE_MS)}
    written = {call.key: Written("running", FUTURE_MS, call, *asked.get(call.id, ())) for call in calls}
    records = [(key, msgspec.json.encode(value)) for key, value in written.items()]
    await write_topic(kafka, config.topics.tool_state, [(*record, []) for record in records])
    async with desk_of(config, run) as queue:
        queue.begin_at(4)
        queue.give([record(4, "new")])
        codes["new"] = "unavailable"
        working = asyncio.create_task(queue.work())
        await until(lambda: queue.committed == 5 and not queue.unfinished, "all are over")
        assert not queue._again
        working.cancel()
    assert {result.id: result.code for result in await results(config)} == {
        "away": "in-doubt",
        "other": "in-doubt",
        "slow": "timeout",
        "asked": "in-doubt",
        "late": "in-doubt",
        "granted": "timeout",
        "new": "unavailable",
    }


async def _for_ever(_: Call) -> Outcome:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


async def test_names_in_the_log_are_quoted(config: Config, caplog: pytest.LogCaptureFixture) -> None:
    """A model and its clients choose them: a line break in one is no line of ours, and a long one is cut."""
    async with desk_of(config, _for_ever) as queue:
        queue.begin_at(0)
        queue.give([record(0, "x\n2026-01-01 CRITICAL all is lost \x1b[2J" + "y" * 900)])
        working = asyncio.create_task(queue.work())
        await until(lambda: queue._running.calls, "it runs")
        queue.leave()
        working.cancel()
    (line,) = [each.getMessage() for each in caplog.records if "in doubt" in each.getMessage()]
    assert line.isprintable()
    assert "'x 2026-01-01 CRITICAL all is lost" in line
    assert len(line) < 400


async def test_who_leaves_answers_what_nobody_will_repeat(kafka: str, unique: str) -> None:
    """And breaks it off. A call that may be repeated is left to the next owner."""
    config = await config_of(kafka, unique, repeat=("w__again",))
    async with desk_of(config, _for_ever) as queue:
        queue.begin_at(0)
        queue.give([record(0, "one"), record(1, "two", "again")])
        working = asyncio.create_task(queue.work())
        await until(lambda: len(queue._running.calls) == 2, "both run")
        queue.leave()
        await until(lambda: not queue.leaving, "the first one is answered")
        assert queue.running == 1
        working.cancel()
    assert [(result.id, result.code) for result in await results(config)] == [("one", "in-doubt")]


async def test_a_call_that_can_not_even_be_made_is_answered(config: Config, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing that goes wrong with one stops the others. One that comes again is not made again.

    One over the limit is in the log: an answer would have its names, too, and might not fit, either.
    """
    made = list[str]()

    async def run(call: Call) -> Outcome:
        made.append(call.id)
        if call.id == "one":
            raise RuntimeError("out of luck")
        return Outcome(result=1)

    async with desk_of(config, run) as queue:
        queue.begin_at(0)
        queue.give([record(0, "one"), record(1, "two")])
        working = asyncio.create_task(queue.work())
        await until(lambda: queue.committed == 2 and not queue.unfinished, "both are over")
        queue.give([record(2, "two")])
        await until(lambda: queue.committed == 3 and not queue.unfinished, "it is known")
        queue.give([InputRecord("tool-calls", 0, 3, FUTURE_MS, b"c", b"junk"), record(4, "x" * 1_025)])
        await until(lambda: queue.committed == 5, "what is no call is passed")
        working.cancel()
    assert "/0: the call at offset 4 is not run: a name has 1,025 bytes" in caplog.text
    assert made == ["one", "two"]
    assert {result.id: str(result.error or "") for result in await results(config)} == {
        "one": "RuntimeError('out of luck')",
        "two": "",
    }


async def test_what_is_paused_begins_when_it_may_go_on(config: Config) -> None:
    """What runs is answered meanwhile."""
    go = asyncio.Event()

    async def run(call: Call) -> Outcome:
        await go.wait()
        return Outcome(result=call.id)

    async with desk_of(config, run, ConcurrencyLimits(1, 1)) as queue:
        queue.begin_at(0)
        queue.give([record(0, "one"), record(1, "two")])
        working = asyncio.create_task(queue.work())
        await until(lambda: queue.committed == 2, "both are taken")
        queue.pause()
        go.set()
        await until(lambda: not queue.running, "the first one is answered")
        assert queue.unfinished == 1
        queue.go_on()
        await until(lambda: not queue.unfinished, "the second one is over")
        working.cancel()
    assert [result.result for result in await results(config)] == ["one", "two"]


async def test_what_is_given_up_leaves_no_place_taken(config: Config) -> None:
    """Whether its calls run, or their claims are just being written."""
    limits = ConcurrencyLimits(2, 2)
    async with desk_of(config, _for_ever, limits) as queue:
        queue.begin_at(0)
        working = asyncio.create_task(queue.work())
        queue.give([record(0, "one")])
        await until(lambda: queue.committed == 1, "one runs")
        queue.give([record(1, "two")])
        await soon()
        assert queue.running == 2
        assert not limits.acquire("w")
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    assert limits.acquire("w")
    assert limits.acquire("w")


async def test_how_far_a_call_is_can_be_read(config: Config) -> None:
    """Beside the results, while it runs."""
    go = asyncio.Event()

    async def run(_: Call) -> Outcome:
        await go.wait()
        return Outcome(result=1)

    async with desk_of(config, run) as queue:
        queue.begin_at(0)
        queue.give([record(0, "one")])
        working = asyncio.create_task(queue.work())
        (how_far,) = await until(lambda: progress(config), "its progress")
        assert (how_far.id, how_far.progress, how_far.total, how_far.message) == ("one", 1, 2, "half-way")
        assert (how_far.conversation_id, how_far.message_id) == ("c", "m")
        go.set()
        await until(lambda: not queue.unfinished, "it is over")
        working.cancel()
    assert len(await progress(config)) == 1


async def test_nothing_begins_before_all_is_read_that_was_there_at_the_takeover(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that waits may be of a message that was cancelled meanwhile."""
    monkeypatch.setattr(call_queue, "HOLD_S", 600)
    made = list[str]()

    async def run(call: Call) -> Outcome:
        made.append(call.id)
        return Outcome(result=1)

    waiting = [Call("c", message, 0, 7, message, "w__note", {}, FUTURE_MS) for message in ("m", "other")]
    written = {call.key: msgspec.json.encode(Written("waiting", FUTURE_MS, call)) for call in waiting}
    await write_topic(
        config.kafka.bootstrap_servers, config.topics.tool_state, [(key, value, []) for key, value in written.items()]
    )
    async with desk_of(config, run) as queue:
        queue.begin_at(1, end=3)
        working = asyncio.create_task(queue.work())
        queue.give([record(1, "one")])
        await until(lambda: queue.committed == 2, "a part of it is read")
        cancelled = Finish("cancelled", conversation_id="c", message_id="m", seq=2, time=2)
        queue.give([msgspec.structs.replace(record(2, ""), value=msgspec.json.encode(cancelled))])
        await until(lambda: queue.committed == 3 and not queue.unfinished, "all are over")
        working.cancel()
    assert made == ["other"]
    assert {result.id: result.code or result.result for result in await results(config)} == {
        "m": "cancelled",
        "one": "cancelled",
        "other": 1,
    }


async def test_what_nobody_waits_for_any_more_is_answered_by_itself(kafka: str, unique: str) -> None:
    """One that waits for a place: when its time is over, though nothing else comes. One that runs: when cancelled."""
    config, orders = await config_of(kafka, unique, expire_s=1), Orders()

    async def run(_: Call) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError

    async with desk_of(config, run, ConcurrencyLimits(1, 1), orders) as queue:
        queue.begin_at(0)
        queue.give([record(0, "one"), msgspec.structs.replace(record(1, "two"), timestamp=int(time.time() * 1000))])
        working = asyncio.create_task(queue.work())
        assert await until(lambda: results(config), "the one that waits is answered", 20)
        orders.take(Cancel(conversation_id="c"), 100)
        queue.hear()
        await until(lambda: queue.unfinished == 0, "all are answered", 20)
        working.cancel()
    assert [(result.id, result.code) for result in await results(config)] == [("two", "expired"), ("one", "cancelled")]


async def test_a_call_whose_message_is_cancelled_is_broken_off(config: Config) -> None:
    """Nobody wants its result any more."""
    began, broken_off = asyncio.Event(), asyncio.Event()

    async def run(_: Call) -> Outcome:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            broken_off.set()
        return Outcome(result=1)

    async with desk_of(config, run) as queue:
        queue.begin_at(0)
        working = asyncio.create_task(queue.work())
        queue.give([record(0, "one")])
        async with asyncio.timeout(20):
            await began.wait()
            cancelled = Finish("cancelled", conversation_id="c", message_id="m", seq=2, time=2)
            queue.give([msgspec.structs.replace(record(1, ""), value=msgspec.json.encode(cancelled))])
            await broken_off.wait()
        working.cancel()


async def test_the_hold_ends_even_if_a_timer_is_early(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of uvloop are, by a millisecond; on a quiet partition nothing else wakes the queue."""
    loop = asyncio.get_running_loop()
    call_later = loop.call_later
    monkeypatch.setattr(call_queue, "HOLD_S", 0.5)
    monkeypatch.setattr(loop, "call_later", lambda delay, *what, **more: call_later(delay * 0.9, *what, **more))

    async def run(_: Call) -> Outcome:
        return Outcome(result=1)

    async with desk_of(config, run) as queue:
        queue.begin_at(0, end=5)
        queue.give([record(0, "one")])
        working = asyncio.create_task(queue.work())
        await until(lambda: queue.committed == 1, "it is taken")
        await until(lambda: not queue.unfinished, "it is over", 10)
        working.cancel()
    assert [result.result for result in await results(config)] == [1]
