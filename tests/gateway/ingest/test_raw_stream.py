"""A provider's bytes become records that workers read as one stream; what breaks off ends as an answer that failed."""

from typing import Any

import pytest

from tests.support.written import SETTINGS, told
from tokenmill.codecs import CODECS, find_codec
from tokenmill.errors import RecordError
from tokenmill.gateway.ingest.native_chunks import Valued
from tokenmill.gateway.ingest.options_compiler import BodyOptions, OptionsCompiler
from tokenmill.gateway.ingest.raw_stream import Cut, RawStream, how_to_read
from tokenmill.gateway.problems import Refused
from tokenmill.records import header

OPENAI = (
    b'data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'
    b'data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":" there"}}]}\n\n'
)
FINISH = b'data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
GONE = "upstream: gone"


def stream(codec: str, **about: Any) -> RawStream:
    return RawStream(BodyOptions(OptionsCompiler(SETTINGS), "service"), find_codec(codec), "c", **about)


async def written(stream: RawStream, data: bytes, size: int = 7) -> list[Valued]:
    """Records of bytes that came in pieces."""
    return [await stream.record(data[start : start + size]) for start in range(0, len(data), size)]


@pytest.mark.parametrize(
    ("content_type", "codec", "cut", "read_as"),
    [
        ("application/json", None, Cut.WHOLE, "native"),
        ("application/x-ndjson", None, Cut.LINES, "native"),
        ("application/jsonl", "native", Cut.LINES, "native"),
        ("text/event-stream", "sse+openai", Cut.ANYWHERE, "sse+openai"),
        ("application/octet-stream", "sse+openai", Cut.ANYWHERE, "sse+openai"),
        ("text/event-stream", "openai", Cut.ANYWHERE, "sse+openai"),
        ("text/event-stream", "qwen_sse", Cut.ANYWHERE, "qwen_sse"),
        ("text/plain", "text", Cut.ANYWHERE, "text"),
        ("application/x-ndjson", "ollama", Cut.LINES, "ollama"),
        ("application/json", "openai", Cut.WHOLE, "openai"),
    ],
)
def test_type_and_codec_say_how_a_body_is_read(content_type: str, codec: str | None, cut: Cut, read_as: str) -> None:
    """A codec of events takes a stream of them with SSE around it."""
    how, found = how_to_read(content_type, codec)
    assert (how, found.name) == (cut, read_as)


@pytest.mark.parametrize("codec", [*CODECS], ids=lambda codec: codec.name)
def test_every_codec_can_be_streamed(codec: Any) -> None:
    """Whatever `tokenmill codecs` lists, as a stream of events."""
    assert how_to_read("text/event-stream", codec.name)[0] is Cut.ANYWHERE


@pytest.mark.parametrize(
    ("content_type", "codec", "status", "said"),
    [
        ("text/event-stream", None, 400, "codec=sse\\+openai"),
        ("application/octet-stream", "openai", 415, "application/x-ndjson"),
        ("text/event-stream", "opanai", 400, "tokenmill codecs"),
        ("text/event-stream", "sse+nothing", 400, "tokenmill codecs"),
    ],
)
def test_a_body_that_can_not_be_read_is_refused(content_type: str, codec: str | None, status: int, said: str) -> None:
    """With what would do instead."""
    with pytest.raises(Refused, match=said) as refusal:
        how_to_read(content_type, codec)
    assert refusal.value.kind.status == status


async def test_the_bytes_of_an_answer_are_its_message() -> None:
    """Cut anywhere; under the id that the provider gave it."""
    answer = stream("sse+openai", message_id="m")
    records = [*(await written(answer, OPENAI + FINISH)), answer.end()]
    assert b"".join(value or b"" for value, _ in records) == OPENAI + FINISH
    assert told(records) == {"chatcmpl-1": ["Hi", " there", "[stop]"]}
    assert answer.message_id == "chatcmpl-1"


async def test_an_answer_without_an_id_gets_that_of_the_address_or_one_of_its_own() -> None:
    """Never that of another answer."""
    named, first, second = stream("text", message_id="m"), stream("text"), stream("text")
    assert told([await named.record("über".encode()[:1]), await named.record("über".encode()[1:]), named.end()]) == {
        "m": ["über", "[stop]"]
    }
    assert len({named.message_id, first.message_id, second.message_id}) == 3


