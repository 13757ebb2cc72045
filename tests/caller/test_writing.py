"""Chunks of one answer on their way to Kafka: numbered, in order, and written again where it refused them."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.support.answering import Narrow
from tests.support.stage import until
from tests.support.written import PARTITION, Written, told
from tokenmill.caller import writing as module
from tokenmill.caller.writing import RANGE, ChunkWriter
from tokenmill.codecs import Chunk
from tokenmill.gateway.ingest import pipelined_writer
from tokenmill.gateway.ingest.in_flight import InFlightRecord, unavailable
from tokenmill.gateway.problems import TOO_LARGE, Refused
from tokenmill.records import Headers

OPTIONS = {"format": "plain"}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka is asked again at once."""
    monkeypatch.setattr(module, "AGAIN_S", 0.0)


def writer(written: Any, **settings: Any) -> ChunkWriter:
    return ChunkWriter(written, "tokens", "c", "m1", **settings)


def numbers(written: Written, choice: int = 0) -> list[int]:
    """Those of a choice, as they are in the log."""
    return [record.chunk["seq"] for record in written.records if record.chunk.get("choice", 0) == choice]


def deltas(written: Written) -> list[str]:
    """Texts as a worker takes them: the first time that a number comes, in order."""
    taken: dict[int, str] = {}
    for record in written.records:
        if record.chunk["seq"] == len(taken):
            taken[record.chunk["seq"]] = record.chunk.get("delta", "")
    return list(taken.values())


async def test_each_choice_has_its_own_numbers() -> None:
    """From the opening on; the first choice is not named, as it is the one that is meant."""
    written = Written()
    way = writer(written)
    await way.open(OPTIONS, 2)
    for choice in (1, 0, 1):
        await way.put(Chunk(choice=choice, delta="x"))
    await way.acknowledged()
    assert (numbers(written, 0), numbers(written, 1)) == ([0, 1], [0, 1, 2])
    assert [record.chunk.get("open") for record in written.records] == [OPTIONS, OPTIONS, None, None, None]
    assert all("resumes" not in record.chunk and record.chunk["message_id"] == "m1" for record in written.records)
    assert "choice" not in written.records[0].chunk


async def test_the_first_token_has_a_producer_of_its_own_and_the_next_waits_until_it_is_in_the_log() -> None:
    """Else it could come behind the next one."""
    quick, other = Written(), Written()
    quick.acknowledging.clear()
    way = writer(other, first=quick)
    await way.open(OPTIONS, 1)
    await way.put(Chunk(delta="Hel"))
    assert deltas(quick) == ["", "Hel"]
    following = asyncio.create_task(way.put(Chunk(delta="lo")))
    await asyncio.sleep(0)
    assert (other.records, following.done()) == ([], False)
    quick.acknowledging.set()
    await following
    await way.put(Chunk(delta="!"))
    await way.acknowledged()
    assert numbers(quick) + numbers(other) == [0, 1, 2, 3]
    assert [record.chunk["delta"] for record in other.records] == ["lo", "!"]


async def test_a_first_token_that_is_refused_is_written_again_before_the_next() -> None:
    """By the same producer, and what follows goes by the other."""
    quick, other = Written(), Written()
    quick.refusals[1] = unavailable("a test refuses it")
    way = writer(other, first=quick)
    await way.open(OPTIONS, 1)
    for delta in ("Hel", "lo"):
        await way.put(Chunk(delta=delta))
    await way.acknowledged()
    assert numbers(quick) == [0, 1, 1]
    assert numbers(other) == [2]


class Growing(Written):
    """A topic that has one more partition from when somebody has asked where a key goes."""

    def __init__(self) -> None:
        super().__init__()
        self._added = 0
        self.used = set[int]()

    async def partition(self, topic: str, key: bytes) -> int:
        self._added += 1
        return await super().partition(topic, key) + self._added - 1

    async def put(
        self, topic: str, partition: int, key: bytes, value: bytes | None, headers: Headers = ()
    ) -> InFlightRecord:
        self.used.add(partition)
        return await super().put(topic, PARTITION, key, value, headers)


async def test_a_topic_that_grows_takes_over_no_answer_in_its_middle() -> None:
    """Whether something is refused, the next producer's turn comes or a sign of life is given: the rest is orphaned
    where nobody has its beginning.
    """
    first, written = Growing(), Growing()
    written.refusals[0] = unavailable("a test refuses it")
    way = writer(written, first=first)
    await way.open(OPTIONS, 1)
    written._added = first._added
    for delta in ("Hel", "lo", "!"):
        await way.put(Chunk(delta=delta))
        await way.beat()
    await way.acknowledged()
    assert (first.used, written.used) == ({PARTITION}, {PARTITION})
    texts = [record.chunk["delta"] for record in written.records if "delta" in record.chunk]
    assert (texts[0], texts[-2:]) == ("lo", ["lo", "!"])


