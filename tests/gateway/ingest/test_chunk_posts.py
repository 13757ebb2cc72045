"""Bodies of chunks become records as they come; what is wrong says where, and what breaks off leaves nothing open."""

import asyncio
import logging
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.written import PARTITION, SETTINGS, Written, told
from tokenmill.codecs import find_codec
from tokenmill.gateway.http.request_body import LINE_S, BrokenOff, RequestBody, Stopping
from tokenmill.gateway.ingest.bodies import Accepted
from tokenmill.gateway.ingest.chunk_posts import ChunkPost, LineSplitter, LineTooLong
from tokenmill.gateway.ingest.in_flight import too_many, unavailable
from tokenmill.gateway.ingest.native_chunks import NativeChunks
from tokenmill.gateway.ingest.options_compiler import BodyOptions, OptionsCompiler
from tokenmill.gateway.ingest.pipelined_writer import PipelinedWriter
from tokenmill.gateway.ingest.raw_stream import Cut, RawStream
from tokenmill.gateway.problems import TIMED_OUT, Refused

CAP = 1_000
OPENAI = b'data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'
FAILED = f"upstream: {BrokenOff.why}"


class Script(RequestBody):
    """A body that is told: pieces, and errors in their place."""

    def __init__(self, *script: bytes | Exception) -> None:
        self._script = list(script)
        self.patience: list[float | None] = []

    async def piece(self, within: float | None = None) -> bytes:
        self.patience.append(within)
        piece = self._script.pop(0) if self._script else b""
        if isinstance(piece, Exception):
            raise piece
        return piece

    async def whole(self, cap: int, within: float | None = None) -> bytes:  # noqa: ARG002 -- nothing is waited for
        return b"".join([piece async for piece in self._all()])[: cap + 1]

    async def _all(self) -> Any:
        while piece := await self.piece():
            yield piece


def line(**fields: Any) -> bytes:
    return msgspec.json.encode(fields) + b"\n"


def brought() -> BodyOptions:
    return BodyOptions(OptionsCompiler(SETTINGS), "service")


async def native(
    written: Written, *script: bytes | Exception, cut: Cut = Cut.LINES, seq: int | None = None
) -> Accepted:
    post = ChunkPost(Script(*script), PipelinedWriter(written, "tokens", b"c"), CAP)
    return await post.native(NativeChunks(brought(), "c"), cut, seq)


async def raw(
    written: Written, *script: bytes | Exception, codec: str = "sse+openai", cut: Cut = Cut.ANYWHERE
) -> Accepted:
    post = ChunkPost(Script(*script), PipelinedWriter(written, "tokens", b"c"), CAP)
    return await post.raw(RawStream(brought(), find_codec(codec), "c", message_id="m"), cut)


def story(written: Written) -> dict[str, list[str]]:
    return told((record.value, record.headers) for record in written.records)


async def test_each_line_is_a_record() -> None:
    """Wherever the body was cut; blank lines are none, and the last one need not end."""
    body = line(message_id="m", delta="a") + b"\n" + line(message_id="m", delta="b", end=True)[:-1]
    accepted = await native(written := Written(), body[:9], body[9:40], body[40:])
    assert accepted == Accepted(2, "m", PARTITION, 1)
    assert [chunk["delta"] for chunk in written.chunks] == ["a", "b"]
    assert {(record.topic, record.key) for record in written.records} == {("tokens", b"c")}


async def test_one_chunk_is_a_body_of_its_own() -> None:
    """However many lines it is written in, and with the number that its producer gave the request."""
    accepted = await native(written := Written(), b'{\n"delta":"a"\n}', cut=Cut.WHOLE, seq=3)
    assert (accepted, written.chunks) == (Accepted(1, None, PARTITION, 0), [{"delta": "a", "seq": 3}])


