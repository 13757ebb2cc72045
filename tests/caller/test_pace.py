"""Where Kafka is slow an answer is read less often, and what came meanwhile becomes one chunk."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest
from aiohttp.client_proto import ResponseHandler
from msgspec import UNSET

from tests.support.raw_server import SSE, chunk, raw_server
from tests.support.stage import until
from tokenmill.caller.generation import Generation
from tokenmill.caller.http import Http
from tokenmill.caller.kinds import Call
from tokenmill.caller.pace import MOST_S, TOGETHER_S, joined, pause_s, together
from tokenmill.codecs import Chunk, ProviderPart
from tokenmill.config import Upstream

UPSTREAM = Upstream(models=["m"], urls=["http://a"])


@pytest.mark.parametrize(
    ("acknowledged_s", "expected"),
    [(0.0, 0.0), (0.001, 0.0), (0.002, 0.016), (0.004, 0.064), (0.006, MOST_S), (9.0, MOST_S)],
)
def test_the_pause_grows_with_the_time_of_an_acknowledgement(acknowledged_s: float, expected: float) -> None:
    """From none to where a text still flows."""
    assert pause_s(acknowledged_s) == pytest.approx(expected)


@pytest.mark.parametrize("now_s", [0.0, 7.001, 7.0055, 7.0099])
def test_long_pauses_end_at_the_same_moments(now_s: float) -> None:
    """None of them later than it would, and none much earlier."""
    pause = together(0.064, now_s)
    assert 0.064 - TOGETHER_S < pause <= 0.064
    assert (now_s + pause) / TOGETHER_S == pytest.approx(round((now_s + pause) / TOGETHER_S))


def test_short_pauses_are_as_they_are() -> None:
    """Where there is little to do nobody is read earlier for the sake of others."""
    assert together(0.016, 7.0055) == 0.016
    assert together(0.0, 7.0055) == 0.0


class Busy:
    """Takes chunks where Kafka is slow."""

    pause_s = 0.5

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []

    async def put(self, chunk: Chunk) -> None:
        self.chunks.append(chunk)


def said(text: str, reason: str = "null") -> bytes:
    return b'data: {"id":"a","choices":[{"index":0,"delta":{"content":"%b"},"finish_reason":%b}]}\n\n' % (
        text.encode(),
        reason.encode(),
    )


async def test_what_comes_during_a_pause_is_one_chunk() -> None:
    """The first piece is written as soon as it comes, and nothing is lost."""
    taken, came = Busy(), asyncio.Queue[bytes]()

    async def stream() -> AsyncGenerator[bytes]:
        while piece := await came.get():
            yield b"".join([piece, *(came.get_nowait() for _ in range(came.qsize()))])

    came.put_nowait(said("Hel"))
    reading = asyncio.create_task(Generation("sse+openai", 1, "", taken).read(stream()))
    await until(lambda: taken.chunks, "the first chunk")
    for piece in (said("lo"), said(" you"), said("", '"stop"'), b"data: [DONE]\n\n"):
        came.put_nowait(piece)
    await asyncio.sleep(0)
    assert [chunk.delta for chunk in taken.chunks] == ["Hel"]
    await asyncio.wait_for(reading, 5)
    assert [chunk.delta for chunk in taken.chunks if chunk.delta] == ["Hel", "lo you"]
    assert taken.chunks[-1].end is True


def test_text_of_a_choice_becomes_one_chunk() -> None:
    """Under the names of the first one."""
    chunks = [Chunk(message_id="a", choice=1, delta=text, model="m") for text in ("Hel", "lo", " you")]
    assert joined(chunks) == [Chunk(message_id="a", choice=1, delta="Hello you", model="m")]


def test_reasoning_stays_in_front_of_the_text() -> None:
    """A chunk's reasoning counts before its text."""
    chunks = [Chunk(reasoning="w"), Chunk(reasoning="hy"), Chunk(delta="so"), Chunk(reasoning="but"), Chunk(delta="!")]
    assert joined(chunks) == [Chunk(reasoning="why", delta="so"), Chunk(reasoning="but", delta="!")]
    chunks = [Chunk(delta="so"), Chunk(), Chunk(reasoning="but")]
    assert joined(chunks) == [Chunk(reasoning="", delta="so"), Chunk(reasoning="but")]


def test_choices_are_not_mixed() -> None:
    """Each has its own numbers."""
    chunks = [Chunk(choice=0, delta="a"), Chunk(choice=1, delta="b"), Chunk(choice=0, delta="c")]
    assert joined(chunks) == chunks


@pytest.mark.parametrize(
    "other",
    [
        Chunk(delta="b", tool_calls=[{"index": 0}]),
        Chunk(delta="b", part=ProviderPart("refusal", "no")),
        Chunk(delta="b", usage={"total_tokens": 1}),
        Chunk(delta="b", finish_reason="stop"),
        Chunk(delta="b", end=True),
        Chunk(delta="b", end=False),
        Chunk(delta="b", control="cancel"),
        Chunk(delta="b", error="failed"),
        Chunk(delta="b", open={}),
    ],
    ids=lambda chunk: str([name for name in chunk.__struct_fields__ if getattr(chunk, name) not in ("", UNSET, None)]),
)
def test_what_says_more_stays_alone(other: Chunk) -> None:
    """Wherever it stands."""
    chunks = [Chunk(delta="a"), other, Chunk(delta="c")]
    assert joined(chunks) == chunks


def test_a_piece_of_one_chunk_is_left_as_it_is() -> None:
    """Most are; and one of none, as comments are."""
    chunks = [Chunk(delta="a")]
    assert joined(chunks) is chunks
    assert joined([]) == []


async def test_what_comes_while_a_piece_is_looked_at_is_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small pieces cost one read, where an answer is left alone for a while."""
    reads = list[bytes]()
    received = ResponseHandler.data_received

    def counted(protocol: ResponseHandler, data: bytes) -> None:
        reads.extend([data] if data else [])  # the client calls it without any to go on
        received(protocol, data)

    monkeypatch.setattr(ResponseHandler, "data_received", counted)
    words = [chunk(b"%d " % number) for number in range(9)]
    async with (
        raw_server(SSE + words[0], *words[1:], b"0\r\n\r\n", then="again") as server,
        Http() as http,
        aclosing(http.streamed(server.url, Call("/v1/x", {}), {}, UPSTREAM)) as pieces,
    ):
        came = [await anext(pieces)]
        await until(lambda: server.answers, "the whole answer")
        came += [piece async for piece in pieces]
    assert came == [b"0 ", b"1 2 3 4 5 6 7 8 "]
    assert len(reads) == 2
