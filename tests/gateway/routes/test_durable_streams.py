"""The reading side of Durable Streams: `gateway/routes/durable_streams.py`, with the protocol's own client."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import msgspec
import pytest

from tests.support.gateways import Gate, admission, answer, listening, shown
from tests.support.judging import run_node
from tests.support.stage import until
from tokenmill.errors import Unavailable
from tokenmill.gateway.auth.authorizer import AllowAll
from tokenmill.gateway.event_log.log_readers import ClientLogReader
from tokenmill.gateway.event_log.position import read_position
from tokenmill.gateway.event_log.view import Frame
from tokenmill.gateway.routes.durable_streams import POLL_S, DurableStreamRoutes, LongPoll
from tokenmill.kafka.lookup import partition_of
from tokenmill.records import Output

pytestmark = pytest.mark.integration

S = "/v1/streams/c"


@pytest.fixture
async def gate(kafka: str, unique: str) -> AsyncIterator[Gate]:
    """A gateway with this route."""
    async with listening(kafka, unique, lambda serving: DurableStreamRoutes(serving, admission()).routes()) as gate:
        yield gate


@pytest.fixture
async def client(gate: Gate) -> AsyncIterator[httpx.AsyncClient]:
    """Of the gateway."""
    async with httpx.AsyncClient(base_url=gate.url, timeout=25) as client:
        yield client


def values(records: list[Output], dialect: str = "native") -> list[Any]:
    """What has to come of records."""
    return [json.loads(each) if each[:1] == b"{" else each.decode() for each in shown(records, dialect)]


async def test_the_client_reads_a_stream_in_every_mode(gate: Gate) -> None:
    """Live until it is closed, cut in between, and in two goes."""
    records = answer("c", "m", ["Hel", "lo ", "wor", "ld"])
    await gate.say(records[:3])
    page: asyncio.Task[Any] = asyncio.create_task(asyncio.to_thread(run_node, "durable_streams.mjs", gate.url + S))
    await gate.attended()
    await gate.say(records[3:5])
    await gate.cut()
    await gate.attended()
    await gate.say(records[5:])
    read = await page
    assert read["sse"]["items"] == read["long-poll"]["items"] == read["first"] == values(records)
    assert (read["sse"]["closed"], read["long-poll"]["closed"], read["rest"]) == (True, True, [])


@pytest.mark.parametrize("dialect", ["native", "openai"])
async def test_reading_goes_on_behind_every_offset(gate: Gate, client: httpx.AsyncClient, dialect: str) -> None:
    """Each frame's is one; they are in order as text, and what is read is the rest."""
    records = answer("c", "m", ["a", "b", "c"])
    wanted = values(records, dialect)
    live = {"offset": "now", "live": "sse", "until": "finish", "dialect": dialect}
    page = asyncio.create_task(client.get(S, params=live))
    await gate.attended()
    await gate.say(records)
    events = await page
    controls = [json.loads(line[5:]) for line in events.text.splitlines() if line.startswith('data:{"streamNext')]
    offsets = [each["streamNextOffset"] for each in controls][-len(wanted) - 1 : -1]
    assert offsets == sorted(set(offsets))
    assert (controls[-1].get("streamClosed"), events.text.count("event: data")) == (True, len(wanted))
    for number, offset in enumerate(offsets, 1):
        assert read_position(offset)
        rest = await client.get(S, params={"offset": offset, "dialect": dialect})
        assert rest.json() == wanted[number:]
        assert (rest.headers["stream-next-offset"], rest.headers["stream-up-to-date"]) == (offsets[-1], "true")


async def test_what_is_past_comes_at_once(gate: Gate, client: httpx.AsyncClient) -> None:
    """One event for all of it, with one control that says where the client is, and that this is the head."""
    records = answer("c", "m", ["a", "b", "c"])
    await gate.say(records)
    events = await client.get(S, params={"offset": "-1", "live": "sse", "until": "finish", "dialect": "openai"})
    said = [line.removeprefix("data:") for line in events.text.splitlines() if line.startswith("data:")]
    found, control, end = map(json.loads, said)
    assert found == values(records, "openai")
    assert (control["upToDate"], end["streamClosed"]) == (True, True)


