"""What becomes of answers that nobody reads."""

import asyncio
from typing import cast

import pytest

from tests.support.event_log import EventLog, of, spoken
from tests.support.stage import until
from tokenmill.apis.record import LeftRecord, ReaderRecord, read_request
from tokenmill.front import readers as module
from tokenmill.front.readers import OtherFronts, Readers
from tokenmill.gateway.ingest.in_flight import unavailable
from tokenmill.gateway.ingest.producer import Producer
from tokenmill.gateway.problems import Refused
from tokenmill.gateway.streams.hub import Hub


class Stopped:
    """Remembers what was stopped."""

    def __init__(self) -> None:
        self.answers: list[tuple[str, str]] = []

    async def __call__(self, conversation: str, message_id: str) -> None:
        self.answers.append((conversation, message_id))


def readers(disconnect_s: float, hub: Hub | None = None) -> tuple[Readers, Stopped]:
    stopped = Stopped()
    return Readers(hub or Hub(), disconnect_s, stopped), stopped


async def test_an_answer_whose_last_reader_left_is_stopped() -> None:
    """When the time is over, and once."""
    made, stopped = readers(0.01)
    with made.reading("c", "m", stays=False), made.reading("c", "m", stays=False):
        assert made.total == 2
    await until(lambda: stopped.answers, "it is stopped")
    await made.close()
    assert (stopped.answers, made.abandoned, made.total) == ([("c", "m")], 1, 0)


async def test_an_answer_is_not_stopped_while_others_read_it() -> None:
    """Whoever leaves first."""
    made, stopped = readers(0)
    with made.reading("c", "m", stays=False):
        with made.reading("c", "m", stays=False):
            pass
        assert (made.total, made._leaving) == (1, {})
        made.asked("c", "m")  # there is no other front
        await asyncio.sleep(0)
        assert stopped.answers == []
    assert made.total == 0
    await made.close()


async def test_fronts_write_to_each_other_by_the_conversation() -> None:
    """What is asked and what is told are different records."""
    sent: list[tuple[str, bytes, object]] = []

    class Sending:
        async def send(self, topic: str, key: bytes, value: bytes) -> None:
            sent.append((topic, key, read_request(value)))

    others = OtherFronts(cast("Producer", Sending()), "requests")
    await others.ask("c", "m")
    await others.tell("c", "m")
    assert sent == [("requests", b"c", LeftRecord("m")), ("requests", b"c", ReaderRecord("m"))]


async def test_whoever_has_all_of_it_stops_nothing() -> None:
    """Nor does the request of an answer that stays."""
    made, stopped = readers(0)
    with made.reading("c", "m", stays=False) as reader:
        reader.done = True
    with made.reading("c", "n", stays=True):
        pass
    await asyncio.sleep(0)
    assert (made._leaving, stopped.answers) == ({}, [])


@pytest.mark.parametrize("where", ["here", "elsewhere"])
async def test_an_answer_that_is_read_again_goes_on(where: str) -> None:
    """Whoever reads it then looks after it."""
    made, stopped = readers(60)
    with made.reading("c", "m", stays=False):
        pass
    (leaving,) = made._leaving.values()
    if where == "here":
        with made.reading("c", "m", stays=False) as reader:
            reader.done = True
    else:
        made.read_elsewhere("c", "m")
    await asyncio.wait([leaving])
    assert leaving.cancelled()
    assert (made._leaving, stopped.answers) == ({}, [])


async def test_a_stop_that_has_begun_is_written_whole() -> None:
    """Whoever comes meanwhile: a caller has ended the answer already, and its message would stay open."""
    begun, go_on, ended = asyncio.Event(), asyncio.Event(), list[str]()

    async def stop(_: str, message_id: str) -> None:
        begun.set()
        await go_on.wait()
        ended.append(message_id)

    made = Readers(Hub(), 0, stop)
    with made.reading("c", "m", stays=False):
        pass
    await asyncio.wait_for(begun.wait(), 20)
    with made.reading("c", "m", stays=False) as reader:
        reader.done = True
    go_on.set()
    await until(lambda: ended, "it is stopped")
    await made.close()
    assert (ended, made.abandoned) == (["m"], 1)


