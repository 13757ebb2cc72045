"""What is written over HTTP, on a real Kafka, with a real worker behind it."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from aiohttp import ClientSession

from tests.integration.test_any_provider import MARKUP, OPTIONS
from tests.support.gateways import admission
from tests.support.serving_app import serving_app
from tests.support.stage import Stage, until
from tests.support.topics import make_topics, read_topic
from tokenmill.client import Connection, Publisher, publish_stream
from tokenmill.codecs import CODECS, cut_anywhere, find_codec
from tokenmill.config import Config, Gateway, Kafka
from tokenmill.gateway.counts import Counts
from tokenmill.gateway.http.app import client_app
from tokenmill.gateway.http.idle_connections import IdleConnections
from tokenmill.gateway.http.origins import Origins
from tokenmill.gateway.ingest.producer import Producer
from tokenmill.gateway.routes.writes import WriteRoutes

pytestmark = pytest.mark.integration

DELTAS = frozenset({"text-delta", "reasoning-delta", "tool-input-delta"})


class Gate:
    """A gateway's write side in the test's own process."""

    def __init__(self, session: ClientSession, port: int) -> None:
        self._session = session
        self.port = port

    async def __call__(self, path: str, body: Any = b"", *, method: str = "POST", **headers: str) -> dict[str, Any]:
        """A request that succeeds; structures are sent as JSON."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if isinstance(body, dict):
            body, named = msgspec.json.encode(body), {"content-type": "application/json"} | named
        async with (
            asyncio.timeout(30),
            self._session.request(method, f"/v1/conversations/{path}", data=body, headers=named) as response,
        ):
            answer = await response.json()
            assert response.status in (200, 202), answer
            return dict(answer)


@asynccontextmanager
async def writing(stage: Stage) -> AsyncIterator[Gate]:
    await make_topics(stage.bootstrap, stage.topics.tool_results, partitions=stage.partitions)
    config = Config(kafka=Kafka(bootstrap_servers=stage.bootstrap), topics=stage.topics)
    producer = Producer(config.kafka, [config.topics.tokens, config.topics.tool_results])
    await producer.start()
    writing = WriteRoutes(config, producer, admission(), Counts())
    app = client_app(writing.routes(), Counts(), Origins(Gateway()), IdleConnections(), 1024)
    async with (
        serving_app(app, handler_cancellation=True, shutdown_timeout=0.1) as port,
        ClientSession(f"http://127.0.0.1:{port}") as session,
    ):
        yield Gate(session, port)
    await writing.close(5)
    await producer.stop()


async def finished(stage: Stage, *messages: str) -> dict[str, list[dict[str, Any]]]:
    """The events of these messages, once all of them have ended."""

    async def all_of_them() -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {}
        for event in await stage.events():
            found.setdefault(event["message_id"], []).append(event)
        ended = {name for name, events in found.items() if any(event["type"] == "finish" for event in events)}
        return found if ended >= set(messages) else {}

    found: dict[str, list[dict[str, Any]]] = await until(all_of_them, f"{messages} are finished")
    return found


def of(events: list[dict[str, Any]], kind: str, field: str) -> list[Any]:
    return [event.get(field) for event in events if event["type"] == kind]


