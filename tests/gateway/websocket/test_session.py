"""A WebSocket, and what nobody should send on it: `gateway/websocket/session.py`, with `websockets` and raw frames."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection

from tests.support.gateways import answer
from tests.support.sockets import HANDSHAKE, MASK, Stand, Token, data_of, heard, read_all, stood, wanted
from tests.support.stage import until
from tokenmill.gateway.auth.authorizer import TicketAuthorizer
from tokenmill.gateway.auth.grant import Authorizer, Credentials, Grant, unauthenticated
from tokenmill.gateway.auth.tickets import Tickets
from tokenmill.gateway.event_log.log_readers import ClientLogReader, LogReaders
from tokenmill.gateway.problems import UNVERIFIABLE, Refused
from tokenmill.gateway.websocket.session import FRAMES_PER_WINDOW, WebSocketSession
from tokenmill.limits import KIB

pytestmark = pytest.mark.integration


@pytest.fixture
async def stand(kafka: str, unique: str) -> AsyncIterator[Stand]:
    """Everybody may do everything."""
    async with stood(kafka, unique) as stand:
        yield stand


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        ("{", "one JSON object"),
        ("[1]", "one JSON object"),
        ('{"type": "unsubscribe", "conversation": "d"}', "use /v1/ws for several"),
        ('{"type": "dance"}', "expected one of subscribe, unsubscribe, stop, tool_result"),
        ('{"type": "subscribe", "dialect": "klingon"}', "tokenmill dialects"),
        ('{"type": "subscribe", "frm": "start"}', "frm"),
        ('{"type": "subscribe", "conversation": "d"}', "use /v1/ws for several"),
        ('{"type": "subscribe", "authorization": "a\\nb"}', "a header of that name"),
        ('{"type": 3}', "must be a string"),
        (b"\x00\x01", "not in a binary one"),
    ],
)
async def test_a_frame_that_is_not_understood_ends_the_socket(stand: Stand, frame: str | bytes, says: str) -> None:
    """A message says what to change; then 1008."""
    async with stand.open("/v1/conversations/c/ws") as socket:
        await socket.send(frame)
        messages, code = await heard(socket)
    assert messages[-1]["event"] == "error"
    assert says in messages[-1]["data"]["detail"]
    assert code == 1008


async def test_a_frame_that_is_too_large_ends_the_socket(stand: Stand) -> None:
    """With the code for it."""
    async with stand.open("/v1/conversations/c/ws?from=now") as socket:
        await socket.send("x" * 300_000)
        _, code = await heard(socket)
    assert code == 1009


async def test_whoever_says_nothing_is_told_to(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    """After some seconds."""
    monkeypatch.setattr("tokenmill.gateway.websocket.session.FIRST_S", 0.1)
    async with stand.open("/v1/conversations/c/ws") as socket:
        messages, code = await heard(socket)
    assert code == 1008
    assert "in a frame within" in messages[0]["data"]["detail"]


class Unverifiable(Authorizer):
    """Credentials can't be checked for three seconds."""

    async def grant(self, credentials: Credentials) -> Grant:  # noqa: ARG002 -- they are not looked at
        raise Refused(UNVERIFIABLE, "come again", headers={"retry-after": "3"})


async def test_a_client_is_sent_back_for_what_passes(kafka: str, unique: str) -> None:
    """With a pause and 1013, which does not mean that it did something wrong."""
    async with stood(kafka, unique) as full:
        limits = full.sockets._shared.admission._limits
        while limits.taken_now < 100:
            limits.take("")
        error, retry = await _sent_back(full)
        assert (error["status"], 2_000 <= retry["retry_ms"] <= 10_000) == (429, True)
    async with stood(kafka, unique, Unverifiable()) as blind:
        error, retry = await _sent_back(blind)
        assert (error["status"], retry["retry_ms"]) == (503, 3_000)


async def _sent_back(stand: Stand) -> list[dict[str, Any]]:
    async with stand.open("/v1/conversations/c/ws?from=now") as socket:
        messages, code = await heard(socket)
    assert ([each["event"] for each in messages], code) == (["error", "retry"], 1013)
    return [each["data"] for each in messages]