@pytest.mark.parametrize("cut", list(Cut))
async def test_a_body_without_a_chunk_is_refused(cut: Cut) -> None:
    """It is a mistake of the client's, and nothing is written."""
    with pytest.raises(Refused, match="no chunk") as refusal:
        await (
            raw(written := Written(), cut=cut) if cut is Cut.ANYWHERE else native(written := Written(), b" \n", cut=cut)
        )
    assert (refusal.value.kind.status, written.records) == (400, [])


async def test_a_wrong_chunk_that_is_alone_has_no_line() -> None:
    """It is the whole body, and nothing of it is written."""
    with pytest.raises(Refused, match=r"'fromat'") as refusal:
        await native(written := Written(), line(open={"fromat": "hermes"}), cut=Cut.WHOLE)
    assert (refusal.value.kind.status, "line" in refusal.value.detail, written.records) == (400, False, [])


async def test_a_wrong_line_says_which_it_is_and_what_was_accepted_before() -> None:
    """So the client can go on behind it."""
    with pytest.raises(Refused, match=r"line 3: .*'fromat'") as refusal:
        await native(written := Written(), line(delta="a"), b"\n", line(open={"fromat": "hermes"}), line(delta="b"))
    assert (refusal.value.kind.status, refusal.value.members) == (400, {"line": 3, "accepted": 1})
    assert written.chunks == [{"delta": "a"}]


async def test_a_line_that_is_too_long_is_refused() -> None:
    """A record has a cap, and a line is one."""
    with pytest.raises(Refused, match="line 2 is longer than 1000 bytes") as refusal:
        await native(Written(), line(delta="a"), b"x" * (CAP + 1))
    assert (refusal.value.kind.status, refusal.value.members) == (413, {"accepted": 1})


async def test_a_line_has_to_end_in_time_but_may_take_its_time_to_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model thinks between two lines, and nobody thinks within one."""
    begun, rest = line(delta="ab")[:5], line(delta="ab")[5:]
    script = Script(line(delta="a"), begun, rest[:3], rest[3:] + begun, rest)
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: len(script.patience))  # a second for each piece
    await ChunkPost(script, PipelinedWriter(Written(), "tokens", b"c"), CAP).native(
        NativeChunks(brought(), "c"), Cut.LINES, None
    )
    assert script.patience == [None, None, LINE_S, LINE_S - 1, LINE_S, None]


async def test_nothing_is_read_while_there_is_no_room() -> None:
    """Back-pressure: the client's next bytes stay in its socket."""
    written = Written()
    written.taking.clear()
    script = Script(line(delta="a"), line(delta="b"))
    post = ChunkPost(script, PipelinedWriter(written, "tokens", b"c"), CAP)
    task = asyncio.create_task(post.native(NativeChunks(brought(), "c"), Cut.LINES, None))
    await asyncio.wait([task], timeout=0.02)
    assert len(script.patience) == 1
    written.taking.set()
    assert (await task).accepted == 2


async def test_when_kafka_fails_the_client_knows_how_much_is_written() -> None:
    """Lines are acknowledged in their order."""
    written = Written()
    written.refusals[1] = too_many()
    with pytest.raises(Refused) as refusal:
        await native(written, line(delta="a"), line(delta="b"), line(delta="c"))
    assert (refusal.value.kind.status, refusal.value.members["accepted"]) == (429, 1)
    assert "retry-after" in refusal.value.headers


async def test_a_client_that_goes_away_leaves_no_message_that_nobody_can_go_on_with() -> None:
    """Chunks with numbers can be written again from any of them on."""
    numbered = line(message_id="n", seq=0, delta="b")
    with pytest.raises(BrokenOff):
        await native(written := Written(), line(message_id="m", delta="a"), numbered, BrokenOff())
    assert story(written) == {"m": ["a", FAILED, "[error]"], "n": ["b"]}


