"""The answers of a process that are under way."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, SupportsIndex

import pytest

from tests.support.answering import Desk, desk
from tests.support.model_servers.speech import Script
from tests.support.model_servers.vllm import Vllm
from tests.support.stage import until
from tests.support.watching import PARTITION, Watching
from tokenmill.caller import answer as answers
from tokenmill.caller import running as module
from tokenmill.caller.answer import Answer
from tokenmill.caller.pool import FAILURES
from tokenmill.caller.running import Running
from tokenmill.codecs import Chunk
from tokenmill.errors import Unavailable
from tokenmill.observe import CALLER_METRICS, Numbers
from tokenmill.observe.caller_table import Outcome

SLOW = Script("x" * 4_000, pause_s=0.02)


class Scene:
    """Answers under way, and which requests are over."""

    def __init__(self, at: Desk, server: Vllm, lease_s: float) -> None:
        self.at = at
        self.server = server
        self.watching = Watching()
        self.numbers = Numbers(CALLER_METRICS)
        self.running = Running(at.resources, self.watching.finishes, lease_s, self.numbers)
        self.over: list[int] = []
        """Offsets."""
        self.left: list[int] = []
        """Of those whose end has to be looked for."""

    def begin(self, message_id: str = "m1", offset: int = 0) -> Answer:
        """Let an answer run."""
        answer = self.at.answer(message_id=message_id)
        self.let(answer, answer.run(), offset)
        return answer

    def let(self, answer: Answer, work: Coroutine[Any, Any, Outcome], offset: int = 0) -> None:
        """Let some work of an answer go to its end."""

        def over(*, known: bool) -> None:
            (self.over if known else self.left).append(offset)

        self.running.begin(answer, work, over)

    async def quiet(self) -> None:
        """Nothing is under way."""
        await until(lambda: not self.running.count, "all answers are over", 20)

    def outcomes(self, outcome: str) -> float:
        """How many ended so."""
        return self.numbers.value("tokenmill_caller_answers_total", outcome)


@asynccontextmanager
async def scene(script: Script, *, lease_s: float = 60, **settings: Any) -> AsyncIterator[Scene]:
    async with Vllm(lambda _: script) as server, desk("vllm", server.url, **settings) as at:
        yield Scene(at, server, lease_s)


async def test_an_answer_goes_to_its_end_and_its_request_is_over() -> None:
    """It is counted, and not remembered: what is over here may not be over in the log."""
    async with scene(Script("Hello")) as now:
        now.begin(offset=7)
        assert (now.running.count, now.running.knows("m1")) == (1, True)
        await now.quiet()
        assert (now.over, now.outcomes("finished")) == ([7], 1)
        assert not now.running.knows("m1")
        assert now.numbers.histograms["tokenmill_caller_first_token_seconds"].count == 1
        assert now.watching.tail.pins[PARTITION] == 0


async def test_an_answer_that_is_taken_over_from_ourselves_is_left() -> None:
    """As soon as the one that goes on begins; the end of the first is none of the second's."""
    async with scene(SLOW) as now:
        first = now.begin(offset=7)
        await until(lambda: first.first_s is not None, "it has begun")
        second = now.begin(offset=9)
        await now.server.generations[0].over()
        await until(lambda: now.over == [7], "the first is over")
        assert (now.running.count, now.running.knows("m1"), now.outcomes("stopped")) == (1, True, 1)
        await until(lambda: second.first_s is not None, "the second goes on")
        now.watching.end("m1")
        await now.quiet()
        assert now.over == [7, 9]


async def test_an_answer_that_is_ended_elsewhere_is_left() -> None:
    """As by a stop: its server is, too, and its request is over."""
    async with scene(SLOW) as now:
        answer = now.begin()
        await until(lambda: answer.first_s is not None, "it has begun")
        now.watching.end("another")
        assert now.running.count == 1
        now.watching.end("m1")
        await now.server.generations[0].over()
        await now.quiet()
        assert (now.outcomes("stopped"), now.over, now.at.pool.running) == (1, [0], 0)


async def test_a_failure_is_counted_by_its_kind() -> None:
    """Beside how the answer ended."""
    async with scene(Script("", fail="refuse", status=400)) as now:
        now.begin()
        await now.quiet()
        assert (now.outcomes("refused"), now.over) == (1, [0])
        assert now.numbers.value("tokenmill_caller_failures_total", "refused") == 1


async def test_an_answer_that_its_server_has_parsed_is_counted() -> None:
    """By the sign of it."""
    async with scene(Script("Hello")) as now:
        assert now.numbers.value("tokenmill_caller_parsed_total", "nothing") == 0
        now.at.resources.models["m"].parsers.saw("nothing")
        assert now.numbers.value("tokenmill_caller_parsed_total", "nothing") == 1