async def test_a_client_that_answers_no_ping_is_gone(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    """After two. It may have slept: 1013."""
    monkeypatch.setattr("tokenmill.gateway.websocket.session.PING_S", 0.1)
    reader, writer = await asyncio.open_connection("127.0.0.1", stand.gate.port)
    writer.write(HANDSHAKE)
    await reader.readuntil(b"\r\n\r\n")
    async with asyncio.timeout(20):
        came = await reader.read()
    writer.close()
    assert came.count(b"\x89\x00") == 2
    assert b'"event":"retry"' in came
    assert came.endswith(b"\x03\xf5pings were not answered")
    async with stand.open("/v1/conversations/c/ws?from=now") as socket:
        await stand.gate.attended()
        await asyncio.sleep(0.5)  # five times the silence, in which this client answers
        await stand.gate.say(answer("c", "m", ["a"]))
        assert "id" in json.loads(await socket.recv())


async def test_a_slow_client_is_told_to_come_back(kafka: str, unique: str) -> None:
    """1013, once it reads again; nobody waits for it."""
    async with stood(kafka, unique, buffer_kib=64, stall_s=1) as narrow:
        await _stalled(narrow)


async def _stalled(stand: Stand) -> None:
    streams = stand.gate.serving.flusher
    async with stand.open("/v1/conversations/c/ws?from=now", max_queue=1) as socket:
        await stand.gate.attended()
        socket.transport.pause_reading()
        for number in range(12):
            await stand.gate.say(answer("c", f"m{number}", ["x" * 500_000]))
        await until(lambda: not streams.streams, "it is no longer served")
        socket.transport.resume_reading()
        assert (await heard(socket))[1] == 1013


async def test_a_long_past_makes_nobody_slow_with_what_comes(kafka: str, unique: str) -> None:
    """What waits for the client of one conversation is not what it is behind with of another."""
    past, live = answer("c1", "m", ["x" * 2_000] * 1_000), answer("c2", "m", ["a"])
    messages: list[dict[str, Any]] = []
    async with stood(kafka, unique, buffer_kib=64) as stand, stand.open("/v1/ws", max_queue=1) as socket:
        await stand.gate.say(past)
        await _answered(socket, {"conversation": "c2"})
        await stand.gate.attended()
        socket.transport.pause_reading()
        await socket.send(json.dumps({"conversation": "c1", "from": "start", "until": "finish"}))
        (session,) = stand.sockets._sockets
        waiting = session._pipe._transport.get_write_buffer_size
        await until(lambda: waiting() > 64 * KIB, "the past waits for the client")
        await stand.gate.hear(live)
        socket.transport.resume_reading()
        while not messages or messages[-1].get("event") != "finished":
            messages.append(json.loads(await socket.recv()))
    assert data_of(messages, "c1") == wanted(past, "native")
    assert data_of(messages, "c2") == wanted(live, "native")


async def test_who_reads_no_answers_is_closed(kafka: str, unique: str) -> None:
    """Though it talks, and reads no conversation: what it is not taking is bounded."""
    async with stood(kafka, unique, buffer_kib=64) as stand:
        limits = stand.sockets._shared.admission._limits
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            client.settimeout(0)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(client, ("127.0.0.1", stand.gate.port))
            await loop.sock_sendall(client, HANDSHAKE.replace(b"/v1/conversations/c/ws?from=now", b"/v1/ws"))
            said = ['{"conversation":"c"}', *['{"type":"unsubscribe","conversation":"%s"}' % ("\\u0001" * 1_000)] * 190]
            frames = (b"\x81\xfe" + len(each).to_bytes(2, "big") + MASK + each.encode() for each in said)
            await asyncio.wait_for(loop.sock_sendall(client, b"".join(frames)), 20)
            await until(lambda: limits.taken_now == 1, "it is there")
            await until(lambda: limits.taken_now == 0, "it is closed", 20)


async def test_a_socket_has_one_place_from_its_handshake_on(stand: Stand) -> None:
    """Before it says what it wants, and whatever it reads after that."""
    limits = stand.sockets._shared.admission._limits
    async with stand.open("/v1/ws") as socket, stand.open("/v1/ws"):
        await until(lambda: limits.taken_now == 2, "both have a place")
        for _ in range(2):
            await socket.send('{"type": "subscribe", "conversation": "c"}')
            await stand.gate.attended()
            await socket.send('{"type": "unsubscribe", "conversation": "c"}')
            await until(lambda: not stand.gate.serving.flusher.streams, "nothing is read")
            assert limits.taken_now == 2
    await until(lambda: limits.taken_now == 0, "they left")


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("half a frame", b"\x81\x85" + MASK + b"he", b""),
        ("half a header", b"\x81", b""),
        ("not masked", b'\x81\x07{"a":1}', None),
        ("fragments", b"\x01\x81" + MASK + b"{" + b"\x80\x81" + MASK + b"x", b"one JSON object"),
        ("a fragment without a beginning", b"\x80\x81" + MASK + b"x", b""),
        ("reserved bits", b"\xf1\x81" + MASK + b"x", b""),
        ("no such opcode", b"\x83\x81" + MASK + b"x", b""),
        ("a ping that is too long", b"\x89\xfe\x00\x80" + MASK + b"x" * 128, b""),
        ("no UTF-8", b"\x81\x81" + MASK + b"\xff", b""),
        ("a length of eight bytes", b"\x81\xff" + b"\x7f" + b"\xff" * 7 + MASK, b""),
        ("many pings", (b"\x89\x80" + MASK) * 100_000, b"more than 200 frames"),
        ("many fragments", b"\x01\x80" + MASK + (b"\x00\x84" + MASK + b"xxxx") * 70_000, None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_frames_that_nobody_should_send_end_in_a_close(
    stand: Stand, name: str, data: bytes, says: bytes | None
) -> None:
    """Never in silence, and nobody else notices."""
    async with stand.open("/v1/conversations/c/ws?from=now") as other:
        reader, writer = await asyncio.open_connection("127.0.0.1", stand.gate.port)
        writer.write(HANDSHAKE)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(data)
        if writer.can_write_eof():
            writer.write_eof()
        async with asyncio.timeout(20):
            came = await read_all(reader)
        writer.close()
        assert says is None or says in came, name
        assert b"\x03\xf5" not in came, "it is not told to come back"
        await until(lambda: len(stand.gate.serving.flusher.streams) == 1, "only the other one is left")
        records = answer("c", "m", ["a"])
        await stand.gate.say(records)
        messages = [json.loads(await other.recv()) for _ in range(len(records) + 1)]
        assert data_of(messages) == wanted(records, "native")


async def test_credentials_are_renewed_by_good_ones_alone(kafka: str, unique: str) -> None:
    """However the handshake spelt its header. Those that are refused change nothing."""
    Token.valid = True
    said = [
        {"conversation": "c1"},
        {"conversation": "c2", "authorization": "Bearer word"},
        {"conversation": "c3", "authorization": "Bearer wrong"},
        {"conversation": "c4"},
        {"type": "stop", "conversation": "c1", "message_id": "m"},
    ]
    async with (
        stood(kafka, unique, Token()) as stand,
        stand.open("/v1/ws", additional_headers={"Authorization": "Bearer word"}) as socket,
    ):
        answers = [await _answered(socket, frame) for frame in said]
    assert [each["conversation"] for each in answers] == ["c1", "c2", "c3", "c4", "c1"]
    assert [each.get("event") for each in answers] == [None, None, "error", None, "stop"]
    assert answers[2]["data"]["status"] == 401


class Own(Authorizer):
    """Whoever says a name may read and stop what begins with it."""

    async def grant(self, credentials: Credentials) -> Grant:
        if not credentials.bearer:
            raise unauthenticated("say a name", "missing")
        return Grant(credentials.bearer, (f"{credentials.bearer}-*",), frozenset({"read", "stop"}))


async def test_each_conversation_is_stopped_by_whoever_reads_it(kafka: str, unique: str) -> None:
    """A page may show several people's, each with credentials of its own."""
    said = [{"conversation": f"{name}-1", "authorization": f"Bearer {name}"} for name in ("ann", "bob")]
    async with stood(kafka, unique, Own()) as stand, stand.open("/v1/ws") as socket:
        for frame in said:
            await _answered(socket, frame)
        stops = [{"type": "stop", "conversation": name, "message_id": "m"} for name in ("ann-1", "bob-1", "bob-2")]
        assert [(await _answered(socket, stop))["event"] for stop in stops] == ["stop"] * 3
        await _answered(socket, {"type": "unsubscribe", "conversation": "ann-1"})
        assert (await _answered(socket, stops[0]))["data"]["status"] == 403


async def test_what_a_ticket_opened_goes_on_beyond_it(kafka: str, unique: str) -> None:
    """It may stop and be read anew for as long as the rights behind the ticket hold; a new socket is not opened."""
    Token.valid, now = True, [1_000.0]
    authorizer = TicketAuthorizer(Token(), Tickets("", 60, lambda: now[0]), lambda: now[0])
    grant = await authorizer.grant(Credentials({"authorization": "Bearer word"}))
    path = f"/v1/ws?ticket={authorizer.ticket(grant, 'c1', 'read', 'stop')}"
    stop = {"type": "stop", "conversation": "c1", "message_id": "m"}
    async with stood(kafka, unique, authorizer) as stand, stand.open(path) as socket:
        await _answered(socket, {"conversation": "c1"})
        now[0] += 61
        assert (await _answered(socket, stop))["event"] == "stop"
        assert (await _answered(socket, {"type": "stop", "conversation": "c2"}))["data"]["status"] == 403
        assert (await _answered(socket, {"type": "tool_result", "conversation": "c1"}))["data"]["status"] == 403
        assert (await _answered(socket, {"type": "unsubscribe", "conversation": "c1"}))["event"] == "unsubscribed"
        assert "event" not in await _answered(socket, {"conversation": "c1"})
        async with stand.open(path) as late:
            assert (await _answered(late, {"conversation": "c1"}))["data"]["reason"] == "expired"
        Token.valid = False
        assert (await _answered(socket, stop))["data"]["reason"] == "expired"
    assert len(stand.written.records) == 1


async def test_a_ticket_says_who_asks_and_not_what_is_wanted(kafka: str, unique: str) -> None:
    """Beside it the first frame says that, as beside a header."""
    Token.valid = True
    authorizer = TicketAuthorizer(Token(), Tickets("", 60))
    grant = await authorizer.grant(Credentials({"authorization": "Bearer word"}))
    async with stood(kafka, unique, authorizer) as stand:
        await stand.gate.say(answer("c1", "m", ["a"]))
        async with stand.open(f"/v1/conversations/c1/ws?ticket={authorizer.ticket(grant, 'c1', 'read')}") as socket:
            await socket.send('{"from": "start", "until": "finish"}')
            messages, code = await heard(socket)
    assert ([each for each in messages if "event" in each], code) == ([], 1000)


async def _answered(socket: ClientConnection, frame: dict[str, str]) -> dict[str, Any]:
    await socket.send(json.dumps(frame))
    async with asyncio.timeout(20):
        answer: dict[str, Any] = json.loads(await socket.recv())
    return answer


async def test_a_socket_reads_so_many_conversations(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    """One more is refused, and so is one that is read already; those that are read go on."""
    monkeypatch.setattr("tokenmill.gateway.websocket.session.SUBSCRIPTIONS", 2)
    async with stand.open("/v1/ws") as socket:
        assert "event" not in await _answered(socket, {"conversation": "c1"})
        assert "event" not in await _answered(socket, {"conversation": "c2"})
        refused = await _answered(socket, {"conversation": "c3"})
        assert (refused["event"], refused["data"]["status"]) == ("error", 429)
        refused = await _answered(socket, {"conversation": "c2"})
        assert (refused["event"], refused["data"]["status"]) == ("error", 409)
        assert (await _answered(socket, {"type": "unsubscribe", "conversation": "c1"}))["event"] == "unsubscribed"
        assert "event" not in await _answered(socket, {"conversation": "c3"})


async def test_what_is_no_longer_read_has_ended_before_that_is_said() -> None:
    """Nothing of the conversation follows, and whoever subscribes again at once is its only reader."""
    said = list[bytes]()
    shared: Any = SimpleNamespace(serving=SimpleNamespace(settings=SimpleNamespace(buffer_kib=64)))
    pipe: Any = SimpleNamespace(buffered=0, write=said.append)
    nothing: Any = None
    session, begun = WebSocketSession(shared, nothing, nothing, pipe, None), asyncio.Event()

    async def reading() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            pipe.write(b"the last frame")

    session._reads["c"] = asyncio.create_task(reading())
    await begun.wait()
    await session._handle_frame('{"type": "unsubscribe", "conversation": "c"}')
    assert [b"last" in each for each in said] == [True, False]
    assert (b"unsubscribed" in said[-1], session._reads) == (True, {})


async def test_frames_count_for_some_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that says something now and then is never a flood, however long it is open."""
    nothing: Any = None
    session = WebSocketSession(nothing, nothing, nothing, nothing, None)
    assert [session._is_flooded() for _ in range(FRAMES_PER_WINDOW + 1)][-2:] == [False, True]
    monkeypatch.setattr("tokenmill.gateway.websocket.session.WINDOW_S", -1)
    assert not any(session._is_flooded() for _ in range(2 * FRAMES_PER_WINDOW))


async def test_what_a_socket_reads_of_the_past_is_its_name_s(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many conversations that are: names take turns."""
    Token.valid, names, of = True, list[str](), LogReaders.of

    def noted(readers: LogReaders, name: str) -> ClientLogReader:
        names.append(name)
        return of(readers, name)

    monkeypatch.setattr(LogReaders, "of", noted)
    async with (
        stood(kafka, unique, Token()) as stand,
        stand.open("/v1/ws", additional_headers={"Authorization": "Bearer word"}) as socket,
    ):
        for conversation in ("c1", "c2"):
            await _answered(socket, {"conversation": conversation, "from": "start"})
    assert names == ["ann", "ann"]
