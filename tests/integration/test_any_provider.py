"""Any provider in, any client out: SDKs at both ends, and a worker on a real Kafka between them."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from itertools import pairwise
from random import Random
from typing import Any, TypeVar

import pytest
from aiokafka import ConsumerRecord
from anthropic import Anthropic
from anthropic.types import Message
from openai import AsyncOpenAI

from tests.support.judging import serving, sse
from tests.support.provided import Provided
from tests.support.scenarios import SCENARIOS, WEATHER, rendered
from tests.support.stage import Stage
from tests.support.topics import make_topics
from tokenmill.client import Connection, Follower, Publisher, publish_stream
from tokenmill.events import AnyEvent, Finish

pytestmark = pytest.mark.integration

LIMIT_S = 60
"""For what takes a second, on a machine with much else to do."""

OPTIONS = {"format": "hermes", "tools": [WEATHER], "stream_tool_input": True}
TRACE = ("traceparent", b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
ANSWER = (
    "<think>Which city? Both.</think>I look at both:\n"
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich \\"🌧\\"", "days": 3}}\n</tool_call>\n'
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
)
CALLS = [("get_weather", {"city": 'Zürich "🌧"', "days": 3}), ("get_weather", {"city": "Oslo"})]
USAGE = {"prompt_tokens": 21, "completion_tokens": 64, "total_tokens": 85}


def completion(*deltas: dict[str, Any], finish: str) -> bytes:
    """What a server of OpenAI's protocol answers: as vLLM does, with a role first, and usage behind the end."""
    head = {"id": "chatcmpl-7", "object": "chat.completion.chunk", "created": 1_760_000_000, "model": "qwen3"}
    choices: list[dict[str, Any]] = [{"delta": {"role": "assistant", "content": ""}}]
    choices += [{"delta": delta} for delta in deltas]
    choices += [{"delta": {}, "finish_reason": finish}]
    chunks = [{**head, "choices": [{"index": 0, "finish_reason": None, **choice}]} for choice in choices]
    chunks += [{**head, "choices": [], "usage": USAGE}]
    return sse([*(json.dumps(chunk).encode() for chunk in chunks), b"[DONE]"])


def native(index: int, call_id: str | None, **function: str) -> dict[str, Any]:
    """A piece of a call that the server's own parser found."""
    first = {"id": call_id, "type": "function"} if call_id else {}
    return {"tool_calls": [{"index": index, **first, "function": function}]}


MARKUP = completion(*({"content": ANSWER[at : at + 5]} for at in range(0, len(ANSWER), 5)), finish="stop")
"""From a server without a parser for tools: calls are in the text."""

NATIVE = completion(
    {"reasoning_content": "Which city? Both."},
    {"content": "I look at both:\n"},
    native(0, "call_a", name="get_weather", arguments=""),
    native(0, None, arguments='{"city": "Zürich \\"'),
    native(0, None, arguments='🌧\\"", "days": 3}'),
    native(1, "call_b", name="get_weather", arguments='{"city": "Oslo"}'),
    finish="tool_calls",
)


@pytest.fixture
async def topic(stage: Stage, unique: str) -> str:
    """An output for clients of Anthropic, of a worker that runs."""
    name = f"anthropic-{unique}"
    await make_topics(stage.bootstrap, name, partitions=stage.partitions)
    stage.settings["outputs"] = [{"topic": name, "dialect": "anthropic"}]
    await stage.start()
    return name


Item = TypeVar("Item")
Publish = Callable[[Publisher], Awaitable[None]]


async def through(stage: Stage, topic: str, publish: Publish) -> tuple[list[AnyEvent], list[ConsumerRecord]]:
    """The events that followers see while an answer is published, and the records of the other output."""
    connection = Connection(stage.bootstrap)
    async with (
        Publisher(connection, topic=stage.topics.tokens) as publisher,
        Follower(connection, topic=stage.topics.events, conversation_id="c") as follower,
        Follower(connection, topic=topic, conversation_id="c") as clients,
    ):
        await publish(publisher)
        events = await collected(follower.events(), lambda event: isinstance(event, Finish))
        return events, await collected(clients.records(), lambda record: b'"message_stop"' in record.value)


async def collected(items: AsyncIterator[Item], is_last: Callable[[Item], bool]) -> list[Item]:
    """The items up to the last."""
    found: list[Item] = []
    async with asyncio.timeout(LIMIT_S):
        async for item in items:
            found.append(item)
            if is_last(item):
                break
    return found


def message_of(records: Sequence[ConsumerRecord]) -> Message:
    """What the SDK of Anthropic makes of the records, framed as a gateway would."""
    with serving(sse([record.value for record in records], named=True)) as url:
        client = Anthropic(base_url=url, api_key="x", max_retries=0)
        question: Any = {"role": "user", "content": "?"}
        with client.messages.stream(model="m", max_tokens=10, messages=[question]) as stream:
            return stream.get_final_message()


def said(message: Message, kind: str) -> str:
    """Text of the blocks of a kind."""
    return "".join(getattr(block, kind) for block in message.content if block.type == kind)


def calls_of(message: Message) -> list[tuple[str, Any]]:
    """Names and arguments."""
    return [(block.name, block.input) for block in message.content if block.type == "tool_use"]


@pytest.mark.parametrize("body", [MARKUP, NATIVE], ids=["markup", "native"])
async def test_from_the_sdk_of_openai_to_that_of_anthropic(stage: Stage, topic: str, body: bytes) -> None:
    """Text, reasoning, both calls, reason, counts and the trace come through; events on the way say the same."""

    async def publish(publisher: Publisher) -> None:
        with serving(body) as url:
            client = AsyncOpenAI(base_url=url, api_key="x", max_retries=0)
            stream = await client.chat.completions.create(model="m", messages=[], stream=True)
            await publish_stream(publisher, "c", stream, open=OPTIONS, headers=[TRACE])

    events, records = await through(stage, topic, publish)
    done = Provided(events, [])
    assert (done.reasoning, done.text.strip(), done.calls) == ("Which city? Both.", "I look at both:", CALLS)
    assert [event.seq for event in events] == list(range(len(events)))
    assert {event.message_id for event in events} == {"chatcmpl-7"}
    assert done.ends[0][0] == "tool-calls"
    assert all(TRACE in record.headers for record in records)

    message = message_of(records)
    assert said(message, "thinking") == "Which city? Both."
    assert said(message, "text").strip() == "I look at both:"
    assert calls_of(message) == CALLS
    assert [block.id for block in message.content if block.type == "tool_use"] == done.call_ids
    assert (message.stop_reason, message.usage.output_tokens) == ("tool_use", 64)


async def test_raw_bytes_of_a_provider(stage: Stage, topic: str) -> None:
    """As they come off the wire, cut anywhere, also inside a character: what the SDK reads is what was sent."""
    sent = rendered(SCENARIOS["reasoning, text and a call"], "anthropic")
    raw = sse(sent.payloads, named=True)
    cuts = [0, *sorted(Random(6).sample(range(1, len(raw)), 60)), len(raw)]
    pieces = [raw[start:end] for start, end in pairwise(cuts)]

    async def publish(publisher: Publisher) -> None:
        await publish_stream(publisher, "c", pieces, codec="sse+anthropic", open={"model": "renamed"})

    events, records = await through(stage, topic, publish)
    done, message = Provided(events, []), message_of(records)
    assert (done.text, done.reasoning) == (sent.text, sent.reasoning)
    assert calls_of(message) == done.calls == [(name, arguments) for _, name, arguments in sent.calls]
    assert message.model == "renamed"
    assert len(done.messages) == len(done.ends) == 1