async def test_a_mistake_of_ours_ends_the_answer_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Behind what was said; nobody waits for it for ever."""
    async with scene(Script("")) as now:
        answer = now.at.answer()

        async def wrong() -> Outcome:
            await answer.writer.open({"format": "hermes"}, 1)
            await answer.put(Chunk(delta="Hel"))
            raise ZeroDivisionError

        now.let(answer, wrong())
        await now.quiet()
        assert (now.outcomes("refused"), now.over, now.at.status) == (1, [0], 500)
        assert now.at.story() == ["<hermes>", "Hel", f"upstream: {module.FAILED}", "[error]"]
        assert now.watching.tail.pins[PARTITION] == 0
    assert "an answer failed with an unexpected error: m1" in caplog.text
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("stage", ["ends", "watches"])
async def test_what_can_t_be_ended_is_looked_for_and_logged(
    stage: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever was raised: it is neither forgotten nor taken for over."""
    async with scene(Script("Hello")) as now:
        answer = now.at.answer()

        async def wrong() -> Outcome:
            raise ZeroDivisionError

        if stage == "ends":

            async def broken(*_: object) -> None:
                raise LookupError("what nobody foresaw")

            monkeypatch.setattr(answer.writer, "open", broken)
        else:
            now.watching.tail.problems = [LookupError("what nobody foresaw")]
        now.let(answer, wrong(), offset=7)
        await now.quiet()
        assert (now.over, now.left, now.running.knows("m1")) == ([], [7], False)
        assert now.watching.tail.pins[PARTITION] == 0
    assert "an answer could not be ended, and will be recovered: m1" in caplog.text
    assert "what nobody foresaw" in caplog.text


async def test_an_answer_whose_end_kafka_does_not_take_is_looked_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It was not over in time: that is counted, and the request is not over."""
    monkeypatch.setattr(answers, "END_S", 0.1)
    async with scene(Script("Hello")) as now:
        now.at.written.taking.clear()
        answer = now.at.answer(seconds=0.1)
        now.let(answer, answer.run(), offset=7)
        await now.quiet()
        assert (now.over, now.left, now.outcomes("expired")) == ([], [7], 1)
    assert "Kafka did not acknowledge the end of an answer, which will be recovered: m1" in caplog.text


@pytest.mark.parametrize("stage", ["watches", "opens"])
async def test_one_that_is_given_up_can_be_ended_elsewhere(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its request is over then, as that of one that was called for."""
    monkeypatch.setattr(module, "AGAIN_S", 60.0)
    async with scene(Script("Hello")) as now:
        if stage == "watches":
            now.watching.tail.problems = [Unavailable("Kafka does not answer")]
        now.at.written.taking.clear()
        answer = now.at.answer()
        now.let(answer, answer.give_up("too many", 429), offset=7)
        if stage == "watches":
            await until(lambda: not now.watching.tail.problems, "Kafka was asked")
            now.begin(offset=9)
        else:
            await until(lambda: now.watching.tail.pins[PARTITION] == 1, "it is watched")
            now.watching.end("m1")
        await until(lambda: now.over == [7], "it is over")
        assert (now.left, now.outcomes("stopped")) == ([], 1)
        await now.running.close()


