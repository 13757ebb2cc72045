"""Runners on a real Kafka, with a real server of tools: each call is answered once, and none is run twice."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.protocol.group import LeaveGroupRequest
from aiokafka.structs import OffsetAndMetadata
from msgspec import UNSET

from tests.support.away import goes_away_while_read
from tests.support.reading import Reading
from tests.support.stage import until
from tests.support.tool_calls import PARTITIONS, Calls, left, owned, owner_of, refusal_of, runner_of, weather
from tests.support.topics import admin_of, make_topics, read_topic, write_topic
from tokenmill.config import Config, Kafka, Topics
from tokenmill.errors import FatalError, Unavailable
from tokenmill.kafka import believed_ends, transaction
from tokenmill.kafka.clients import METADATA_MS
from tokenmill.observe import TOOLS_METRICS, Numbers
from tokenmill.tools.link import Links
from tokenmill.tools.runner import Runner

pytestmark = pytest.mark.integration


async def test_calls_have_results(kafka: str, unique: str, tmp_path: Path) -> None:
    """Or an error that says what is wrong with them; a call that comes again is not run again."""
    async with Calls(tmp_path, kafka, unique) as calls:
        with calls.runner() as runner:
            await calls.call("good")
            await calls.call("again")
            await calls.call("again")
            await calls.call("unknown", "weather__dance")
            await calls.call("nobody", "theatre__dance")
            await calls.call("unfit", "weather__forecast", partition=1, days="many")
            await calls.call("failing", "weather__fail", partition=2, words="no rain")
            await calls.call("old", age_s=2_000)
            await until(lambda: calls.answered("good", "unknown", "nobody", "unfit", "failing", "old"), "answers")
            await calls.call("again")
            await calls.call("last")
            await until(lambda: calls.answered("last"), "the last answer")
            counted = await until(runner.metrics, "metrics")
        found = {id_: results[0] for id_, results in (await calls.results()).items()}
        assert {id_: result.code for id_, result in found.items() if result.code} == {
            "unknown": "unknown-tool",
            "nobody": "unknown-tool",
            "unfit": "schema-mismatch",
            "failing": "tool",
            "old": "expired",
        }
        assert found["good"].result["structuredContent"] == {"result": "good"}
        assert (found["good"].conversation_id, found["good"].message_id, found["good"].name) == (
            "c0",
            "m",
            "weather__note",
        )
        assert str(found["failing"].error).endswith("no rain")
        assert all(len(results) == 1 for results in (await calls.results()).values())
        assert sorted(calls.effects()) == sorted(
            f"{what} {id_}" for id_ in ("again", "good", "last") for what in ("begin", "end")
        )
        assert 'tokenmill_tools_calls_total{outcome="result"} 3.0' in counted
        assert 'tokenmill_tools_calls_total{outcome="unknown-tool"} 2.0' in counted
        assert 'tokenmill_tools_server_up{server="weather"} 1.0' in counted
        assert f"tokenmill_tools_partitions {float(PARTITIONS)}" in counted
        headers = [dict(record.headers) for record in await read_topic(kafka, calls.topics.tool_results)]
        assert all(each == {"traceparent": b"00-ab-cd-01"} for each in headers)


async def test_a_call_of_minutes_holds_nobody_up(kafka: str, unique: str, tmp_path: Path) -> None:
    """Others of its partition are answered, and who takes over after a stop knows that it was cut off."""
    async with Calls(tmp_path, kafka, unique, drain_s=0.5) as calls:
        with calls.runner():
            await calls.call("slow", seconds=600)
            await until(lambda: "begin slow" in calls.effects(), "it runs")
            await calls.call("quick")
            await until(lambda: calls.answered("quick"), "another one is answered")
            assert not await calls.answered("slow")
        with calls.runner():
            await until(lambda: calls.answered("slow"), "it is in doubt")
        assert [result.code for result in (await calls.results())["slow"]] == ["in-doubt"]
        assert calls.effects() == ["begin slow", "begin quick", "end quick"]


async def test_tools_that_bear_no_other_run_alone(kafka: str, unique: str, tmp_path: Path) -> None:
    """Calls of a server with one place, from several partitions, one behind the other."""
    async with Calls(tmp_path, kafka, unique) as calls:
        ids = ["a", "b", "c"]
        for partition, id_ in enumerate(ids):
            await calls.call(id_, partition=partition, seconds=0.1)
        with calls.runner({"weather": weather(calls=1)}):
            await until(lambda: calls.answered(*ids), "all are answered")
        words = [line.split() for line in calls.effects()]
        assert [first for first, _ in words] == ["begin", "end"] * 3
        assert all(begin[1] == end[1] for begin, end in zip(words[::2], words[1::2], strict=True))


async def test_after_a_crash_what_may_be_repeated_is_and_nothing_else(kafka: str, unique: str, tmp_path: Path) -> None:
    """Killed with calls at their server, in its queue, and answered: each has one answer in the end."""
    async with Calls(tmp_path, kafka, unique, calls_per_server=2, repeat=["weather__wait"]) as calls:
        first = calls.runner()
        first.start()
        await calls.call("before")
        await until(lambda: calls.answered("before"), "an answer")
        await calls.call("open", seconds=600)
        waited = tmp_path / "waited"
        await calls.call("repeated", "weather__wait", seconds=0.5, ledger=str(waited))
        await calls.call("queued")
        await until(lambda: "begin open" in calls.effects(), "one runs")
        first.kill()
        await calls.call("before")
        with calls.runner():
            await until(lambda: calls.answered("open", "repeated", "queued"), "all are answered")
        results = await calls.results()
        assert {id_: [result.code or "" for result in each] for id_, each in results.items()} == {
            "before": [""],
            "open": ["in-doubt"],
            "repeated": [""],
            "queued": [""],
        }
        assert calls.effects() == ["begin before", "end before", "begin open", "begin queued", "end queued"]
        assert waited.read_text() == "done"


async def test_partitions_move_to_runners_that_come(kafka: str, unique: str, tmp_path: Path) -> None:
    """Calls that run are finished first where they can be; no call is lost, none is run twice."""
    async with Calls(tmp_path, kafka, unique, handover_s=60) as calls:
        times = {"session_timeout_ms": 30_000, "rebalance_timeout_ms": 120_000, "request_timeout_ms": 180_000}
        calls.settings["kafka"] |= times  # no call takes so long, however busy the machine is
        with calls.runner() as first:
            for number in range(12):
                await calls.call(f"one-{number}", partition=number % PARTITIONS, seconds=0.5)
            with calls.runner() as second:
                await until(lambda: sorted(map(owned, (first, second))) == [1, 2], "both have some")
                for number in range(12):
                    await calls.call(f"two-{number}", partition=number % PARTITIONS, seconds=0.1)
                expected = [f"{name}-{number}" for name in ("one", "two") for number in range(12)]
                await until(lambda: calls.answered(*expected), "all are answered")
        results = await calls.results()
        assert results.keys() == set(expected)
        assert all([result.code for result in each] == [UNSET] for each in results.values())
        assert sorted(calls.effects()) == sorted(f"{what} {id_}" for id_ in expected for what in ("begin", "end"))


async def test_who_is_stopped_says_what_it_leaves(kafka: str, unique: str, tmp_path: Path) -> None:
    """Nobody has to come for that; what may be repeated is for the next one."""
    async with Calls(tmp_path, kafka, unique, drain_s=0.2, repeat=["weather__wait"]) as calls:
        waited = tmp_path / "waited"
        with calls.runner():
            await calls.call("long", seconds=600)
            await calls.call("again", "weather__wait", seconds=1, ledger=str(waited))
            await until(lambda: "begin long" in calls.effects(), "it runs")
        results = await calls.results()
        assert {id_: [result.code for result in each] for id_, each in results.items()} == {"long": ["in-doubt"]}
        with calls.runner():
            await until(lambda: calls.answered("again"), "the other one was made again")
        assert waited.read_text() == "done"
        assert len((await calls.results())["long"]) == 1


@pytest.mark.parametrize("said", ["1000", "by hand"])
async def test_where_tool_state_is_read_from_is_not_believed_beyond_its_end(
    kafka: str, unique: str, tmp_path: Path, said: str
) -> None:
    """It is that of another log, or no runner's: a call that was claimed is known all the same."""
    async with Calls(tmp_path, kafka, unique) as calls:
        first = calls.runner()
        first.start()
        await calls.call("open", seconds=600)
        await until(lambda: "begin open" in calls.effects(), "it runs")
        first.kill()
        await left(calls, unique, OffsetAndMetadata(1, said))
        with calls.runner() as second:
            await until(lambda: calls.answered("open"), "it is in doubt")
            assert (f"{calls.topics.tool_state}/0 ends at" in second.log.read_text()) == (said == "1000")