async def test_a_long_poll_waits_for_what_comes(gate: Gate, client: httpx.AsyncClient) -> None:
    """And answers at once where something is there."""
    records = answer("c", "m", ["a", "b"])
    await gate.say(records[:2])
    there = await client.get(S, params={"offset": "-1", "live": "long-poll"})
    assert there.json() == values(records[:2])
    offset, cursor = there.headers["stream-next-offset"], there.headers["stream-cursor"]
    page = asyncio.create_task(client.get(S, params={"offset": offset, "live": "long-poll", "cursor": cursor}))
    await until(lambda: gate.serving.hub.clients(gate.serving.tail.partition_of(b"c")), "it waits")
    await gate.say(records[2:3])
    came = await page
    assert came.json() == values(records[2:3])
    assert int(came.headers["stream-cursor"]) > int(cursor)


async def test_a_long_poll_ends_without_anything(client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """204, and where to go on."""
    monkeypatch.setattr("tokenmill.gateway.routes.durable_streams.POLL_S", 0.1)
    empty = await client.get(S, params={"offset": "now", "live": "long-poll"})
    assert (empty.status_code, empty.headers["stream-up-to-date"]) == (204, "true")
    assert read_position(empty.headers["stream-next-offset"])


async def test_rights_that_end_end_a_long_poll(
    gate: Gate, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes then is for others; who has new ones polls again from the same offset."""
    page = asyncio.create_task(client.get(S, params={"offset": "now", "live": "long-poll"}))
    await until(lambda: gate.serving.hub.clients(gate.serving.tail.partition_of(b"c")), "it waits")
    monkeypatch.setattr(AllowAll, "holds", lambda *_: False)
    await gate.say(answer("c", "m", ["a"]))
    assert ((await page).status_code, (await page).json()["reason"]) == (401, "expired")


async def test_a_long_poll_is_answered_when_the_process_ends(gate: Gate, client: httpx.AsyncClient) -> None:
    """At once, with where to go on."""
    page = asyncio.create_task(client.get(S, params={"offset": "now", "live": "long-poll"}))
    await until(lambda: gate.serving.hub.clients(gate.serving.tail.partition_of(b"c")), "it waits")
    gate.serving.hub.close()
    poll = await page
    assert (poll.status_code, bool(read_position(poll.headers["stream-next-offset"]))) == (204, True)
    assert poll.elapsed.total_seconds() < POLL_S / 2


async def test_the_offset_of_an_end_leads_to_the_next_answer(gate: Gate, client: httpx.AsyncClient) -> None:
    """Whatever came with the end."""
    one, two = answer("c", "m1", ["a"]), answer("c", "m2", ["b"])
    page = asyncio.create_task(client.get(S, params={"offset": "now", "live": "sse", "until": "finish"}))
    await gate.attended()
    await gate.say([*one, *two])
    end = json.loads((await page).text.splitlines()[-2].removeprefix("data:"))
    assert end["streamClosed"]
    assert (await client.get(S, params={"offset": end["streamNextOffset"]})).json() == values(two)


async def test_an_end_without_words_is_an_offset_alone(gate: Gate, client: httpx.AsyncClient) -> None:
    """Of a message whose beginning is gone most dialects have nothing to say but that it is over."""
    records = answer("c", "m", ["a", "b"])
    await gate.say(records[1:])
    there = await client.get(S, params={"dialect": "openai", "until": "finish"})
    assert (there.json(), there.headers["stream-closed"]) == ([], "true")
    position = read_position(there.headers["stream-next-offset"])
    assert position is not None
    assert position.part == 1
    poll = {"dialect": "openai", "offset": "-1", "live": "long-poll"}
    came = await client.get(S, params=poll)
    assert (came.status_code, came.headers["stream-next-offset"]) == (204, str(position))
    live = {"dialect": "openai", "offset": "-1", "live": "sse", "until": "finish"}
    assert "event: data" not in (await client.get(S, params=live)).text


@pytest.mark.parametrize("dialect", ["native", "openai"])
async def test_what_the_log_no_longer_has_is_said(gate: Gate, client: httpx.AsyncClient, dialect: str) -> None:
    """In a header of an array, which nobody keeps; in a control of a stream. Else nothing is said."""
    whole, rest = answer("c", "m0", ["a"]), answer("c", "m", ["a", "b", "c"])[1:]
    await gate.say(whole)
    query = {"dialect": dialect, "until": "finish"}
    assert "tm-gap" not in (await client.get(S, params=query)).headers
    await gate.hear(rest)
    array = await client.get(S, params=query)
    assert (array.status_code, array.headers["tm-gap"], array.headers["cache-control"]) == (200, "true", "no-store")
    assert (await client.get(S, params=query | {"live": "long-poll", "offset": "-1"})).headers["tm-gap"] == "true"
    events = (await client.get(S, params=query | {"live": "sse", "offset": "-1"})).text
    assert events.count('"tmGap":true') == 1
    for live in ({}, {"live": "sse"}):
        behind = await client.get(S, params={"offset": array.headers["stream-next-offset"], "until": "finish"} | live)
        assert "tmgap" not in f"{behind.headers}{behind.text}".lower().replace("-", "")


async def test_a_gap_in_a_full_part_is_said_and_not_kept(
    gate: Gate, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who asks again later may miss more."""
    monkeypatch.setattr("tokenmill.gateway.routes.durable_streams.ANSWER_BYTES", 500)
    await gate.say(answer("c", "m", ["a", "b", "c", "d", "e", "f"])[1:])
    part = await client.get(S)
    assert "stream-up-to-date" not in part.headers
    assert (part.headers["tm-gap"], part.headers["cache-control"]) == ("true", "no-store")


async def test_a_waiter_passes_over_what_its_client_has() -> None:
    """Where our reader is behind that of the gateway that the client comes from."""
    waiter = LongPoll((5, 1))
    waiter.tell([Frame(4, 1, 0, b"{}", b"m"), Frame(5, 1, 0, b"{}", b"m")], b"")
    assert not waiter.came.done()
    new = Frame(6, 1, 0, b"{}", b"m")
    waiter.tell([Frame(5, 1, 0, b"{}", b"m"), new], b"")
    assert waiter.came.result() == [new]


async def rest_of(client: socket.socket) -> None:
    while await asyncio.get_running_loop().sock_recv(client, 1 << 20):
        pass


async def test_who_does_not_take_an_array_is_cut_off(kafka: str, unique: str) -> None:
    """And has its place until then."""
    let_in = admission()
    limits = let_in._limits
    async with listening(kafka, unique, lambda at: DurableStreamRoutes(at, let_in).routes(), stall_s=1) as gate:
        await gate.say(answer("c", "m", ["x" * 100_000] * 12))
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            client.settimeout(0)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(client, ("127.0.0.1", gate.port))
            await loop.sock_sendall(client, f"GET {S}?offset=-1 HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
            await until(lambda: limits.taken_now == 1, "it has a place")
            await until(lambda: limits.taken_now == 0, "it is cut off", 20)
            with pytest.raises(ConnectionResetError):
                await rest_of(client)


async def test_a_minute_of_events_ends_well(
    gate: Gate, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client comes back with its offset."""
    monkeypatch.setattr("tokenmill.gateway.routes.durable_streams.SSE_S", 0.1)
    await gate.say(answer("c", "m", ["a"], finish=False))
    events = await client.get(S, params={"offset": "-1", "live": "sse"})
    assert '"upToDate":true' in events.text
    assert "streamClosed" not in events.text


async def test_long_streams_come_in_parts(
    gate: Gate, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that are full may be kept; only the last one is up to date."""
    monkeypatch.setattr("tokenmill.gateway.routes.durable_streams.ANSWER_BYTES", 500)
    records = answer("c", "m", ["a", "b", "c", "d", "e", "f"])
    await gate.say(records)
    read, offset = list[Any](), "-1"
    while True:
        part = await client.get(S, params={"offset": offset, "until": "finish"})
        read += part.json()
        offset = part.headers["stream-next-offset"]
        if "stream-up-to-date" in part.headers:
            break
        assert ("max-age" in part.headers["cache-control"], "stream-closed" in part.headers) == (True, False)
    assert read == values(records)
    assert (part.headers["stream-closed"], part.headers["cache-control"]) == ("true", "no-store")


async def test_a_part_that_is_full_closes_nothing(
    gate: Gate, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another answer may follow right behind, as it does where both are in one part."""
    first, second = answer("c", "m", ["a"]), answer("c", "n", ["b"])
    size = sum(len(record.value or b"") for record in first)
    monkeypatch.setattr("tokenmill.gateway.routes.durable_streams.ANSWER_BYTES", size)
    await gate.say([*first, *second])
    part = await client.get(S, params={"until": "finish"})
    assert (part.json(), "stream-closed" in part.headers) == (values(first), False)
    rest = await client.get(S, params={"until": "finish", "offset": part.headers["stream-next-offset"]})
    assert (rest.json(), rest.headers["stream-closed"]) == (values(second), "true")


async def test_events_of_the_past_come_in_small_parts(gate: Gate, client: httpx.AsyncClient) -> None:
    """Each with its offset: who is cut off on a thin line has come a little further."""
    records = answer("c", "m", ["x" * 50_000] * 20)
    await gate.say(records)
    page = await client.get(S, params={"offset": "-1", "live": "sse", "until": "finish"})
    assert max(map(len, page.text.split("event: control"))) < 300_000
    assert page.text.count('"conversation_id"') == len(records)


async def test_what_may_be_kept_is_kept_for_whoever_asked(
    gate: Gate, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two users of one browser have one cache. Nobody knows what a function looks at: it is asked anew."""
    monkeypatch.setattr("tokenmill.gateway.routes.durable_streams.ANSWER_BYTES", 500)
    await gate.say(answer("c", "m", ["a", "b", "c", "d", "e", "f"]))
    full = await client.get(S)
    again = await client.get(S, headers={"if-none-match": full.headers["etag"]})
    for part in (full, again):
        assert "max-age" in part.headers["cache-control"]
        assert part.headers.get_list("vary") == ["authorization, x-api-key, cookie, Origin"]
    gate.serving.settings = msgspec.structs.replace(gate.serving.settings, auth="function")
    assert (await client.get(S)).headers["cache-control"] == "private, no-cache"


LONG = answer("c", "m", ["x" * 100_000] * 60)


@pytest.fixture
async def small(kafka: str, unique: str) -> AsyncIterator[Gate]:
    """A gateway that keeps little in memory, and a long answer of which it reads most from Kafka."""
    async with listening(kafka, unique, lambda at: DurableStreamRoutes(at, admission()).routes(), window_mib=1) as gate:
        await gate.say(LONG)
        yield gate


async def streamed(gate: Gate, offset: str) -> tuple[str, bool]:
    """What came of a stream behind an offset, and whether it was cut off."""
    text, query = "", {"offset": offset, "live": "sse", "until": "finish"}
    async with (
        httpx.AsyncClient(base_url=gate.url, timeout=25) as client,
        client.stream("GET", S, params=query) as page,
    ):
        try:
            async for each in page.aiter_text():
                text += each
        except httpx.TransportError:
            return text, True
    return text, False


async def test_without_kafka_an_answer_is_cut_off_and_goes_on_later(
    small: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks like no end; the last offset is where the rest begins, whatever came behind it before the reset."""
    read, turns = ClientLogReader.read, iter(range(99))

    async def away_after_two(reader: ClientLogReader, *place: Any) -> Any:
        if next(turns) >= 2:
            raise Unavailable("Kafka does not answer")
        return await read(reader, *place)

    with monkeypatch.context() as away:
        away.setattr(ClientLogReader, "read", away_after_two)
        first, cut = await streamed(small, "-1")
    assert cut
    controls = [json.loads(line[5:]) for line in first.splitlines() if line.startswith('data:{"streamNext')]
    rest, cut = await streamed(small, controls[-1]["streamNextOffset"])
    assert not cut
    came = [text.count('"conversation_id"') for text in (first[: first.rindex("streamNextOffset")], rest)]
    assert 0 < came[0] < sum(came) == len(LONG)


async def test_what_somebody_has_is_not_sent_again(gate: Gate, client: httpx.AsyncClient) -> None:
    """The tag changes with what there is."""
    await gate.say(answer("c", "m", ["a"], finish=False))
    one = await client.get(S)
    again = await client.get(S, headers={"if-none-match": f'"other", W/{one.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    await gate.say(answer("c", "m2", ["b"]))
    assert (await client.get(S, headers={"if-none-match": one.headers["etag"]})).status_code == 200


async def test_the_head_is_told_without_reading(gate: Gate, client: httpx.AsyncClient) -> None:
    """What comes behind it is read from there."""
    await gate.say(answer("c", "m", ["a"]))
    head = await client.head(S)
    assert (head.status_code, head.headers["cache-control"]) == (200, "no-store")
    now = await client.get(S, params={"offset": "now"})
    assert (now.json(), now.headers["stream-next-offset"]) == ([], head.headers["stream-next-offset"])
    assert now.headers["x-content-type-options"] == "nosniff"
    records = answer("c", "m2", ["b"])
    await gate.say(records)
    assert (await client.get(S, params={"offset": head.headers["stream-next-offset"]})).json() == values(records)


WRONG = "offset= offset=yesterday offset=start offset=-1&offset=now live=sse live=long-poll offset=-1&live=always"
WRONG += " offset=-1&until=noon offset=-1&dialect=klingon"
WRONG += " offset=0.00000000000000009999.00001~0 offset=99.00000000000000000001.00001~0"


@pytest.mark.parametrize("query", WRONG.split())
async def test_offsets_that_are_none_are_refused(client: httpx.AsyncClient, query: str) -> None:
    """With a problem that says what to change. A place that the log does not have is gone."""
    refused = await client.get(f"{S}?{query}")
    assert (refused.status_code, bool(refused.json()["detail"])) == (410 if "~0" in query else 400, True)


@pytest.mark.parametrize("form", [{}, {"live": "long-poll"}, {"live": "sse"}], ids=str)
async def test_an_offset_of_before_the_topic_grew_leads_on(
    gate: Gate, client: httpx.AsyncClient, kafka: str, monkeypatch: pytest.MonkeyPatch, form: dict[str, str]
) -> None:
    """Also where it takes long to see that the old partition has no more, which is looked at once."""
    monkeypatch.setattr("tokenmill.gateway.streams.service.PEEK_S", -1)
    monkeypatch.setattr("tokenmill.gateway.event_log.tail.GROWTH_S", 0.1)
    home = gate.serving.tail.partition_of(b"c")
    partitions = next(count for count in range(3, 9) if partition_of(b"c", count) != home)
    await gate.say(answer("c", "m", ["a"]))
    offset = (await client.get(S, params={"offset": "-1"})).headers["stream-next-offset"]
    await gate.say(answer("other", "x", ["no"] * 9), home)
    await gate.grow(kafka, partitions)
    second = answer("c", "n", ["b"])
    await gate.say(second)
    led = await client.get(S, params={"offset": offset, **form, "until": "finish"})
    told = [json.loads(line[5:]) for line in led.text.splitlines() if line.startswith('data:{"streamNext')]
    onward = told[-1]["streamNextOffset"] if told else led.headers["stream-next-offset"]
    assert ("stream-up-to-date" in led.headers or "upToDate" in led.text) is False  # who is up to date may stop
    assert (read_position(onward).partition, "stream-closed" in led.headers) == (partition_of(b"c", partitions), False)
    assert (await client.get(S, params={"offset": onward})).json() == values(second)
