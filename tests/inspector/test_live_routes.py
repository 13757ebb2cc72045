"""Who may read a conversation live, and say a word about its calls."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
import pytest
from aiohttp.http_parser import HttpRequestParserPy
from aiohttp.test_utils import TestClient, TestServer
from aiokafka import AIOKafkaProducer

from tests.support.approvals import asked_about
from tests.support.stage import until
from tests.support.topics import make_topics, read_topic
from tokenmill.config import Config, Gateway, Kafka, Topics
from tokenmill.gateway.auth.authorizer import AllowAll
from tokenmill.gateway.auth.grant import Action, Authorizer, Credentials, Grant
from tokenmill.gateway.http.idle_connections import IdleConnections
from tokenmill.inspector import live_routes
from tokenmill.inspector.host import inspector_app
from tokenmill.limits import KEY_BYTES
from tokenmill.tools.control import Approval, ApprovalRequest, read_control

pytestmark = pytest.mark.integration

LOOK_S = 0.5
"""To see that nothing is answered."""

ON_THE_WAY = {"cache-control": "no-cache, no-transform", "x-accel-buffering": "no"}
"""Headers by which a proxy neither collects nor compresses lines."""


class Some(Authorizer):
    """One name may do some things with one conversation, for as long as it is let."""

    def __init__(self, *actions: Action) -> None:
        self._actions = frozenset(actions)
        self.held = True

    async def grant(self, credentials: Credentials) -> Grant:  # noqa: ARG002 -- everybody is the one
        return Grant("me", ("mine",), self._actions)

    def holds(self, grant: Grant) -> bool:  # noqa: ARG002 -- there is one
        return self.held


@pytest.fixture
async def config(kafka: str, unique: str) -> Config:
    names = {key: f"{key}-{unique}" for key in ("tokens", "events", "tool_control", "tool_results")}
    await make_topics(kafka, *names.values(), partitions=1)
    return Config(kafka=Kafka(bootstrap_servers=kafka), topics=Topics(**names))


@asynccontextmanager
async def served(
    config: Config, authorizer: Authorizer, gateway: Gateway | None = None
) -> AsyncIterator[TestClient[Any, Any]]:
    """A client of the page's server."""
    async with TestClient(TestServer(inspector_app(None, IdleConnections(), config, authorizer, gateway))) as client:
        yield client


async def test_a_conversation_is_read_by_whom_it_belongs_to(config: Config) -> None:
    """Lines of JSON, under the page's policy; others are refused before anything is read."""
    async with served(config, Some("read")) as client:
        async with client.get("/inspect/api/live", params={"conversation": "mine"}) as answer:
            assert (answer.status, answer.content_type) == (200, "application/x-ndjson")
            assert {name: answer.headers[name] for name in ON_THE_WAY} == ON_THE_WAY
            assert msgspec.json.decode(await answer.content.readline())["line"] == "position"
        async with client.get("/inspect/api/live", params={"conversation": "yours"}) as answer:
            assert answer.status == 403