async def test_a_client_that_goes_away_behind_a_refused_chunk_leaves_no_open_message() -> None:
    """It may not have heard of the refusal yet."""
    written = Written()
    written.refusals[1] = too_many()

    class Slow(Script):
        async def piece(self, within: float | None = None) -> bytes:
            await asyncio.sleep(0)  # so that Kafka has answered
            return await super().piece(within)

    post = ChunkPost(Slow(line(delta="a"), line(delta="b"), BrokenOff()), PipelinedWriter(written, "tokens", b"c"), CAP)
    with pytest.raises(BrokenOff):
        await post.native(NativeChunks(brought(), "c", message_id="m"), Cut.LINES, None)
    assert story(written)["m"][-1] == "[error]"


async def test_a_stream_is_written_as_it_comes_and_ended() -> None:
    """Pieces of any size become records of a bounded one."""
    accepted = await raw(written := Written(), OPENAI[:20], OPENAI[20:] + b":" + b"x" * 2 * CAP, b"\n")
    assert accepted == Accepted(len(written.records), "chatcmpl-1", PARTITION, len(written.records) - 1)
    assert max(len(record.value or b"") for record in written.records) <= CAP
    assert written.records[-1].value is None
    assert story(written) == {"chatcmpl-1": ["Hi", "[stop]"]}


async def test_events_that_come_a_line_each_are_records() -> None:
    """For codecs whose records are whole events."""
    lines = line(message={"content": "Hi"}), line(done=True, done_reason="stop")
    await raw(written := Written(), *lines, codec="ollama", cut=Cut.LINES)
    assert story(written) == {"m": ["Hi", "[stop]"]}


async def test_an_event_that_can_not_be_read_fails_the_message() -> None:
    """What follows it would be read as if nothing was missing."""
    with pytest.raises(Refused, match="line 2: ") as refusal:
        await raw(written := Written(), line(message={"content": "Hi"}), b"Hi\n", codec="ollama", cut=Cut.LINES)
    assert refusal.value.members == {"line": 2, "accepted": 1}
    assert story(written)["m"][-1] == "[error]"


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (BrokenOff(), "the stream broke off: its writer disconnected"),
        (Stopping(), "the stream broke off: its gateway was stopped"),
        (Refused(TIMED_OUT, "nothing came"), "the stream broke off: The body"),
    ],
)
async def test_a_stream_that_breaks_off_ends_as_one_that_failed(problem: Exception, said: str) -> None:
    """Whoever waits for the rest hears that there is none."""
    with pytest.raises(type(problem)):
        await raw(written := Written(), OPENAI, b"data: {", problem)
    assert list(story(written)) == ["chatcmpl-1"]
    assert story(written)["chatcmpl-1"][1].startswith(f"upstream: {said}")
    assert story(written)["chatcmpl-1"][-1] == "[error]"


async def test_a_stream_that_breaks_off_before_its_beginning_ends_as_one_that_failed() -> None:
    """Its message was announced to its readers by the request."""
    with pytest.raises(BrokenOff):
        await raw(written := Written(), BrokenOff())
    assert (story(written), written.chunks[0]["choice"]) == ({"m": [FAILED, "[error]"]}, 0)


async def test_a_stream_ends_when_all_of_it_is_acknowledged() -> None:
    """Else an answer would count as whole whose last part Kafka did not take."""
    written = Written()
    written.acknowledging.clear()
    task = asyncio.create_task(raw(written, OPENAI, OPENAI))
    await asyncio.wait([task], timeout=0.1)
    assert [record.value for record in written.records] == [OPENAI, OPENAI]
    written.acknowledging.set()
    await task
    assert written.records[-1].value is None


async def test_a_stream_of_which_kafka_lost_a_part_ends_as_one_that_failed() -> None:
    """Nobody can go on in its middle. Nothing says that nothing follows: that would be the end of a whole answer."""
    written = Written()
    written.refusals[1] = unavailable("Kafka: no")
    with pytest.raises(Refused, match="Kafka: no") as refusal:
        await raw(written, OPENAI, OPENAI, OPENAI)
    assert refusal.value.members == {"accepted": 1}
    assert all(record.value is not None for record in written.records)
    assert written.chunks[-1]["message_id"] == "chatcmpl-1"


