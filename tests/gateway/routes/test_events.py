"""Events of a conversation, and of one of its messages: `gateway/routes/events.py`."""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from aiohttp import ClientError, ClientResponse, ClientSession

from tests.support.gateways import Gate, answer, listening, payloads, shown
from tokenmill.config import Gateway
from tokenmill.errors import Unavailable
from tokenmill.gateway.auth.authorizer import make_authorizer
from tokenmill.gateway.event_log import tail
from tokenmill.gateway.event_log.position import read_position
from tokenmill.gateway.streams import service
from tokenmill.kafka.lookup import partition_of

pytestmark = pytest.mark.integration


async def test_a_conversation_is_streamed_to_its_end(kafka: str, unique: str) -> None:
    """As the library renders it, with an id for each frame."""
    records = answer("c", "m", ["Hello ", "world"])
    async with listening(kafka, unique) as gate, ClientSession(gate.url) as session:
        await gate.say(records)
        async with session.get("/v1/conversations/c/events?from=start&until=finish&dialect=openai") as response:
            lines = (await response.read()).decode().splitlines()
    assert response.content_type == "text/event-stream"
    assert [line[6:].encode() for line in lines if line.startswith("data: ")] == shown(records, "openai")


async def test_a_foreign_conversation_is_not_read(kafka: str, unique: str, tmp_path: Path) -> None:
    """401 without a key, 403 with the wrong one; neither asks Kafka for anything."""
    keys = tmp_path / "keys.toml"
    digest = hashlib.sha256(b"a-key").hexdigest()
    keys.write_text(f'[[keys]]\nname = "mine"\nsha256 = "{digest}"\nconversations = ["mine-*"]\nactions = ["read"]\n')
    authorizer = make_authorizer(Gateway(auth="keys", keys_file=str(keys)))
    async with listening(kafka, unique, authorizer=authorizer) as gate, ClientSession(gate.url) as session:
        path = "/v1/conversations/theirs/events"
        async with session.get(path) as unknown, session.get(path, headers={"x-api-key": "a-key"}) as foreign:
            assert (unknown.status, foreign.status) == (401, 403)
        assert list(gate.serving.tail.uncommitted()) == []