async def test_streams_of_a_conversation_do_not_disturb_each_other() -> None:
    """Half an event of one is not completed by another."""
    one, other = stream("sse+openai"), stream("sse+openai")
    theirs = OPENAI.replace(b"chatcmpl-1", b"chatcmpl-2")
    pairs = zip(await written(one, OPENAI), await written(other, theirs), strict=True)
    assert told([record for pair in pairs for record in pair]) == {
        "chatcmpl-1": ["Hi", " there"],
        "chatcmpl-2": ["Hi", " there"],
    }


async def test_options_go_with_the_record_that_opens_the_message() -> None:
    """They may be as long as all of the text, and a stream has a thousand records."""
    answer = stream("sse+openai", options={"format": "hermes"}, tracing=[("traceparent", b"00-1")])
    records = await written(answer, OPENAI + FINISH)
    assert sum(header(headers, "tm-open") is not None for _, headers in [*records, answer.end()]) == 1
    assert all(header(headers, "traceparent") == b"00-1" for _, headers in records)
    assert told([*records, answer.end()])["chatcmpl-1"][0] == "<hermes>"


@pytest.mark.parametrize("kept", range(0, len(OPENAI), 5))
async def test_an_answer_that_breaks_off_anywhere_ends_once_and_as_one_that_failed(kept: int) -> None:
    """Also in the middle of an event, and before the first one: half an event is no second failure."""
    answer = stream("sse+openai", message_id="m")
    records = await written(answer, OPENAI[:kept])
    last = len(records) - 1 if records else None
    records += answer.broken_off("gone", last)
    ended = [header(headers, "tm-last-offset") for value, headers in records if value is None]
    assert ended == ([] if last is None else [b"%d" % last])
    ((message, words),) = told(records).items()
    begun = kept > OPENAI.index(b"\n")
    assert (message, words[-2:]) == ("chatcmpl-1" if begun else "m", [GONE, "[error]"])


async def test_options_reach_an_event_that_only_the_end_completes() -> None:
    """Some servers do not end their last line, and it may be the only one."""
    answer = stream("sse+openai", options={"format": "hermes"})
    records = [*(await written(answer, OPENAI.split(b"\n")[0])), answer.end()]
    assert told(records) == {"chatcmpl-1": ["<hermes>", "Hi", "[stop]"]}


async def test_all_choices_of_an_answer_that_breaks_off_end() -> None:
    """Readers wait for each of them."""
    answer = stream("sse+openai")
    records = await written(answer, OPENAI + OPENAI.replace(b'"index":0', b'"index":1'))
    assert told([*records, *answer.broken_off("gone", len(records) - 1)])["chatcmpl-1"].count("[error]") == 2


async def test_an_answer_that_had_ended_does_not_fail() -> None:
    """The connection was lost behind its end."""
    answer = stream("sse+openai")
    records = await written(answer, OPENAI + FINISH)
    assert told([*records, *answer.broken_off("gone", len(records) - 1)]) == {"chatcmpl-1": ["Hi", " there", "[stop]"]}


def test_options_of_an_answer_that_brought_nothing_are_those_of_its_failure() -> None:
    """Whoever reads it sees what was asked for."""
    records = stream("sse+openai", message_id="m", options={"format": "hermes"}).broken_off("gone", None)
    assert told(records) == {"m": ["<hermes>", GONE, "[error]"]}


@pytest.mark.parametrize(
    ("codec", "event", "said"),
    [
        ("openai", b"{}", "choices"),
        ("sse+native", b'data: {"conversation_id":"d","delta":"a"}\n\n', "conversation_id"),
        ("sse+native", b'data: {"open":{"fromat":"hermes"}}\n\n', "unknown option"),
    ],
)
async def test_an_event_that_no_worker_would_take_is_refused(codec: str, event: bytes, said: str) -> None:
    """Here somebody hears of it; in a stream of SSE what can't be read fails the message instead."""
    with pytest.raises(RecordError, match=said):
        await stream(codec).record(event)
