"""Publishing a whole answer from an SDK's stream, on a real Kafka; the SDKs read from a server on this machine."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionChunk

from tests.support.judging import serving, sse
from tests.support.provided import Provided
from tests.support.scenarios import SCENARIOS, WEATHER, rendered
from tests.support.topics import make_topics, read_topic
from tokenmill.client import Connection, Publisher, publish_stream
from tokenmill.events import TextDelta, decode_event
from tokenmill.parser.parser import UPSTREAM_CHARS
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.records import Output

pytestmark = pytest.mark.integration

EVERYTHING = SCENARIOS["reasoning, text and a call"]
EXPECTED = ("Hmm.", "It is:", [("get_weather", {"city": 'Zürich "🌧"', "days": 3})])
RAW_CALL = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>'


@pytest.fixture
async def publisher(kafka: str, unique: str) -> AsyncIterator[Publisher]:
    await make_topics(kafka, f"tokens-{unique}")
    async with Publisher(Connection(kafka), topic=f"tokens-{unique}") as publisher:
        yield publisher


async def parsed(publisher: Publisher) -> Provided:
    """What a worker makes of the topic."""
    records = await read_topic(publisher.connection.bootstrap_servers, publisher.topic)
    settings = PartitionSettings(outputs=(OutputSpec("events"),), dlq="dlq")
    partition, out = Partition(settings, "tokens", 0), list[Output]()
    partition.process(records, out)
    events = [decode_event(output.value or b"") for output in out if output.topic == "events"]
    return Provided(events, [dict(output.headers)["tm-error"].decode() for output in out if output.topic == "dlq"])


def told(done: Provided) -> tuple[str, str, list[Any]]:
    assert done.rejected == []
    return done.reasoning, done.text.strip(), done.calls


async def test_chat_completions_of_openai(publisher: Publisher) -> None:
    """Its chunks go in as they come; the message has the id of the answer."""
    payloads = [*rendered(EVERYTHING, "openai").payloads]
    with serving(sse(payloads)) as url:
        client = AsyncOpenAI(base_url=url, api_key="x", max_retries=0)
        stream = await client.chat.completions.create(model="m", messages=[], stream=True)
        await publish_stream(publisher, "c1", stream)
    done = await parsed(publisher)
    assert told(done) == EXPECTED
    assert [reason for reason, _ in done.ends] == ["tool-calls"]
    assert [model for _, model in done.messages] == ["some-model"]


async def test_the_accumulator_of_openai(publisher: Publisher) -> None:
    """Its events that say again what a chunk said are left out."""
    with serving(sse(rendered(EVERYTHING, "openai").payloads)) as url:
        client = AsyncOpenAI(base_url=url, api_key="x", max_retries=0)
        async with client.chat.completions.stream(model="m", messages=[]) as stream:
            await publish_stream(publisher, "c1", stream)
    assert told(await parsed(publisher)) == EXPECTED


async def test_responses_of_openai(publisher: Publisher) -> None:
    """The codec is told by the class of the events."""
    with serving(sse(rendered(EVERYTHING, "openai_responses").payloads, named=True)) as url:
        client = AsyncOpenAI(base_url=url, api_key="x", max_retries=0)
        stream = await client.responses.create(model="m", input="?", stream=True)
        await publish_stream(publisher, "c1", stream)
    assert told(await parsed(publisher)) == EXPECTED


async def test_messages_of_anthropic(publisher: Publisher) -> None:
    """Raw events, and those of the accumulator."""
    with serving(sse(rendered(EVERYTHING, "anthropic").payloads, named=True)) as url:
        client = AsyncAnthropic(base_url=url, api_key="x", max_retries=0)
        async with client.messages.stream(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "?"}]
        ) as stream:
            await publish_stream(publisher, "c1", stream)
    assert told(await parsed(publisher)) == EXPECTED


async def test_options_of_the_message(publisher: Publisher) -> None:
    """They open the message that the provider names, before its first record."""
    payloads = rendered(SCENARIOS["text"]._replace(chunks=[{"delta": RAW_CALL}]), "openai", parse="none").payloads
    with serving(sse([*payloads, b"[DONE]"])) as url:
        client = AsyncOpenAI(base_url=url, api_key="x", max_retries=0)
        stream = await client.chat.completions.create(model="m", messages=[], stream=True)
        await publish_stream(publisher, "c1", stream, open={"format": "hermes", "tools": [WEATHER]})
    done = await parsed(publisher)
    assert done.calls == [("get_weather", {"city": "Oslo"})]
    assert len(done.messages) == len(done.ends) == 1


async def test_options_of_a_message_whose_provider_is_not_looked_at(publisher: Publisher) -> None:
    """Raw bytes: whatever id the answer has, and whichever record opens it, the options are its."""
    payloads = rendered(SCENARIOS["text"]._replace(chunks=[{"delta": RAW_CALL}]), "openai", parse="none").payloads
    raw = sse([*payloads, b"[DONE]"])
    pieces = [raw[at : at + 50] for at in range(0, len(raw), 50)]
    await publish_stream(publisher, "c1", pieces, codec="sse+openai", open={"format": "hermes"})
    done = await parsed(publisher)
    assert done.calls == [("get_weather", {"city": "Oslo"})]
    assert len(done.messages) == len(done.ends) == 1


AZURE: list[Any] = [
    {"id": "", "object": "", "model": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
    {"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]},
    {"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {"content": RAW_CALL}}]},
    {"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
]
"""Azure judges the prompt in a chunk of its own, which has no id yet."""


async def test_options_wait_for_the_chunk_that_names_the_message(publisher: Publisher) -> None:
    """A first chunk without an id would open another message: empty, never ended, and the call would be text."""
    await publish_stream(publisher, "c1", AZURE, codec="openai", open={"format": "hermes"})
    done = await parsed(publisher)
    assert told(done) == ("", "", [("get_weather", {"city": "Oslo"})])
    assert [message for message, _ in done.messages] == ["chatcmpl-1"]
    assert [reason for reason, _ in done.ends] == ["tool-calls"]


async def test_options_where_the_codec_is_not_known_here(publisher: Publisher) -> None:
    """A worker may have a plug-in that its clients have not: any record may be the one that opens."""
    await publish_stream(publisher, "c1", [{"a": 1}, {"a": 2}], codec="elsewhere", open={"model": "m"})
    records = await read_topic(publisher.connection.bootstrap_servers, publisher.topic)
    assert [record.value for record in records] == [b'{"a":1}', b'{"a":2}', None]
    assert all(("tm-open", b'{"model":"m"}') in record.headers for record in records)


@pytest.mark.parametrize("source", [["a"], [{"message": {"content": "a"}}, {"done": True}]])
async def test_headers_are_on_every_record(publisher: Publisher, source: list[Any]) -> None:
    """Beside its own: for a trace that the answer is part of."""
    trace = ("traceparent", b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    codec = None if source == ["a"] else "ollama"
    await publish_stream(publisher, "c1", source, codec=codec, open={"model": "m"}, headers=[trace])
    records = await read_topic(publisher.connection.bootstrap_servers, publisher.topic)
    assert len(records) >= 2
    assert all(trace in record.headers and len(record.headers) > 1 for record in records)


async def test_strings(publisher: Publisher) -> None:
    """From any iterator; they run through the format. All of them are acknowledged then."""
    await publish_stream(publisher, "c1", ["Let me see. ", *RAW_CALL], message_id="m1", open={"format": "hermes"})
    assert publisher._pending == {}
    done = await parsed(publisher)
    assert told(done) == ("", "Let me see.", [("get_weather", {"city": "Oslo"})])
    assert done.messages == [("m1", "")]


@pytest.mark.parametrize(
    ("codec", "items"),
    [
        ("ollama", [{"message": {"content": "Hi"}}, {"done": True}]),
        ("sse+openai", [b'data: {"choices":[{"del', b'ta":{"content":"Hi"}}]}\n\n']),
        ("openai", ['{"choices":[{"delta":{"content":"Hi"}}]}']),
    ],
)
async def test_what_names_its_codec(publisher: Publisher, codec: str, items: Iterable[Any]) -> None:
    """Dictionaries, bytes and lines; without an id of the provider the message has the one given."""
    await publish_stream(publisher, "c1", items, codec=codec, message_id="m1")
    done = await parsed(publisher)
    assert told(done) == ("", "Hi", [])
    assert [message for message, _ in done.messages] == ["m1"]
    assert len(done.ends) == 1


@pytest.mark.parametrize(
    ("codec", "source"),
    [
        ("sse+openai", b'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n'),
        ("ollama", {"message": {"content": "Hi"}}),
        (None, "Hi"),
    ],
)
async def test_one_item_is_an_answer(publisher: Publisher, codec: str | None, source: Any) -> None:
    """Nobody means its single bytes."""
    await publish_stream(publisher, "c1", source, codec=codec, open={"format": "plain"})
    assert told(await parsed(publisher)) == ("", "Hi", [])


HALF = json.loads('"a \\ud83d"')


@pytest.mark.parametrize(
    ("codec", "item"),
    [
        (None, HALF),
        (None, ChatCompletionChunk.model_construct(id="x", choices=[{"index": 0, "delta": {"content": HALF}}])),
        ("ollama", {"message": {"content": HALF}}),
    ],
)
async def test_half_a_surrogate_pair_is_published(publisher: Publisher, codec: str | None, item: Any) -> None:
    """What a model writes raises nothing."""
    await publish_stream(publisher, "c1", [item], codec=codec)
    assert told(await parsed(publisher)) == ("", "a \ufffd", [])


async def test_an_empty_source_is_an_empty_answer(publisher: Publisher) -> None:
    """It begins and ends."""
    await publish_stream(publisher, "c1", [])
    assert [event.type for event in (await parsed(publisher)).events] == ["message-start", "finish"]


@pytest.mark.parametrize("why", ["gone", "gone\ud800", "gone" * 1_000_000], ids=["plain", "half a pair", "long"])
async def test_a_source_that_fails_leaves_an_answer_that_failed(publisher: Publisher, why: str) -> None:
    """What was said stays; the failure is said in it, and raised."""

    async def source() -> AsyncIterator[str]:
        yield "Hel"
        raise ConnectionError(why)

    with pytest.raises(ConnectionError, match="gone"):
        await publish_stream(publisher, "c1", source())
    done = await parsed(publisher)
    said = f"ConnectionError: {why}"[:UPSTREAM_CHARS].replace("\ud800", "\ufffd")
    assert (done.text, done.errors) == ("Hel", [("upstream", said)])
    assert [reason for reason, _ in done.ends] == ["error"]


async def test_a_complete_answer_is_complete_though_its_source_does_not_close(publisher: Publisher) -> None:
    """All of it is there."""

    class Source:
        async def __aiter__(self) -> AsyncIterator[str]:
            yield "Hello"

        async def close(self) -> None:
            raise ConnectionError("reset")

    await publish_stream(publisher, "c1", Source())
    done = await parsed(publisher)
    assert (done.text, done.errors, [reason for reason, _ in done.ends]) == ("Hello", [], ["stop"])


async def test_what_is_iterated_without_async_is_published_as_it_comes(publisher: Publisher) -> None:
    """As from the synchronous client of an SDK, which waits for its model in the middle of the answer."""
    read = threading.Event()

    def source() -> Iterator[str]:
        yield "Hel"
        assert read.wait(15), "nothing came of the first item"
        yield "lo"

    publishing = asyncio.create_task(publish_stream(publisher, "c1", source()))
    while not publishing.done() and not read.is_set():
        if await read_topic(publisher.connection.bootstrap_servers, publisher.topic):
            read.set()
    await publishing
    assert (await parsed(publisher)).text == "Hello"


async def test_a_source_that_is_cancelled_leaves_an_answer_that_was(publisher: Publisher) -> None:
    """As when the client of a server has gone away."""
    begun = asyncio.Event()

    async def source() -> AsyncIterator[str]:
        yield "Hel"
        begun.set()
        await asyncio.Event().wait()

    publishing = asyncio.create_task(publish_stream(publisher, "c1", source()))
    await asyncio.wait_for(begun.wait(), 30)
    publishing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await publishing
    done = await parsed(publisher)
    assert (done.text, [reason for reason, _ in done.ends]) == ("Hel", ["cancelled"])


async def test_a_cancellation_stays_one_though_kafka_is_away(
    publisher: Publisher, caplog: pytest.LogCaptureFixture
) -> None:
    """Its task must end as cancelled; that the answer could not be ended is logged."""
    begun = asyncio.Event()

    async def source() -> AsyncIterator[str]:
        begun.set()
        await asyncio.Event().wait()
        yield "never"

    publishing = asyncio.create_task(publish_stream(publisher, "c1", source()))
    await asyncio.wait_for(begun.wait(), 30)
    assert publisher._producer is not None
    await publisher._producer.stop()
    publishing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await publishing
    assert "an answer of conversation 'c1' was cancelled, but is still open: " in caplog.text


async def test_a_source_is_closed_when_an_item_of_it_can_t_be_published(publisher: Publisher) -> None:
    """The model behind it stops, instead of writing for nobody."""
    closed = []

    async def source() -> AsyncIterator[object]:
        try:
            yield object()
        finally:
            closed.append(True)

    broken = source()
    with pytest.raises(TypeError, match="name its `codec`"):
        await publish_stream(publisher, "c1", broken)
    assert closed == [True]


NAMED = b'data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n'
HALF = b'data: {"id":"chatcmpl-1","choices":[{"ind'
FAILED: list[tuple[str, list[Any], str, str]] = [
    ("sse+openai", [NAMED[:30], NAMED[30:]], "chatcmpl-1", "Hel"),
    ("sse+openai", [NAMED + HALF], "chatcmpl-1", "Hel"),
    ("sse+openai", [NAMED[:-2]], "chatcmpl-1", ""),
    ("sse+openai", [HALF], "m1", ""),
    ("sse+openai", [NAMED.replace(b'"id":"chatcmpl-1",', b"")], "m1", "Hel"),
    ("openai", [{"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {"content": "Hel"}}]}], "chatcmpl-1", "Hel"),
    ("ollama", [{"message": {"content": "Hel"}}], "m1", "Hel"),
    ("native", [{"message_id": "own", "open": {}, "delta": "Hel"}], "own", "Hel"),
]
"""Codec, what came before the source broke off, the id of the answer, and its text: a line without an end has none."""


@pytest.mark.parametrize("options", [{}, {"model": "m"}])
@pytest.mark.parametrize(("codec", "items", "message_id", "text"), FAILED)
async def test_a_provider_s_answer_that_breaks_off_ends_as_one_that_failed(
    publisher: Publisher, codec: str, items: list[Any], message_id: str, text: str, options: dict[str, Any]
) -> None:
    """Under the id that the provider gave it: no other message is made for its end, and it does not stay open."""

    async def source() -> AsyncIterator[Any]:
        for item in items:
            yield item
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError, match="gone"):
        await publish_stream(publisher, "c1", source(), codec=codec, message_id="m1", open=options)
    assert publisher._pending == {}
    done = await parsed(publisher)
    assert [message for message, _ in done.messages] == [message_id]
    assert (done.text, done.errors) == (text, [("upstream", "ConnectionError: gone")])
    assert ([reason for reason, _ in done.ends], done.rejected) == (["error"], [])


async def test_a_provider_s_answer_that_is_cancelled_ends_as_one_that_was(publisher: Publisher) -> None:
    """Under the provider's id, too; what the codec keeps of half an event is given up."""
    begun = asyncio.Event()

    async def source() -> AsyncIterator[bytes]:
        yield NAMED + HALF
        begun.set()
        await asyncio.Event().wait()

    publishing = asyncio.create_task(publish_stream(publisher, "c1", source(), codec="sse+openai"))
    await asyncio.wait_for(begun.wait(), 30)
    publishing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await publishing
    done = await parsed(publisher)
    assert [message for message, _ in done.messages] == ["chatcmpl-1"]
    assert (done.text, done.errors, [reason for reason, _ in done.ends]) == ("Hel", [], ["cancelled"])
    records = await read_topic(publisher.connection.bootstrap_servers, publisher.topic)
    assert records[-1].value is None


async def test_answers_of_a_conversation_may_stream_side_by_side(publisher: Publisher) -> None:
    """Their records are told apart, also where their provider gives no id."""
    lines = [[{"message": {"content": letter}} for letter in word] for word in ("abc", "xyz")]
    await asyncio.gather(*(publish_stream(publisher, "c1", each, codec="ollama") for each in lines))
    done = await parsed(publisher)
    texts: dict[str, str] = {}
    for event in done.events:
        if isinstance(event, TextDelta):
            texts[event.message_id] = texts.get(event.message_id, "") + event.delta
    assert sorted(texts.values()) == ["abc", "xyz"]


async def test_an_item_of_no_known_provider_is_refused(publisher: Publisher) -> None:
    """The sentence says what to do."""
    with pytest.raises(TypeError, match="name its `codec`"):
        await publish_stream(publisher, "c1", [{"text": "a"}])