async def test_a_page_is_told_no_more_than_it_can_keep(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though nothing comes but signs that nothing has come."""
    monkeypatch.setattr(live_routes, "KEPT_BYTES", 100)
    monkeypatch.setattr("tokenmill.inspector.live_log.SIGN_S", 0.0)
    async with (
        served(config, Some("read")) as client,
        client.get("/inspect/api/live", params={"conversation": "mine"}) as answer,
    ):
        *kept, last = (await answer.content.read()).splitlines()
    assert {msgspec.json.decode(line)["line"] for line in kept} == {"position"}
    assert "256 MiB of lines" in msgspec.json.decode(last)["detail"]


@pytest.mark.parametrize("query", [{}, {"conversation": "mine", "back": "x"}, {"conversation": "mine", "back": "-1"}])
async def test_what_is_not_understood_is_refused(config: Config, query: dict[str, str]) -> None:
    """With what to change."""
    async with served(config, Some("read")) as client, client.get("/inspect/api/live", params=query) as answer:
        assert answer.status == 400
        assert (await answer.json())["detail"]


@pytest.mark.parametrize("name", [b"\xff", b"x" * (KEY_BYTES + 1)], ids=["no UTF-8", "too long"])
async def test_what_is_no_conversation_s_name_is_refused(
    config: Config, name: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may read everything. Where aiohttp has no extension its parser lets bytes through that are no UTF-8."""
    monkeypatch.setattr("aiohttp.web_protocol.HttpRequestParser", HttpRequestParserPy)
    async with served(config, AllowAll()) as client:
        reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
        writer.write(b"GET /inspect/api/live?conversation=%b HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" % name)
        async with asyncio.timeout(20):
            said = await reader.readline()
        writer.close()
        await writer.wait_closed()
        assert b" 400 " in said


async def test_a_reader_goes_when_its_rights_do(config: Config) -> None:
    """It is told why."""
    authorizer = Some("read")
    async with (
        served(config, authorizer) as client,
        client.get("/inspect/api/live", params={"conversation": "mine"}) as answer,
    ):
        await answer.content.readline()
        authorizer.held = False
        *_, last = (await answer.content.read()).splitlines()
        assert "credentials have ended" in msgspec.json.decode(last)["detail"]


async def test_the_end_is_seen_by_a_client_that_knows_no_chunks(config: Config) -> None:
    """The connection ends with it, though the client would keep it: a proxy may ask so."""
    authorizer = Some("read")
    async with served(config, authorizer) as client:
        reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
        writer.write(b"GET /inspect/api/live?conversation=mine HTTP/1.0\r\nconnection: keep-alive\r\n\r\n")
        async with asyncio.timeout(20):
            await reader.readuntil(b'"position"')
            authorizer.held = False
            assert b"credentials have ended" in await reader.read()
        writer.close()
        await writer.wait_closed()


async def test_there_are_places_for_few_readers(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who finds none is told to come again."""
    monkeypatch.setattr("tokenmill.inspector.host.READERS", 1)
    query = {"conversation": "mine"}
    async with served(config, Some("read")) as client, client.get("/inspect/api/live", params=query) as one:
        await one.content.readline()
        async with client.get("/inspect/api/live", params=query) as other:
            assert other.status == 429


async def test_a_topic_that_is_not_there_is_said_in_the_stream(kafka: str, unique: str) -> None:
    """Its headers are sent by then."""
    config = Config(kafka=Kafka(bootstrap_servers=kafka), topics=Topics(tokens=f"none-{unique}"))
    async with (
        served(config, Some("read")) as client,
        client.get("/inspect/api/live", params={"conversation": "mine"}) as answer,
    ):
        assert "no topic" in msgspec.json.decode(await answer.content.readline())["detail"]


async def test_half_a_surrogate_pair_in_a_result_ends_no_stream(config: Config) -> None:
    """What `decode_event` accepts is sent."""
    result = '{"half \\ud800":"\\udfff"}'
    event = f'{{"type":"tool-result","id":"a","name":"f","result":{result}}}'
    producer = AIOKafkaProducer(bootstrap_servers=config.kafka.bootstrap_servers)
    await producer.start()
    await producer.send_and_wait(config.topics.tool_results, event.encode(), b"mine")
    await producer.stop()
    async with (
        served(config, Some("read")) as client,
        client.get("/inspect/api/live", params={"conversation": "mine"}) as answer,
        asyncio.timeout(20),
    ):
        while b'"said"' not in (line := await answer.content.readline()):
            assert line
    assert f'"result":{result}'.encode() in line


async def ask(config: Config, conversation: str) -> None:
    """A call of a conversation waits for a word."""
    producer = AIOKafkaProducer(bootstrap_servers=config.kafka.bootstrap_servers)
    await producer.start()
    until = int(time.time() * 1000) + 60_000
    request = asked_about(approval=f"hash of {conversation}", conversation_id=conversation, until=until)
    await producer.send_and_wait(config.topics.tool_control, msgspec.json.encode(request), conversation.encode())
    await producer.stop()


async def words(config: Config) -> list[Approval]:
    """Those that were said."""
    records = await read_topic(config.kafka.bootstrap_servers, config.topics.tool_control)
    return [each for each in (read_control(record.value) for record in records) if isinstance(each, Approval)]


async def test_a_word_is_said_by_whoever_may_approve(config: Config) -> None:
    """In their name; to read is not enough."""
    await ask(config, "mine")
    word = {"conversation": "mine", "approval": "hash of mine", "granted": True}
    async with served(config, Some("read")) as client, client.post("/inspect/api/words", json=word) as answer:
        assert answer.status == 403
    async with served(config, Some("approve")) as client, client.post("/inspect/api/words", json=word) as answer:
        assert answer.status == 204
    assert await words(config) == [Approval(approval="hash of mine", granted=True, by="me")]


async def test_beside_a_gateway_that_writes_nothing_no_word_is_said() -> None:
    """It has no right to write to Kafka. The page shows no buttons."""
    word = {"conversation": "mine", "approval": "hash of mine", "granted": True}
    async with served(Config(), Some("approve"), Gateway(writes=False)) as client:
        async with client.post("/inspect/api/words", json=word) as answer:
            assert answer.status == 404
        async with client.get("/inspect/api/choices") as answer:
            choices = await answer.json()
    assert (choices["live"], choices["words"]) == (True, False)


async def test_a_word_has_its_place_until_it_is_said(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """To look what waits is a reader of its own: so many at once, and no more for each name."""
    looking, looked = 0, asyncio.Event()

    async def questions(_config: Config) -> list[ApprovalRequest]:
        nonlocal looking
        looking += 1
        await looked.wait()
        return []

    monkeypatch.setattr("tokenmill.inspector.live_routes.questions", questions)
    word = {"conversation": "mine", "approval": "x", "granted": True}
    async with served(config, Some("approve")) as client:

        async def status() -> int:
            async with client.post("/inspect/api/words", json=word) as answer:
                return answer.status

        asked = [asyncio.create_task(status()) for _ in range(live_routes.READERS_EACH + 2)]
        refused = {task.result() for task in (await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED))[0]}
        looked.set()
        found = sorted(await asyncio.gather(*asked))
    assert refused == {429}
    assert (found, looking) == ([409] * live_routes.READERS_EACH + [429] * 2, live_routes.READERS_EACH)


async def test_no_word_is_said_about_another_s_call(config: Config) -> None:
    """A word counts by its hash alone, so it has to be one of the conversation that was named."""
    await ask(config, "yours")
    word = {"conversation": "mine", "approval": "hash of yours", "granted": True}
    async with served(config, Some("approve")) as client:
        async with client.post("/inspect/api/words", json=word) as answer:
            assert answer.status == 409
        async with client.post("/inspect/api/words", json={"conversation": "mine"}) as answer:
            assert answer.status == 400
        async with client.post("/inspect/api/words", data="{}") as answer:
            assert answer.status == 415
        broken = b'{"conversation": "mine", "approval": "\xff", "granted": true}'
        json = {"content-type": "application/json"}
        async with client.post("/inspect/api/words", data=broken, headers=json) as answer:
            assert answer.status == 400
    assert await words(config) == []


async def test_a_word_is_read_of_whoever_may_say_one(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others are refused before their body comes. One that comes has a place, and none of the readers'."""
    monkeypatch.setattr("tokenmill.inspector.host.READERS", 1)
    head = "POST /inspect/api/words HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    half = f"{head}content-length: 1000000\r\n\r\n{{".encode()

    async def status(client: TestClient[Any, Any], patience_s: float = 20) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
        writers.append(writer)
        writer.write(half)
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                return (await reader.readline()).split()[1]
        return b""

    writers: list[asyncio.StreamWriter] = []
    async with served(config, Some("read")) as client:
        assert await status(client) == b"403"
    async with served(config, Some("read", "approve")) as client:
        async with client.get("/inspect/api/live", params={"conversation": "mine"}) as answer:
            await answer.content.readline()
            assert [await status(client, LOOK_S), await status(client)] == [b"", b"429"]
        for writer in writers:
            writer.close()


async def test_a_page_that_takes_nothing_is_left(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while: nothing waits for ever, and its place is another's."""
    monkeypatch.setattr(live_routes, "STALL_S", 0.2)
    monkeypatch.setattr("tokenmill.inspector.host.READERS", 1)
    await write(config, "mine", pieces=60, size=200_000)
    async with served(config, Some("read")) as client:
        reader, writer = await asyncio.open_connection("127.0.0.1", client.port, limit=1)
        writer.write(b"GET /inspect/api/live?conversation=mine HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        assert await reader.readexactly(1)

        async def admitted() -> bool:
            async with client.get("/inspect/api/live", params={"conversation": "mine", "back": "0"}) as answer:
                return answer.status == 200

        assert not await admitted()
        await until(admitted, "the place is free")
        writer.close()


async def write(config: Config, conversation: str, pieces: int, size: int) -> None:
    """An answer of large pieces."""
    producer = AIOKafkaProducer(bootstrap_servers=config.kafka.bootstrap_servers)
    await producer.start()
    for _ in range(pieces):
        value = msgspec.json.encode({"message_id": "m", "delta": "x" * size})
        await producer.send_and_wait(config.topics.tokens, value, conversation.encode())
    await producer.stop()