async def test_if_not_even_the_end_can_be_written_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    """The message ends when it is idle."""
    written, refusal = Written(), unavailable("Kafka: no")

    class Stuck(PipelinedWriter):
        async def put(self, value: bytes | None, headers: Any) -> None:
            if self.accepted:
                raise refusal
            await super().put(value, headers)
            await self.acknowledged()

    post = ChunkPost(Script(OPENAI, BrokenOff()), Stuck(written, "tokens", b"c"), CAP)
    with caplog.at_level(logging.WARNING), pytest.raises(BrokenOff):
        await post.raw(RawStream(brought(), find_codec("sse+openai"), "c"), Cut.ANYWHERE)
    assert "ends only by its idle timeout" in caplog.text


async def test_bytes_that_come_one_by_one_share_records() -> None:
    """Each record is read with all that an event has so far; what is large is taken as it comes."""
    reader = asyncio.StreamReader()

    class Dripping(Script):
        async def piece(self, within: float | None = None) -> bytes:  # noqa: ARG002 -- nothing is late here
            return await reader.read(CAP)

    async def drip() -> None:
        for start in range(len(OPENAI)):
            reader.feed_data(OPENAI[start : start + 1])
            await asyncio.sleep(0)
        reader.feed_eof()

    dripping = asyncio.create_task(drip())
    await ChunkPost(Dripping(), PipelinedWriter(written := Written(), "tokens", b"c"), CAP).raw(
        RawStream(brought(), find_codec("sse+openai"), "c"), Cut.ANYWHERE
    )
    await dripping
    assert len(written.records) < len(OPENAI) / 4
    assert b"".join(record.value or b"" for record in written.records) == OPENAI
    assert story(written) == {"chatcmpl-1": ["Hi", "[stop]"]}


def lines_of(*pieces: bytes, cap: int = 100) -> list[bytes]:
    lines = LineSplitter(cap)
    found = [line for piece in pieces for line in lines.feed(piece)]
    last = lines.last()
    return [*found, last] if last else found


@given(st.lists(st.binary(max_size=6).map(lambda data: data.replace(b"\n", b"")), max_size=8), st.data())
def test_lines_do_not_depend_on_the_cuts(content: list[bytes], data: st.DataObject) -> None:
    """Bytes that come one by one make the lines that all of them make at once."""
    body = b"\n".join(content)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=5)))
    pieces = [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    assert lines_of(*pieces) == lines_of(body)


def test_line_ends_and_blank_lines_are_no_content() -> None:
    """Windows ends lines with CR and LF; some clients end the last one and some do not."""
    assert lines_of(b"a\r\n\n \r\nb\nc") == [b"a", b"b", b"c"]
    assert lines_of(b"a\n") == [b"a"]
    assert lines_of() == []


def test_a_line_is_known_by_its_number_in_the_body() -> None:
    """As an editor counts."""
    lines = LineSplitter(10)
    assert [(line, lines.number) for line in lines.feed(b"a\n\nb\nc")] == [(b"a", 1), (b"b", 3)]
    assert lines.unfinished
    assert (lines.last(), lines.number, lines.unfinished) == (b"c", 4, False)


@pytest.mark.parametrize("pieces", [[b"a\n" + b"x" * 11], [b"a\n", *[b"x"] * 11], [b"a\n" + b"x" * 11 + b"\n"]])
def test_a_line_over_the_cap_is_refused_before_it_is_whole(pieces: list[bytes]) -> None:
    """Whoever never ends a line takes no more memory than one line may."""
    with pytest.raises(LineTooLong, match="line 2 is longer than 10 bytes"):
        lines_of(*pieces, cap=10)
