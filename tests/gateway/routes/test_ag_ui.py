"""Runs of AG-UI: `gateway/routes/ag_ui.py`, with the protocol's own client."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, cast

import httpx
import pytest
from aiohttp.test_utils import BaseTestServer, TestServer

from tests.support.gateways import Gate, admission, answer, listening, payloads, shown
from tests.support.judging import run_node
from tests.support.stage import until
from tokenmill.config import Gateway
from tokenmill.gateway.auth.admission import Admission
from tokenmill.gateway.auth.connection_limits import ConnectionLimits
from tokenmill.gateway.auth.grant import Authorizer, Credentials, Grant, unauthenticated
from tokenmill.gateway.counts import Counts
from tokenmill.gateway.event_log.log_readers import ClientLogReader
from tokenmill.gateway.http.app import client_app
from tokenmill.gateway.http.idle_connections import IdleConnections
from tokenmill.gateway.http.origins import Origins
from tokenmill.gateway.routes.ag_ui import AgUiRoutes
from tokenmill.gateway.streams.service import StreamService

pytestmark = pytest.mark.integration

TEXTS = ["<think>why</think>", "Hel", "lo ", "wor", "ld"]


@pytest.fixture
async def gate(kafka: str, unique: str) -> AsyncIterator[Gate]:
    """A gateway with this route."""
    async with listening(
        kafka, unique, lambda serving: AgUiRoutes(serving, admission()).routes(), heartbeat_s=0.2
    ) as gate:
        yield gate


async def run(gate: Gate, run_id: str = "r") -> list[dict[str, Any]]:
    """The events of a run, unfolded by hand."""
    async with httpx.AsyncClient(base_url=gate.url, timeout=20) as client:
        body = await client.post("/ag-ui", json={"threadId": "c", "runId": run_id, "messages": [], "tools": []})
    assert body.status_code == 200
    return [json.loads(each) for each in payloads(body.content)]


async def test_the_client_goes_on_where_it_was_cut(gate: Gate) -> None:
    """Cut in the middle of a text: the next stream begins with `RUN_STARTED`, and comes to the whole message."""
    records = answer("c", "m", TEXTS, format="deepseek_r1")
    await gate.say([*answer("c", "m0", ["before"]), *records[:5]])
    page: asyncio.Task[Any] = asyncio.create_task(asyncio.to_thread(run_node, "resume_ag_ui.mjs", gate.url, "r1"))
    for number in (5, 7):
        await gate.attended()
        await gate.say(records[number : number + 2])
        await asyncio.sleep(0.5)  # comments come in between
        await gate.cut()
    await gate.attended()
    await gate.say(records[9:])
    *cut, whole = await page
    assert [each["events"][0] for each in (*cut, whole)] == ["RUN_STARTED"] * 3
    assert all(each["error"] for each in cut)
    assert whole["error"] is None
    assert [(each["role"], each["content"]) for each in whole["messages"]] == [
        ("reasoning", "why"),
        ("assistant", "Hello world"),
    ]


async def test_a_run_that_is_known_by_its_id_is_played_again(gate: Gate) -> None:
    """Though it has ended, and another one is open."""
    records = answer("c", "m1", ["Hello"])
    await gate.say([*records, *answer("c", "m2", ["again"], finish=False)])
    assert await run(gate, "m1") == [json.loads(each) for each in shown(records, "ag_ui")]
    (played,) = await asyncio.to_thread(run_node, "resume_ag_ui.mjs", gate.url, "m1")
    assert [each["content"] for each in played["messages"]] == ["Hello"]


async def test_without_an_open_run_the_next_one_is_waited_for(gate: Gate) -> None:
    """It alone, from its start to its end."""
    await gate.say(answer("c", "m0", ["before"]))
    page = asyncio.create_task(run(gate))
    await gate.attended()
    one, two = answer("c", "m1", ["a", "b"]), answer("c", "m2", ["c", "d"])
    await gate.say(record for pair in zip(one, two, strict=True) for record in pair)
    assert await page == [json.loads(each) for each in shown(one, "ag_ui")]


@pytest.mark.parametrize("run_id", ["new", ""])
async def test_the_log_is_read_once_to_find_what_is_open(
    gate: Gate, monkeypatch: pytest.MonkeyPatch, run_id: str
) -> None:
    """However much of others is in it, and whatever run is asked for."""
    at, looked, read = gate.serving.tail.partition_of(b"c"), list[int](), ClientLogReader.read
    others = [
        record
        for name in map("o{}".format, range(200))
        if gate.serving.tail.partition_of(name.encode()) == at
        for record in answer(name, "m", ["x"] * 20)
    ]
    before, records = answer("c", "m0", ["before"]), answer("c", "m1", ["Hello", "again"])
    await gate.say([*others, *before, *records[:-1]])

    async def noted(reader: ClientLogReader, partition: int, start: int, *more: Any) -> Any:
        looked.append(start)
        return await read(reader, partition, start, *more)

    monkeypatch.setattr(ClientLogReader, "read", noted)
    monkeypatch.setattr("tokenmill.gateway.event_log.reading.REPEATS_BEHIND", 10)
    page = asyncio.create_task(run(gate, run_id))
    await gate.attended()
    await gate.say(records[-1:])
    assert payloads_of(await page) == "Helloagain"
    assert len(others) > 1_000
    assert sum(start < len(others) // 2 for start in looked) == 1


def payloads_of(events: list[dict[str, Any]]) -> str:
    """The text of a run."""
    return "".join(each["delta"] for each in events if each["type"] == "TEXT_MESSAGE_CONTENT")


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"threadId": 3}', b'{"threadId": ""}', b"\xff"])
async def test_what_is_no_run_is_refused(gate: Gate, body: bytes) -> None:
    """With what to change."""
    async with httpx.AsyncClient(base_url=gate.url) as client:
        refused = await client.post("/ag-ui", content=body)
    assert refused.status_code == 400
    assert refused.json()["detail"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"threadId": "c", "x": ' + b"[" * 100_000, 400),
        (b'{"threadId": "\xff"}', 400),
        (b'{"threadId": "c"', 400),
        (b'{"threadId": "c", "messages": "%b"}' % (b"x" * 2_000_000), 413),
    ],
)
async def test_a_body_that_is_none_is_refused(gate: Gate, body: bytes, status: int) -> None:
    """Whatever stands in it."""
    async with httpx.AsyncClient(base_url=gate.url, timeout=20) as client:
        refused = await client.post("/ag-ui", content=body)
    assert (refused.status_code, refused.headers["content-type"]) == (status, "application/problem+json")


async def test_a_body_that_does_not_come_is_not_waited_for(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """And has a place as long as it is."""
    monkeypatch.setattr("tokenmill.gateway.http.request_body.WHOLE_S", 0.3)
    reader, writer = await asyncio.open_connection("127.0.0.1", gate.port)
    writer.write(b"POST /ag-ui HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{")
    async with asyncio.timeout(10):
        assert b" 408 " in await reader.readline()
    writer.close()
    await writer.wait_closed()


class Keyed(Authorizer):
    """Who has the key may read; nobody else is known."""

    async def grant(self, credentials: Credentials) -> Grant:
        if credentials.key != "key":
            raise unauthenticated("say who you are", "missing")
        return Grant("ann", ("c",), frozenset({"read"}))


async def half(server: BaseTestServer, *headers: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A post whose body does not come."""
    assert server.port is not None
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    head = ["POST /ag-ui HTTP/1.1", "host: 127.0.0.1", "content-length: 1000000", *headers, "", "{"]
    writer.write("\r\n".join(head).encode())
    return reader, writer


async def test_nobody_unknown_has_a_body_read() -> None:
    """They are told so at once, and take no place; a body of somebody who is known takes one of their own."""
    limits = ConnectionLimits(10, 1)
    route = AgUiRoutes(cast("StreamService", None), Admission(Keyed(), limits))
    async with TestServer(
        client_app(route.routes(), Counts(), Origins(Gateway()), IdleConnections(), 1_000_000)
    ) as server:
        async with asyncio.timeout(10):
            reader, stranger = await half(server)
            assert b" 401 " in await reader.readline()
        _, known = await half(server, "x-api-key: key")
        await until(lambda: limits.of("ann") == 1, "the body has a place")
        async with asyncio.timeout(10):
            reader, again = await half(server, "x-api-key: key")
            assert b" 429 " in await reader.readline()
        for writer in (stranger, known, again):
            writer.close()
        await until(lambda: limits.taken_now == 0, "the places are free")