async def test_an_answer_of_the_same_id_in_another_conversation_is_another_one() -> None:
    """An id without a conversation stands for one of each client: who reads his own keeps no other going."""
    made, stopped = readers(0.01)
    with made.reading("~bob~x", "m", stays=False) as bob:
        with made.reading("~alice~x", "m", stays=False):
            pass
        made.read_elsewhere("~carol~x", "m")
        await until(lambda: stopped.answers, "it is stopped")
        bob.done = True
    await made.close()
    assert stopped.answers == [("~alice~x", "m")]


class Fronts:
    """Some of them, of which each hears at once what another one says."""

    def __init__(self, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "ANSWER_S", 0.2)
        self.problem: Refused | None = None
        self.stopped = Stopped()
        self.all = [Readers(Hub(), 0.01, self.stopped, cast("OtherFronts", self)) for _ in range(count)]

    async def ask(self, conversation: str, message_id: str) -> None:
        if self.problem is not None:
            raise self.problem
        for each in self.all:
            each.asked(conversation, message_id)

    async def tell(self, conversation: str, message_id: str) -> None:
        assert conversation == "c"
        for each in self.all:
            each.read_elsewhere(conversation, message_id)


async def test_what_another_front_reads_is_not_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever came first, and whenever it was noticed that the reader here had left; the last one to leave stops it."""
    fronts = Fronts(3, monkeypatch)
    first, second, _ = fronts.all
    with second.reading("c", "m", stays=False):
        with first.reading("c", "m", stays=False):
            pass
        (leaving,) = first._leaving.values()
        await asyncio.wait([leaving])
        assert leaving.cancelled()
    assert fronts.stopped.answers == []
    await until(lambda: fronts.stopped.answers, "the last one has left")
    assert fronts.stopped.answers == [("c", "m")]


async def test_who_can_ask_nobody_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Kafka is away: a stop could not be written either."""
    fronts = Fronts(1, monkeypatch)
    fronts.problem = unavailable("Kafka is away")
    with fronts.all[0].reading("c", "m", stays=False):
        pass
    await asyncio.wait(fronts.all[0]._leaving.values())
    assert (fronts.stopped.answers, fronts.all[0]._leaving) == ([], {})
    assert "was not stopped, and continues: Kafka is away" in caplog.text


async def test_an_answer_that_ends_by_itself_is_not_stopped() -> None:
    """Its end is heard, and nobody waits any longer."""
    hub = Hub()
    made, stopped = readers(60, hub)
    with made.reading("c", "m", stays=False):
        pass
    (leaving,) = made._leaving.values()
    await until(lambda: hub._watched, "its end is waited for")
    hub.dispatch(EventLog(of("c", spoken("m", "Hello"))).entries())
    await asyncio.wait_for(leaving, 10)
    assert (hub._watched, made._leaving, stopped.answers) == ({}, {}, [])


async def test_who_sends_readers_away_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """They come back to other fronts, while the answers of this process go on, perhaps for long."""
    made, stopped = readers(0.01, hub := Hub())
    with made.reading("c", "m", stays=False):
        hub.close()
    await until(lambda: not made._leaving, "the time is over")
    fronts = Fronts(1, monkeypatch)
    (front,) = fronts.all
    monkeypatch.setattr(fronts, "ask", lambda *_: asyncio.sleep(0, front._hub.close()))
    with front.reading("c", "m", stays=False):
        pass
    await until(lambda: not front._leaving, "the others had their time to answer")
    assert (stopped.answers, fronts.stopped.answers) == ([], [])


async def test_a_process_that_ends_stops_nothing() -> None:
    """Its clients come back elsewhere."""
    made, stopped = readers(60)
    with made.reading("c", "m", stays=False):
        pass
    await made.close()
    assert stopped.answers == []