async def test_an_answer_waits_for_kafka_to_be_watched(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One that nobody could stop is not begun."""
    monkeypatch.setattr(module, "AGAIN_S", 0.0)
    async with scene(Script("Hello")) as now:
        now.watching.tail.problems = [Unavailable("Kafka does not answer") for _ in range(3)]
        now.begin()
        await now.quiet()
        assert (now.outcomes("finished"), now.watching.tail.problems) == (1, [])
    assert caplog.text.count("an answer waits until Kafka answers: Kafka does not answer") == 3


class Endless(list[Exception]):
    """The same problem again and again."""

    def pop(self, _: SupportsIndex = -1) -> Exception:
        return self[0]


async def test_an_answer_waits_for_kafka_no_longer_than_it_has_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends as one that is late, though nobody could be asked whether it was stopped."""
    monkeypatch.setattr(module, "AGAIN_S", 0.0)
    async with scene(Script("Hello")) as now:
        now.watching.tail.problems = Endless([Unavailable("Kafka does not answer")])
        answer = now.at.answer(seconds=0.1)
        now.let(answer, answer.run(), offset=7)
        await now.quiet()
        assert (now.over, now.left, now.outcomes("expired")) == ([7], [], 1)


async def test_signs_of_life_are_given_where_nothing_else_is_written() -> None:
    """So that nobody takes over what waits for a place."""
    async with scene(Script("Hello"), lease_s=0.3, calls=1) as now:
        await now.at.pool.take()
        answer = now.begin()
        beating = asyncio.create_task(now.running.beat())
        await until(lambda: len(now.at.written.records) >= 4, "three signs of life")
        first, *signs = now.at.written.chunks
        assert "open" in first
        assert all(sign == {"message_id": "m1"} for sign in signs)
        beating.cancel()
        assert answer.first_s is None
        await now.running.close()


async def test_a_sign_that_kafka_does_not_take_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As of an answer whose partition has lost its leader: the others would be taken over."""
    caplog.set_level(logging.INFO)
    async with scene(Script("Hello"), lease_s=0.6, calls=1) as now:
        await now.at.pool.take()
        held = now.begin("held")
        now.begin("free")
        await until(lambda: now.at.pool.waiting == 2, "both have begun")
        never = asyncio.Event()
        monkeypatch.setattr(held.writer, "beat", never.wait)
        beating = asyncio.create_task(now.running.beat())
        await until(lambda: len(now.at.written.chunks) >= 6, "four signs of the other one")
        assert {chunk["message_id"] for chunk in now.at.written.chunks[2:]} == {"free"}
        beating.cancel()
        await now.running.close()
    assert "a sign of life was not written in time" in caplog.text


async def test_who_writes_gives_no_further_signs() -> None:
    """Its chunks are signs enough."""
    async with scene(Script("x" * 240, pause_s=0.02), lease_s=6) as now:
        beating = asyncio.create_task(now.running.beat())
        now.begin()
        await now.quiet()
        beating.cancel()
        assert all("seq" in chunk for chunk in now.at.written.chunks)


async def test_a_stop_in_another_conversation_is_of_another_answer() -> None:
    """Clients choose the ids of their own messages."""
    async with scene(Script("Hello")) as now:
        now.begin()
        for conversation, message_id in (("d", "m1"), ("c", "m2")):
            now.running.cancel(conversation, message_id)
            assert now.running._runs["m1"].cancelling is None
        await now.running.finished(20)
        assert (now.over, now.outcomes("finished")) == ([0], 1)


async def test_answers_are_waited_for_then_cut_off(caplog: pytest.LogCaptureFixture) -> None:
    """Those are not over: who has their partition next takes them over."""
    caplog.set_level(logging.INFO)
    async with scene(SLOW) as now:
        answer = now.begin()
        await until(lambda: answer.first_s is not None, "it has begun")
        await now.running.finished(0.05)
        assert now.running.count == 1
        await now.running.close()
        assert (now.running.count, now.over, now.at.pool.running) == (0, [], 0)
        assert not now.running.knows("m1")
        assert not any(chunk.get("end") for chunk in now.at.written.chunks)
        await now.running.finished(60)
        await now.running.close()
    assert "cutting off 1 answers" in caplog.text


async def test_one_that_is_cut_off_before_it_could_begin_has_done_nothing() -> None:
    """Also while Kafka is asked whether it can be watched."""
    async with scene(Script("Hello")) as now:
        now.begin()
        await now.running.close()
        now.watching.tail.problems = [Unavailable("Kafka does not answer")]
        now.begin("m2")
        await until(lambda: not now.watching.tail.problems, "Kafka was asked")
        await now.running.close()
        assert (now.at.written.records, now.over, now.running.count) == ([], [], 0)


async def test_a_stop_waits_no_longer_than_its_answer() -> None:
    """One that ends without having been open has nothing to be ended."""
    async with scene(Script("Hello")) as now:
        go = asyncio.Event()

        async def unopened() -> Outcome:
            await go.wait()
            return "refused"

        now.let(now.at.answer(), unopened())
        now.running.cancel("c", "m1")
        stop = now.running._runs["m1"].cancelling
        assert stop is not None
        go.set()
        await now.quiet()
        await asyncio.wait([stop], timeout=5)
        assert (stop.cancelled(), now.at.written.records) == (True, [])


async def test_what_is_under_way_can_be_seen() -> None:
    """How many answers, how many of them wait, and which servers are left alone."""
    async with scene(SLOW, calls=1) as now:
        now.begin("m1")
        now.begin("m2")
        await until(lambda: now.at.pool.waiting == 1, "one waits")
        seen = [now.numbers.value(f"tokenmill_caller_{name}") for name in ("running", "waiting", "urls_left_alone")]
        assert seen == [2, 1, 0]
        for _ in range(FAILURES):
            now.at.pool.replicas[0].fails(time.monotonic())
        assert now.numbers.value("tokenmill_caller_urls_left_alone") == 1
        await now.running.close()


async def test_a_sign_of_life_may_be_late_and_the_lease_still_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to two looks lie between two signs: two such gaps fit into a lease, and another look."""
    pauses = list[float]()

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        raise asyncio.CancelledError

    async with scene(Script("Hello"), lease_s=60) as now:
        with monkeypatch.context() as patched:
            patched.setattr(asyncio, "sleep", sleep)
            with pytest.raises(asyncio.CancelledError):
                await now.running.beat()
    assert 5 * pauses[0] <= 60