async def test_who_takes_over_has_the_next_range() -> None:
    """And says so with each opening, whose further headers no other record has."""
    written = Written()
    way = writer(written, attempt=2)
    await way.open(OPTIONS, 2, [("tm-takeover", b"me")])
    await way.put(Chunk(delta="x"))
    await way.acknowledged()
    assert (numbers(written, 0), numbers(written, 1)) == ([2 * RANGE, 2 * RANGE + 1], [2 * RANGE])
    assert [record.chunk.get("resumes") for record in written.records] == [True, True, None]
    assert [record.header("tm-takeover") for record in written.records] == ["me", "me", ""]


async def test_a_chunk_of_a_server_s_gets_our_names() -> None:
    """It opens nothing, is of no other conversation, and has no number of its own."""
    written = Written()
    theirs = Chunk(conversation_id="d", message_id="chatcmpl-1", seq=9, open={"format": "x"}, model="gpt", delta="Hi")
    await writer(written).put(theirs)
    assert written.records[0].chunk == {"message_id": "m1", "seq": 0, "delta": "Hi"}
    assert (written.records[0].topic, written.records[0].key) == ("tokens", b"c")


@pytest.mark.parametrize(("native", "codec"), [(True, ""), (False, "native")])
async def test_records_say_that_they_are_native_where_the_topic_s_are_not(native: bool, codec: str) -> None:
    """All of them, signs of life included."""
    written = Written()
    way = writer(written, native=native)
    await way.open(OPTIONS, 1, [("traceparent", b"t")])
    await way.put(Chunk(delta="Hi"))
    await way.beat()
    assert [record.header("tm-codec") for record in written.records] == [codec] * 3
    assert [record.header("traceparent") for record in written.records] == ["t", "", ""]


async def test_a_failure_ends_every_choice_once() -> None:
    """With the server's status and words; a worker tells it behind the text."""
    written = Written()
    way = writer(written, native=False)
    await way.open(OPTIONS, 2)
    await way.put(Chunk(choice=1, delta="Hel"))
    await way.fail("it broke", 502, "<html>", 2)
    await way.acknowledged()
    last = [record.chunk for record in written.records][-2:]
    fields = {"error": "it broke", "error_status": 502, "error_raw": "<html>", "finish_reason": "error", "end": True}
    assert [chunk.items() >= fields.items() for chunk in last] == [True, True]
    story = told((record.value, record.headers) for record in written.records)["m1"]
    assert sorted(story) == sorted(["Hel", "upstream: it broke", "upstream: it broke", "[error]", "[error]"])


@pytest.mark.parametrize("refused", [[0], [2], [4], [1, 2], [0, 5, 6], [1, 6, 11]])
async def test_what_kafka_refuses_is_written_again_in_order(refused: list[int]) -> None:
    """With the same numbers: none is lost, none is late, whatever was written already."""
    written = Written()
    written.refusals = {offset: unavailable("Kafka: no") for offset in refused}
    way = writer(written)
    await way.open(OPTIONS, 1)
    for text in "abcd":
        await way.put(Chunk(delta=text))
    await way.put(Chunk(end=True))
    await way.acknowledged()
    assert deltas(written) == ["", "a", "b", "c", "d", ""]
    assert numbers(written)[max(refused) + 1 :][-1] == 5
    assert len(written.records) > 6


async def test_everything_is_in_the_log_when_it_is_acknowledged() -> None:
    """Not before: an end that is not there is none."""
    written = Written()
    written.acknowledging.clear()
    way = writer(written)
    await way.open(OPTIONS, 1)
    waiting = asyncio.create_task(way.acknowledged())
    await asyncio.wait([waiting], timeout=0.01)
    assert not waiting.done()
    written.acknowledging.set()
    async with asyncio.timeout(5):
        await waiting
        await way.acknowledged()


async def test_what_kafka_has_is_not_kept() -> None:
    """An answer of an hour takes no more memory than one of a second; and each record is a sign of life."""
    way = writer(Written())
    for _ in range(50):
        way.written_at = 0.0
        await way.put(Chunk(delta="x"))
        assert way.written_at > 0
        await asyncio.sleep(0)
    assert len(way._unacknowledged) < 5