@pytest.mark.parametrize("path", ["events", "messages/m/events"])
async def test_an_event_source_that_comes_back_is_not_refused_for_what_passes(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """It would never try again. Others get the status, and so does its first connection, which a page sees fail."""

    async def fail(*_: object) -> None:
        raise Unavailable("Kafka does not answer")

    event_source, last = {"accept": "text/event-stream"}, {"last-event-id": "0.00000000000000000000.00000~0"}
    seen = list[tuple[int, bytes]]()
    async with listening(kafka, unique, connections=1) as gate, ClientSession(gate.url) as session:
        url = f"/v1/conversations/c/{path}"
        async with session.get("/v1/conversations/c/events", headers=event_source):
            await gate.attended()
            for headers in (event_source, last, event_source | last):
                seen.append(await _cut(session, url, headers))
        await gate.serving.flusher.emptied()
        monkeypatch.setattr(gate.serving.tail, "pin", fail)
        for headers in (event_source, last, event_source | last):
            seen.append(await _cut(session, url, headers))
    assert [status for status, _ in seen] == [429, 429, 200, 503, 503, 200]
    for _, got in (seen[2], seen[5]):
        assert 500 <= int(got.removeprefix(b"retry: ")) <= 5_000


async def _cut(session: ClientSession, url: str, headers: dict[str, str]) -> tuple[int, bytes]:
    """The status, and what comes before a stream is cut off; of a refusal nothing."""
    got = bytearray()
    async with session.get(url, headers=headers) as response:
        if response.status == 200:
            with pytest.raises(ClientError):
                await _into(got, response)
    return response.status, bytes(got)


async def _into(got: bytearray, response: ClientResponse) -> None:
    async for data in response.content.iter_any():
        got += data


@pytest.fixture
async def gate(kafka: str, unique: str) -> AsyncIterator[Gate]:
    """A gateway."""
    async with listening(kafka, unique) as gate:
        yield gate


@pytest.fixture
async def client(gate: Gate) -> AsyncIterator[httpx.AsyncClient]:
    """Of the gateway."""
    async with httpx.AsyncClient(base_url=gate.url, timeout=20) as client:
        yield client


async def read(client: httpx.AsyncClient, path: str, last: str) -> tuple[int, str]:
    """The status for one that has this id, and the id that it has when its stream ends or is cut off."""
    async with client.stream("GET", path, headers={"last-event-id": last} if last else {}) as response:
        with contextlib.suppress(httpx.HTTPError):
            async for line in response.aiter_lines():
                last = line.removeprefix("id: ") if line.startswith("id: ") else last
    return response.status_code, last


@pytest.mark.parametrize("dialect", ["native", "openai", "anthropic", "ai_sdk_ui"])
async def test_one_message_of_several_is_shown(gate: Gate, client: httpx.AsyncClient, dialect: str) -> None:
    """From its start to its end, though another one goes on at the same time."""
    one, two = answer("c", "m1", ["Hel", "lo"]), answer("c", "m2", ["other", "wise"], finish=False)
    await gate.say(record for pair in zip(one, two, strict=False) for record in pair)
    await gate.say(one[len(two) :])
    body = await client.get(f"/v1/conversations/c/messages/m1/events?dialect={dialect}")
    assert body.status_code == 200
    assert payloads(body.content) == shown(one, dialect)


async def test_a_message_that_is_written_ends_with_its_end(gate: Gate, client: httpx.AsyncClient) -> None:
    """What comes is shown as it comes."""
    records = answer("c", "m1", ["Hel", "lo"])
    await gate.say(records[:3])
    async with client.stream("GET", "/v1/conversations/c/messages/m1/events") as response:
        came = b""
        rest = records[3:]
        async for data in response.aiter_bytes():
            came += data
            await gate.say([*answer("c", "m0", ["x"]), *rest])
            rest = []
    assert payloads(came) == shown(records, "native")


async def test_whoever_has_the_end_is_told_that_nothing_comes(gate: Gate, client: httpx.AsyncClient) -> None:
    """An `EventSource` would come back for ever; another message that began since changes nothing."""
    await gate.say([*answer("c", "m1", ["Hello"]), *answer("c", "m2", ["again"], finish=False)])
    body = await client.get("/v1/conversations/c/messages/m1/events")
    last = [line.removeprefix("id: ") for line in body.text.splitlines() if line.startswith("id: ")][-1]
    again = await client.get("/v1/conversations/c/messages/m1/events", headers={"last-event-id": last})
    assert again.status_code == 204


@pytest.mark.parametrize("peek_s", [60, -1], ids=["seen at once", "seen late"])
async def test_whoever_has_the_end_is_told_so_where_the_topic_grew(
    gate: Gate, client: httpx.AsyncClient, kafka: str, monkeypatch: pytest.MonkeyPatch, peek_s: float
) -> None:
    """The partition that it is led to never had the message, which is not missing for that."""
    monkeypatch.setattr(tail, "GROWTH_S", 0.1)
    home = gate.serving.tail.partition_of(b"c")
    partitions = next(count for count in range(3, 9) if partition_of(b"c", count) != home)
    await gate.say(answer("c", "m1", ["Hello"]))
    path = "/v1/conversations/c/messages/m1/events"
    _, at = await read(client, path, "")
    await gate.say(answer("other", "x", ["no"] * 9), home)
    await gate.grow(kafka, partitions)
    monkeypatch.setattr(service, "PEEK_S", peek_s)
    if peek_s < 0:  # it hears only where to go on
        status, at = await read(client, path, at)
        assert (status, read_position(at).partition) == (200, partition_of(b"c", partitions))
    assert await read(client, path, at) == (204, at)


async def test_every_place_is_gone_on_from(gate: Gate, client: httpx.AsyncClient) -> None:
    """Behind each frame of the message comes the rest of it."""
    records = answer("c", "m1", ["a", "b", "c"])
    await gate.say([*answer("c", "m0", ["x"]), *records, *answer("c", "m2", ["y"])])
    path = "/v1/conversations/c/messages/m1/events?dialect=ai_sdk_ui"
    whole = (await client.get(path)).content
    ids = [
        block.partition(b"\n")[0].removeprefix(b"id: ").decode() for block in whole.split(b"\n\n") if b"data" in block
    ]
    wanted = shown(records, "ai_sdk_ui")
    for number, position in enumerate(ids[:-1], 1):
        rest = await client.get(path, headers={"last-event-id": position})
        assert payloads(rest.content) == wanted[number:]


async def test_an_unknown_message_is_not_found_unless_it_is_waited_for(gate: Gate, client: httpx.AsyncClient) -> None:
    """A page may ask before the first chunk is there."""
    await gate.say(answer("c", "m1", ["Hello"]))
    missing = await client.get("/v1/conversations/c/messages/m2/events")
    assert missing.status_code == 404
    assert "wait=true" in missing.json()["detail"]
    waiting = asyncio.create_task(client.get("/v1/conversations/c/messages/m2/events?wait=true"))
    records = answer("c", "m2", ["there"])
    await gate.attended()
    await gate.say(records)
    assert payloads((await waiting).content) == shown(records, "native")


@pytest.mark.parametrize(
    ("path", "says"), [("m1/events?wait=soon", "true or false"), (f"{'m' * 5_000}/events", "at most")]
)
async def test_what_is_not_understood_is_refused(client: httpx.AsyncClient, path: str, says: str) -> None:
    """With what to change."""
    refused = await client.get(f"/v1/conversations/c/messages/{path}")
    assert refused.status_code == 400
    assert says in refused.json()["detail"]