async def test_chunks_become_events_until_a_stop_or_the_loss_of_their_writer(stage: Stage) -> None:
    """Native chunks, a stop between two of them, and a stream whose client goes away in the middle of an event."""
    await stage.start()
    async with writing(stage) as gate:
        first = await gate("Gespräch/chunks", {"message_id": "m1", "open": {"format": "hermes"}, "delta": "Hello"})
        lines = b'{"message_id":"m1","delta":" there"}\n{"message_id":"m1","finish_reason":"stop"}\n'
        rest = await gate("Gespräch/chunks", lines, content_type="application/x-ndjson")
        assert (rest["accepted"], rest["partition"], rest["offset"]) == (2, first["partition"], first["offset"] + 2)
        records = await read_topic(stage.bootstrap, stage.topics.tokens)
        assert [record.key.decode() for record in records if record.partition == first["partition"]] == ["Gespräch"] * 3

        await gate("c/chunks?message_id=m2", {"delta": "and then"})
        assert (await gate("c/stop", {"message_id": "m2"}))["message_id"] == "m2"
        await gate("c/stop", {"message_id": "m2"})

        _, writer = await asyncio.open_connection("127.0.0.1", gate.port)
        head = "POST /v1/conversations/c/chunks?codec=sse+openai&message_id=m3 HTTP/1.1\r\nhost: localhost\r\n"
        writer.write(f"{head}content-type: text/event-stream\r\ncontent-length: 99999\r\n\r\n".encode() + MARKUP[:1500])

        async def begun() -> bool:
            return any(event["message_id"] == "chatcmpl-7" for event in await stage.events())

        await until(begun, "the stream's message has begun")
        writer.close()

        events = await finished(stage, "m1", "m2", "chatcmpl-7")
    assert ("".join(of(events["m1"], "text-delta", "delta")), of(events["m1"], "finish", "reason")) == (
        "Hello there",
        ["stop"],
    )
    assert of(events["m2"], "finish", "reason") == ["cancelled"]
    assert of(events["chatcmpl-7"], "error", "code")[-1] == "upstream"
    assert of(events["chatcmpl-7"], "finish", "reason") == ["error"]
    assert events.keys() == {"m1", "m2", "chatcmpl-7"}
    assert await read_topic(stage.bootstrap, stage.topics.dlq) == []


def bodies() -> dict[str, bytes]:
    """A body of each codec, as a stream; and one in which calls are in the text."""
    streams = [codec if cut_anywhere(codec) else find_codec(f"sse+{codec.name}") for codec in CODECS[1:]]
    made = {codec.name: b"".join(record.value or b"" for record in codec.sample) for codec in streams}
    return {**made, "sse+openai": MARKUP}


async def test_every_codecs_stream_gives_what_the_client_library_gives(stage: Stage) -> None:
    """The same bytes, published by `publish_stream` and posted, make the same events and the same ends."""
    await stage.start()
    async with (
        writing(stage) as gate,
        Publisher(Connection(stage.bootstrap), topic=stage.topics.tokens) as publisher,
    ):
        for codec, body in bodies().items():
            options = {"tm_open": json.dumps(OPTIONS), "content_type": "application/octet-stream"}
            await gate(f"http-{codec}/chunks?codec={codec}&message_id=m", body, **options)
            await publish_stream(publisher, f"client-{codec}", [body], codec=codec, message_id="m", open=OPTIONS)
    await until(stage.caught_up, "everything is processed")
    told: dict[str, list[dict[str, Any]]] = {}
    for event in await stage.events():
        told.setdefault(event["conversation_id"], []).append(event)
    assert told.keys() == {f"{way}-{codec}" for way in ("http", "client") for codec in bodies()}
    for codec in bodies():
        posted, published = (compared(told[f"{way}-{codec}"]) for way in ("http", "client"))
        assert posted == published
        assert posted[-1]["type"] == "finish"
    assert await read_topic(stage.bootstrap, stage.topics.dlq) == []


def compared(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without what has to differ: the conversation, of which ids of calls are made, times, and where text was cut."""
    result: list[dict[str, Any]] = []
    for event in events:
        kept = {name: value for name, value in event.items() if name not in ("conversation_id", "time", "seq")}
        kept = json.loads(re.sub(r"call_[0-9a-f]{8,}", "call", json.dumps(kept)))
        if kept["type"] in DELTAS and result and result[-1] | {"delta": ""} == kept | {"delta": ""}:
            result[-1]["delta"] += kept["delta"]
        else:
            result.append(kept)
    return result


async def test_results_of_tools_are_on_their_topic(stage: Stage) -> None:
    """On the partition of their conversation, where the answer says."""
    async with writing(stage) as gate:
        chunk = await gate("c/chunks", {"message_id": "m", "delta": "a"})
        answer = await gate("c/tool-results", {"id": "call_1", "name": "get_weather", "result": {"celsius": 7}})
    (record,) = await read_topic(stage.bootstrap, stage.topics.tool_results)
    assert (record.key, record.partition, record.offset) == (b"c", answer["partition"], answer["offset"])
    assert record.partition == chunk["partition"]
    assert json.loads(record.value)["result"] == {"celsius": 7}