async def test_it_goes_no_faster_than_kafka_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a model's server is read no faster, too."""
    monkeypatch.setattr(pipelined_writer, "WINDOW_BYTES", 100)
    written = Written()
    written.acknowledging.clear()
    way = writer(written)

    async def many() -> None:
        for _ in range(50):
            await way.put(Chunk(delta="x" * 50))

    task = asyncio.create_task(many())
    await until(lambda: len(written.records) == 2, "the window is full")
    await asyncio.wait([task], timeout=0.01)
    assert len(written.records) == 2
    written.acknowledging.set()
    async with asyncio.timeout(5):
        await task
    assert numbers(written) == list(range(50))


@pytest.mark.parametrize("stage", ["no room", "full window", "written again"])
async def test_who_is_cut_off_in_the_middle_of_a_chunk_can_still_say_the_end(
    stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an answer whose time is over does; the chunk that was not written leaves no gap."""
    monkeypatch.setattr(pipelined_writer, "WINDOW_BYTES", 100)
    written = Written()
    way = writer(written, native=False)
    await way.open(OPTIONS, 1)
    if stage == "no room":
        written.taking.clear()
    elif stage == "full window":
        written.acknowledging.clear()
    else:
        monkeypatch.setattr(module, "AGAIN_S", 60.0)
        written.refusals = {1: unavailable("Kafka: no")}

    async def many() -> None:
        for text in "abcdef":
            await way.put(Chunk(delta=text * 40))

    task = asyncio.create_task(many())
    await asyncio.wait([task], timeout=0.05)
    assert task.cancel()
    await asyncio.wait([task])
    monkeypatch.setattr(module, "AGAIN_S", 0.0)
    written.taking.set()
    written.acknowledging.set()
    async with asyncio.timeout(5):
        await way.fail("too late", 504, "", 1)
        await way.acknowledged()
    taken = deltas(written)
    assert taken == ["", *(letter * 40 for letter in "abcdef"[: len(taken) - 2]), ""]
    assert told((record.value, record.headers) for record in written.records)["m1"][-2:] == [
        "upstream: too late",
        "[error]",
    ]


async def test_a_record_that_kafka_never_takes_is_said_and_leaves_no_gap() -> None:
    """It would be written again for ever."""
    written = Narrow(200)
    way = writer(written)
    await way.open(OPTIONS, 1)
    with pytest.raises(Refused) as problem:
        await way.put(Chunk(delta="x" * 300))
    await way.put(Chunk(delta="y"))
    async with asyncio.timeout(5):
        await way.acknowledged()
    assert problem.value.kind is TOO_LARGE
    assert (numbers(written), deltas(written)) == ([0, 1], ["", "y"])


async def test_a_sign_of_life_changes_nothing() -> None:
    """It has no number; one that Kafka refuses is not written again."""
    written = Written()
    way = writer(written, native=False)
    await way.open(OPTIONS, 1)
    assert way.written_at > 0
    way.written_at = 0.0
    await way.beat()
    assert way.written_at > 0
    assert msgspec.json.decode(written.records[-1].value or b"") == {"message_id": "m1"}
    written.refusals = {2: unavailable("Kafka: no")}
    await way.beat()
    await way.put(Chunk(delta="Hi", end=True))
    await way.acknowledged()
    assert [record.chunk.get("seq") for record in written.records] == [0, None, None, 1]
    assert told((record.value, record.headers) for record in written.records)["m1"] == ["Hi", "[stop]"]


@pytest.mark.parametrize("attempt", [0, 2])
async def test_a_sign_of_life_says_whose_it_is(attempt: int) -> None:
    """In a header, which a worker passes over; chunks have it in their numbers."""
    written = Written()
    way = writer(written, attempt=attempt)
    await way.open(OPTIONS, 1)
    await way.beat()
    assert [record.header(module.SIGN_RANGE) for record in written.records] == ["", str(attempt)]
    assert written.records[-1].chunk == {"message_id": "m1"}


async def test_a_sign_of_life_that_can_t_be_given_is_not_missed() -> None:
    """Where there is no room there is none for others, either."""

    class Full(Written):
        async def put(self, *_: Any, **__: Any) -> InFlightRecord:
            raise unavailable("Kafka: no room")

    written = Full()
    way = writer(written)
    before = way.written_at
    await way.beat()
    assert (written.records, way.written_at) == ([], before)


async def test_a_stop_is_in_the_log_before_it_counts() -> None:
    """The request is committed then, and nobody looks after the answer again. A refusal is told."""
    written = Written()
    way = writer(written)
    await way.open(OPTIONS, 1)
    await way.acknowledged()
    written.acknowledging.clear()
    stopping = asyncio.create_task(way.cancel())
    await until(lambda: len(written.records) == 2, "it is written")
    assert not stopping.done()
    written.refusals[1] = unavailable("away")
    written.acknowledging.set()
    with pytest.raises(Refused, match="away"):
        await stopping