async def test_who_finds_nothing_to_read_on_tool_state_keeps_the_place(kafka: str, unique: str, tmp_path: Path) -> None:
    """The next owner begins there, not at the beginning of the log."""

    async def committed() -> bool:
        async with admin_of(kafka) as admin:
            found = await admin.list_consumer_group_offsets(unique)
        return bool(found[TopicPartition(calls.topics.tool_calls, 0)] == OffsetAndMetadata(1, "3"))

    async with Calls(tmp_path, kafka, unique) as calls:
        await write_topic(kafka, calls.topics.tool_state, [(b"none of ours", None, [])] * 3, 0)
        await left(calls, unique, OffsetAndMetadata(0, "3"))
        async with running(calls):
            await write_topic(kafka, calls.topics.tool_calls, [(b"c0", b"no call", [])], 0)
            await until(committed, "it is passed over", 20)


async def test_a_topic_that_is_away_is_told_of_and_taken_up_when_it_is_back(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    """The group gives no partitions of it, which is no reason to be called ready, nor is it that it is there again."""
    async with Calls(tmp_path, kafka, unique) as calls, running(calls) as runner:
        async with admin_of(kafka) as admin:
            await admin.delete_topics([calls.topics.tool_calls])
        await until(lambda: f"no topic {calls.topics.tool_calls}" in runner.readiness()[1], "it is missed")
        assert not runner._presence.assigned
        await make_topics(kafka, calls.topics.tool_calls, partitions=1)
        await until(lambda: runner.readiness()[0], "it is taken up", METADATA_MS / 2_000)
        assert len(runner._ready) == 1


@asynccontextmanager
async def running(calls: Calls) -> AsyncIterator[Runner]:
    """A runner in this process, without servers, that is ready."""
    runner, stop = runner_of(calls), asyncio.Event()
    task = asyncio.create_task(runner.run(stop))
    try:
        await until(lambda: runner.readiness()[0], "it is ready")
        yield runner
    finally:
        stop.set()
        await task


async def test_a_producer_that_was_idle_for_long_is_replaced(
    kafka: str, unique: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the next call is claimed: Kafka may have forgotten it, and its failure would end the process."""
    async with Calls(tmp_path, kafka, unique) as calls, running(calls) as runner:
        producers = {place: queue.transaction.producer for place, queue in runner._queues.items()}
        monkeypatch.setattr(transaction, "RENEW_S", 0)
        await calls.call("late", partition=1)
        await until(lambda: calls.answered("late"), "an answer")
        replaced = [
            place.partition
            for place, each in producers.items()
            if runner._queues[place].transaction.producer is not each
        ]
        assert replaced == [1]


async def test_a_kafka_that_goes_away_while_a_queue_learns_is_unavailable(
    kafka: str, unique: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it is tried again, and does not hold the place of another queue that takes over."""
    async with Calls(tmp_path, kafka, unique) as calls:
        await write_topic(kafka, calls.topics.tool_state, [(b"k", None, [])], 0)
        runner = runner_of(calls)
        queue = runner._make_queue(TopicPartition(calls.topics.tool_calls, 0))
        goes_away_while_read(monkeypatch)
        async with asyncio.timeout(30):
            with pytest.raises(Unavailable, match="it is away"):
                await runner._learn(queue, 0)


async def test_a_client_that_reads_nothing_any_more_ends_the_runner(kafka: str, unique: str, tmp_path: Path) -> None:
    """Its fetching has ended, and its polls would find nothing from then on."""
    async with Calls(tmp_path, kafka, unique) as calls:
        runner = runner_of(calls)
        task = asyncio.create_task(runner.run(asyncio.Event()))
        await until(lambda: runner.readiness()[0], "it is ready")
        assert runner._consumer is not None
        runner._consumer._fetcher._fetch_task.cancel()
        with pytest.raises(FatalError, match="fetching task has ended"):
            await asyncio.wait_for(task, 30)


def away() -> Runner:
    return Runner(Config(kafka=Kafka(bootstrap_servers="127.0.0.1:1")), Links(()), Numbers(TOOLS_METRICS))


async def test_what_goes_wrong_in_a_callback_is_not_swallowed() -> None:
    """The client would log it and continue, and nobody would run the calls of the partitions."""
    runner = away()
    await runner.on_partitions_assigned([TopicPartition("tool-calls", 0)])
    assert isinstance(runner._failure._told.exception(), AssertionError)


async def test_a_partition_that_goes_as_it_is_taken_over_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the last answer comes, and before the client says so: its queue does not go on with what is another's."""
    runner, place, answer = away(), TopicPartition("tool-calls", 0), asyncio.Event()
    runner._consumer = consumer = cast("AIOKafkaConsumer", Reading(place))

    async def taken_over(place: TopicPartition) -> None:
        await answer.wait()
        runner._read_from(consumer, place, 0)

    monkeypatch.setattr(runner, "_take_over", taken_over)
    await runner.on_partitions_assigned([place])
    await asyncio.sleep(0)
    answer.set()
    consumer.places.clear()
    await asyncio.sleep(0)
    await runner.on_partitions_assigned([])
    assert (runner._failure._told.done(), runner._queues) == (False, {})


async def test_a_queue_that_is_given_up_may_close_what_it_has_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is cancelled once: a client that is cancelled as it stops has a second left."""
    runner, place, begun, told = away(), TopicPartition("tool-calls", 0), asyncio.Event(), list[str]()
    runner._consumer = cast("AIOKafkaConsumer", Reading(place))

    async def taken_over(_: TopicPartition) -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            for _ in range(5):
                await asyncio.sleep(0)
            told.append("closed")

    monkeypatch.setattr(runner, "_take_over", taken_over)
    await runner.on_partitions_assigned([place])
    await begun.wait()
    await runner.on_partitions_assigned([])
    assert told == ["closed"]


async def test_who_is_stopped_before_it_has_begun_ends_at_once() -> None:
    """Without a Kafka, too, which it would wait for for minutes."""
    async with asyncio.timeout(20):
        runner, stop = away(), asyncio.Event()
        running = asyncio.create_task(runner.run(stop))
        await asyncio.sleep(0)
        stop.set()
        await running


async def test_who_takes_no_calls_reads_none() -> None:
    """Of partitions that are still taken over, and of all when it ends: they would be the next owner's later."""
    runner = away()
    ours, taking = (TopicPartition("tool-calls", number) for number in range(2))
    consumer, runner._ready = Reading(ours, taking), {ours}
    for runner._draining, paused in ((False, {taking}), (True, {ours, taking}), (False, {taking})):
        runner._hold(cast("AIOKafkaConsumer", consumer))
        assert consumer.paused() == paused


@pytest.mark.parametrize("where", ["tool-calls", "tool-state"])
async def test_an_end_below_the_commit_is_not_believed_at_once(
    kafka: str, unique: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """A leader that is not up to date would hide claims, and calls would run twice."""
    async with Calls(tmp_path, kafka, unique) as calls, running(calls) as runner:
        place = TopicPartition(calls.topics.tool_calls, 0)
        commit = OffsetAndMetadata(5, "0") if where == "tool-calls" else OffsetAndMetadata(0, "5")
        assert runner._consumer is not None
        await runner._consumer.commit({place: commit})
        with pytest.raises(Unavailable, match="ends at 0, below what is committed, 5"):
            await runner._take_over(place)
        monkeypatch.setattr(believed_ends, "BELIEF_S", 0)
        await runner._take_over(place)


async def test_who_takes_over_fences_the_owner_before(kafka: str, unique: str, tmp_path: Path) -> None:
    """Which can claim no call any more."""
    async with Calls(tmp_path, kafka, unique) as calls:
        place = TopicPartition(calls.topics.tool_calls, 0)
        before = await owner_of(runner_of(calls), place)
        async with running(calls):
            assert isinstance(await refusal_of(before, place), FatalError)
        await before.close(5)


async def test_the_newcomer_of_two_with_one_name_ends_with_the_cause(kafka: str, unique: str, tmp_path: Path) -> None:
    """Otherwise they would fence each other for ever."""
    async with Calls(tmp_path, kafka, unique) as calls:
        calls.settings["kafka"] |= {"group_instance_id": "runner-0", "heartbeat_interval_ms": 300}
        stop = asyncio.Event()
        runs = [asyncio.create_task(runner_of(calls).run(stop)) for _ in range(2)]
        async with asyncio.timeout(30):
            with pytest.raises(FatalError, match=r"kafka.group_instance_id 'runner-0' must be that of one process"):
                await asyncio.gather(*runs)
            stop.set()
            await asyncio.gather(*runs, return_exceptions=True)


async def test_who_is_no_member_any_more_fences_nobody(kafka: str, unique: str, tmp_path: Path) -> None:
    """A partition that it lost without hearing of it is another one's: first the group is asked."""
    async with Calls(tmp_path, kafka, unique) as calls, running(calls) as runner:
        place = TopicPartition(calls.topics.tool_calls, 0)
        owner, old = await owner_of(runner, place), runner._queues[place]
        runner._queues[place] = runner._make_queue(place)
        assert runner._consumer is not None
        coordinator = runner._consumer._coordinator
        await coordinator._send_req(LeaveGroupRequest(coordinator.group_id, coordinator.member_id))
        (problem,) = await asyncio.gather(runner._take_over(place), return_exceptions=True)
        assert isinstance(problem, Unavailable)
        assert await refusal_of(owner, place) is None
        await owner.close(5)
        await old.close()


async def test_a_topic_that_is_not_there_is_named_with_what_makes_it(kafka: str, unique: str) -> None:
    """The client itself says of a topic that it waits for nothing that helps."""
    settings = Kafka(bootstrap_servers=kafka, group_id=unique, startup_timeout_s=1)
    config = Config(kafka=settings, topics=Topics(tool_calls=unique))
    with pytest.raises(Unavailable, match=f"no topic {unique}: `tokenmill topics create`"):
        await Runner(config, Links(()), Numbers(TOOLS_METRICS)).run(asyncio.Event())
