"""One client from its first byte to its last: `gateway/streams/stream_session.py`, over a pipe that remembers."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from tests.support.gateways import Gate, Speaker, answer, listening, payloads, shown
from tokenmill.dialects import find_dialect
from tokenmill.dialects.native import NATIVE
from tokenmill.gateway.auth.grant import Held, always
from tokenmill.gateway.event_log.reading import Since
from tokenmill.gateway.event_log.window import TURN_BYTES
from tokenmill.gateway.streams.framing import LINES, SSE, Framing
from tokenmill.gateway.streams.outbox import PIECE_BYTES
from tokenmill.gateway.streams.stream_request import StreamRequest
from tokenmill.observe.gateway_table import Outcome

pytestmark = pytest.mark.integration

ASKED = StreamRequest("c", find_dialect("ai_sdk_ui"), SSE, start="start", until_finish=True)


class Memory:
    """A connection that takes everything."""

    buffered = 0

    def __init__(self) -> None:
        self.taken = b""

    async def send(self, data: bytes) -> None:
        """Take bytes of the past."""
        self.taken += data

    def write(self, data: bytes) -> None:
        """Take bytes of the present."""
        self.taken += data


class Full(Memory):
    """A connection whose socket is full, until somebody waits for it."""

    buffered = 1

    def __init__(self) -> None:
        super().__init__()
        self.sent = list[int]()

    async def send(self, data: bytes) -> None:
        """Take it, and remember how much it was."""
        self.sent.append(len(data))
        self.taken += data


@pytest.fixture
async def gate(kafka: str, unique: str) -> AsyncIterator[Gate]:
    """A gateway."""
    async with listening(kafka, unique, flush_ms=1) as gate:
        yield gate


async def attended(gate: Gate, pipe: Memory, held: Held = always, **wanted: Any) -> Outcome:
    """The outcome of a client that asks so."""
    asked = msgspec.structs.replace(ASKED, **wanted)
    async with gate.serving.prepared(asked) as prepared:
        return await gate.serving.attend(asked, prepared, pipe, held)


async def test_past_and_present_are_one_stream(gate: Gate) -> None:
    """Cut anywhere."""
    records = answer("c", "m", ["Hel", "lo", "!"])
    for number in range(1, len(records)):
        conversation = f"c{number}"
        records = answer(conversation, "m", ["Hel", "lo", "!"])
        await gate.say(records[:number])
        pipe = Memory()
        client = asyncio.create_task(attended(gate, pipe, conversation=conversation))
        await gate.attended()
        await gate.say(records[number:])
        assert await client == "finished"
        assert payloads(pipe.taken) == shown(records, "ai_sdk_ui")


async def test_only_the_past_is_folded(gate: Gate) -> None:
    """What comes at the head comes as it is."""
    records = answer("c", "m", ["a", "b", "c", "d", "e", "f"])
    await gate.say(records[:5])
    pipe = Memory()
    client = asyncio.create_task(attended(gate, pipe, folded=True))
    await gate.attended()
    await gate.say(records[5:])
    assert await client == "finished"
    texts = [msgspec.json.decode(each)["delta"] for each in payloads(pipe.taken) if b"text-delta" in each]
    assert texts == ["abc", "d", "e", "f"]


async def test_a_long_way_through_the_past_is_no_silence(gate: Gate) -> None:
    """Proxies would close the connection; where nothing is found for it, a client gets heartbeats on the way."""
    records = answer("c", "m", ["Hello"])
    await gate.say(records)
    gate.serving.settings = msgspec.structs.replace(gate.serving.settings, heartbeat_s=1e-9)
    pipe = Memory()
    assert await attended(gate, pipe) == "finished"
    assert SSE.heartbeat in pipe.taken
    assert payloads(pipe.taken) == shown(records, "ai_sdk_ui")


async def test_an_end_that_comes_at_once_goes_out_in_pieces(gate: Gate) -> None:
    """All clients of a channel share what is collected for them, and copies are made of what is on its way only."""
    records = answer("c", "m", ["x" * 10_000] * 15)
    pipe = Full()
    client = asyncio.create_task(attended(gate, pipe))
    await gate.attended()
    await gate.say(records)
    assert await client == "finished"
    assert payloads(pipe.taken) == shown(records, "ai_sdk_ui")
    assert max(pipe.sent) <= PIECE_BYTES < sum(pipe.sent)


async def test_who_is_led_on_gets_what_lies_unsent(gate: Gate) -> None:
    """It does not come back for that: it goes on where it is led to, on another partition."""
    records = answer("c", "m", ["a", "b"])
    pipe = Full()
    client = asyncio.create_task(attended(gate, pipe, start="now", until_finish=False))
    await gate.attended()
    await gate.hear(records)
    for stream in gate.serving.flusher.streams:
        stream.end("moved")
    assert await client == "moved"
    assert payloads(pipe.taken) == shown(records, "ai_sdk_ui")


@pytest.mark.parametrize("dialect", ["native", "openai"])
async def test_a_client_hears_first_when_to_come_back(gate: Gate, dialect: str) -> None:
    """A process that is killed says no goodbye. Clients that do not come back by id are told nothing."""
    await gate.say(answer("c", "m", ["a"]))
    pipe = Memory()
    assert await attended(gate, pipe, dialect=find_dialect(dialect)) == "finished"
    first, *_ = pipe.taken.partition(b"\n")
    assert first == b": open" if dialect == "openai" else 500 <= int(first.removeprefix(b"retry: ")) <= 5_000


async def test_the_first_message_that_comes_is_the_only_one(gate: Gate) -> None:
    """Where one is wanted, whichever it is."""
    await gate.say(answer("c", "m0", ["before"]))
    pipe = Memory()
    client = asyncio.create_task(attended(gate, pipe, start="now", single=True))
    await gate.attended()
    one, two = answer("c", "m1", ["a", "b"]), answer("c", "m2", ["c", "d"])
    await gate.say(record for pair in zip(one, two, strict=True) for record in pair)
    assert await client == "finished"
    assert payloads(pipe.taken) == shown(one, "ai_sdk_ui")


async def test_a_hole_in_another_message_is_not_told(gate: Gate) -> None:
    """An answer that is read from behind the beginning of another one, which goes on beside it."""
    earlier, later = Speaker("c", "earlier"), Speaker("c", "later")
    later.began += 1_000
    opening: dict[str, Any] = {"open": {"format": "plain"}, "delta": "a"}
    begun, first = earlier.says(opening), later.says(opening)
    rest = later.says({"finish_reason": "stop"})
    await gate.hear([*begun, *first, *earlier.says({"delta": "b"}), *rest])
    pipe = Memory()
    assert await attended(gate, pipe, message=b"later", start=Since(later.began)) == "finished"
    assert (b"event: gap" in pipe.taken, payloads(pipe.taken)) == (False, shown([*first, *rest], "ai_sdk_ui"))


@pytest.mark.parametrize("framing", [SSE, LINES], ids=lambda framing: framing.name)
async def test_a_hole_is_told_to_those_that_do_not_take_it_for_an_event(gate: Gate, framing: Framing) -> None:
    """SDKs of some read each block of data as one of their own, whatever its name, and break on another."""
    await gate.hear(answer("c", "m", ["a"]))
    told = dict[str, bool]()
    for name in ("native", "openai", "openai_responses", "ai_sdk_ui", "ag_ui"):
        asked, pipe = msgspec.structs.replace(ASKED, dialect=find_dialect(name), framing=framing), Memory()
        async with gate.serving.prepared(asked) as prepared:
            prepared.reading.gap = True
            assert await gate.serving.attend(asked, prepared, pipe) == "finished"
        told[name] = b'{"to":' in pipe.taken
    assert told == {"native": True} | dict.fromkeys(
        ["openai", "openai_responses", "ai_sdk_ui", "ag_ui"], framing is LINES
    )


@pytest.mark.parametrize(("name", "said"), [("ai_sdk_ui", "error"), ("ag_ui", "RUN_ERROR")])
async def test_an_answer_without_its_beginning_is_an_error_of_their_own(gate: Gate, name: str, said: str) -> None:
    """Where nothing of it can be shown: then that is its end, though it goes on."""
    await gate.hear(answer("c", "m", ["a", "b", "c"])[1:-1])
    pipe = Memory()
    asked = msgspec.structs.replace(ASKED, dialect=find_dialect(name)).only(b"m")
    async with gate.serving.prepared(asked) as prepared:
        assert await asyncio.wait_for(gate.serving.attend(asked, prepared, pipe), 10) == "finished"
    told = [line.removeprefix(b"data: ") for line in pipe.taken.split(b"\n") if line.startswith(b"data: ")]
    assert [msgspec.json.decode(each)["type"] for each in told] == [said]


async def test_what_is_past_goes_out_in_pieces(gate: Gate) -> None:
    """A client that takes them slowly has some seconds for each, not for all that one turn of reading found."""
    records = answer("c", "m", ["x" * 10_000] * 100)
    await gate.say(records)
    pipe = Full()
    assert await attended(gate, pipe) == "finished"
    assert payloads(pipe.taken) == shown(records, "ai_sdk_ui")
    assert max(pipe.sent) < TURN_BYTES + 16_384 < sum(pipe.sent)


async def test_rights_that_end_end_the_stream(gate: Gate) -> None:
    """Within about a second."""
    rights = [True]
    client = asyncio.create_task(attended(gate, Memory(), lambda: rights[0]))
    await gate.attended()
    rights[0] = False
    assert await client == "expired"


async def test_a_client_waits_at_the_head_for_as_long_as_it_was_said(gate: Gate) -> None:
    """What is there it gets whenever it comes, and all of it; only what does not come is not waited for."""
    whole, half = answer("c", "whole", ["a", "b"]), answer("d", "half", ["c", "d"], finish=False)
    await gate.hear([*whole, *half])
    pipes = [Memory(), Memory()]
    assert await attended(gate, pipes[0], waits_until=time.monotonic() - 60) == "finished"
    assert await attended(gate, pipes[1], conversation="d", waits_until=time.monotonic() - 60) == "expired"
    told = [payloads(pipe.taken) for pipe in pipes]
    assert told == [shown(whole, "ai_sdk_ui"), shown(half, "ai_sdk_ui")]


async def test_rights_are_asked_on_the_way_to_the_head(kafka: str, unique: str) -> None:
    """A client that takes its time gets no more than what was on its way."""
    records = answer("c", "m", ["x" * 100_000] * 60)
    async with listening(kafka, unique) as gate:
        await gate.say(records)
        pipe = Memory()
        assert await attended(gate, pipe, lambda: b"text-delta" not in pipe.taken, dialect=NATIVE) == "expired"
    assert 0 < len(payloads(pipe.taken)) < len(records) / 2


async def test_a_client_stands_behind_what_it_was_sent(gate: Gate) -> None:
    """Of the past as of the present, whatever else is there."""
    records = answer("c", "m", ["a", "b"])
    await gate.say(records[:3])
    async with gate.serving.prepared(ASKED) as prepared:
        client = asyncio.create_task(gate.serving.attend(ASKED, prepared, Memory()))
        await gate.attended()
        standing = prepared.reading.standing
        await gate.say([*records[3:], *answer("c", "m2", ["c"])])
        assert await client == "finished"
        assert standing.offset < prepared.reading.standing.offset == len(records) - 1


async def test_who_is_still_reading_the_past_is_sent_home_with_its_place(kafka: str, unique: str) -> None:
    """When the process ends: at the next batch, not behind the last one."""
    records = answer("c", "m", ["x" * 100_000] * 60)
    async with listening(kafka, unique, window_mib=1) as gate:
        await gate.say(records)
        pipe = Memory()
        gate.serving.hub.close()
        assert await attended(gate, pipe, dialect=NATIVE) == "drained"
    got = payloads(pipe.taken)
    assert 0 < len(got) < len(records)
    assert got == shown(records[: len(got)], "native")
