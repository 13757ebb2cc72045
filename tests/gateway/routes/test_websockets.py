"""Events over WebSockets: `gateway/routes/websockets.py`, with `websockets` as client."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.support.gateways import answer
from tests.support.sockets import HANDSHAKE, Stand, Token, data_of, heard, stood, wanted
from tests.support.stage import until
from tests.support.written import PARTITION

pytestmark = pytest.mark.integration


@pytest.fixture
async def stand(kafka: str, unique: str) -> AsyncIterator[Stand]:
    """Everybody may do everything."""
    async with stood(kafka, unique) as stand:
        yield stand


@pytest.fixture
async def guarded(kafka: str, unique: str) -> AsyncIterator[Stand]:
    """Only who says the word may read."""
    Token.valid = True
    async with stood(kafka, unique, Token()) as stand:
        yield stand


@pytest.mark.parametrize("dialect", ["native", "openai", "ai_sdk_ui"])
async def test_an_answer_comes_to_its_end(stand: Stand, dialect: str) -> None:
    """What is there, and what comes; then 1000."""
    records = answer("c", "m", ["Hel", "lo"])
    await stand.gate.say(records[:3])
    async with stand.open(f"/v1/conversations/c/ws?dialect={dialect}&from=start&until=finish") as socket:
        await stand.gate.attended()
        await stand.gate.say(records[3:])
        messages, code = await heard(socket)
    assert (data_of(messages), code) == (wanted(records, dialect), 1000)


async def test_a_client_goes_on_behind_every_frame(stand: Stand) -> None:
    """With the id of the message that it had last; behind the end there is nothing."""
    records = answer("c", "m", ["a", "b", "c"])
    await stand.gate.say(records)
    async with stand.open("/v1/conversations/c/ws?from=start&until=finish") as socket:
        messages, _ = await heard(socket)
    frames = [each for each in messages if "data" in each]
    for number, frame in enumerate(frames, 1):
        async with stand.open("/v1/conversations/c/ws") as socket:
            await socket.send(json.dumps({"last_event_id": frame["id"], "until": "finish"}))
            rest, code = await heard(socket)
        assert (data_of(rest), code) == (data_of(frames[number:]), 1000)


async def test_a_socket_reads_several_conversations(stand: Stand) -> None:
    """Each with its own place, and says of which each message is."""
    one, two = answer("c1", "m", ["a", "b"]), answer("c2", "m", ["c", "d"])
    await stand.gate.say([*one, *two[:3]])
    async with stand.open("/v1/ws") as socket:
        for conversation in ("c1", "c2"):
            frame = {"type": "subscribe", "conversation": conversation, "from": "start", "until": "finish"}
            await socket.send(json.dumps(frame))
        await stand.gate.attended()
        await stand.gate.say(two[3:])
        messages: list[dict[str, Any]] = []
        while [each.get("event") for each in messages].count("finished") < 2:
            messages.append(json.loads(await socket.recv()))
        assert data_of(messages, "c1") == wanted(one, "native")
        assert data_of(messages, "c2") == wanted(two, "native")
        await socket.send(json.dumps({"type": "subscribe", "conversation": "c1", "from": "start"}))
        again = [json.loads(await socket.recv()) for _ in range(len(one) + 1)]
        assert data_of(again, "c1") == wanted(one, "native")


async def test_what_is_no_longer_read_is_silent(stand: Stand) -> None:
    """Until it is asked for again."""
    async with stand.open("/v1/ws") as socket:
        await socket.send('{"conversation": "c1"}')
        await stand.gate.attended()
        await socket.send('{"type": "unsubscribe", "conversation": "c1"}')
        await socket.send('{"type": "unsubscribe", "conversation": "c1"}')
        messages = [json.loads(await socket.recv()) for _ in range(3)]
        assert [each.get("event") for each in messages] == [None, "unsubscribed", "error"]
        assert "is not subscribed to here" in messages[2]["data"]["detail"]
        await until(lambda: not stand.gate.serving.flusher.streams, "nothing is read")


async def test_what_a_client_says_is_written(stand: Stand) -> None:
    """And answered; a refusal of it does not end the socket."""
    async with stand.open("/v1/conversations/c/ws?from=now") as socket:
        await socket.send('{"type": "stop", "message_id": "m"}')
        await socket.send('{"type": "stop"}')
        await socket.send('{"type": "tool_result", "id": "call", "name": "t", "result": 1}')
        answers = [each for each in [json.loads(await socket.recv()) for _ in range(4)] if "event" in each]
    assert [each["event"] for each in answers] == ["stop", "error", "tool_result"]
    assert (answers[0]["data"], answers[2]["data"]) == ({"message_id": "m"}, {"partition": PARTITION, "offset": 1})
    stop, result = stand.written.records
    assert (stop.key, stop.chunk) == (b"c", {"conversation_id": "c", "message_id": "m", "control": "cancel"})
    assert (result.key, result.chunk["id"], result.chunk["result"]) == (b"c", "call", 1)


async def test_what_a_client_of_several_conversations_says_is_written(stand: Stand) -> None:
    """Under the one that the frame names; the name is no part of what is said."""
    async with stand.open("/v1/ws") as socket:
        await socket.send('{"type": "stop", "conversation": "c1", "message_id": "m"}')
        await socket.send('{"type": "tool_result", "conversation": "c2", "id": "call", "name": "t", "result": 1}')
        answers = [json.loads(await socket.recv()) for _ in range(2)]
    assert [(each["event"], each["conversation"]) for each in answers] == [("stop", "c1"), ("tool_result", "c2")]
    stop, result = stand.written.records
    assert (stop.key, stop.chunk) == (b"c1", {"conversation_id": "c1", "message_id": "m", "control": "cancel"})
    assert (result.key, result.chunk["conversation_id"], result.chunk["id"]) == (b"c2", "c2", "call")


async def test_a_socket_of_one_conversation_says_nothing_of_another(stand: Stand) -> None:
    """It may name its own."""
    result = {"type": "tool_result", "id": "call", "name": "t", "result": 1}
    async with stand.open("/v1/conversations/c/ws?from=now") as socket:
        for conversation in ("d", "c"):
            for said in ({"type": "stop", "message_id": "m"}, result):
                await socket.send(json.dumps({**said, "conversation": conversation}))
        answers = [each for each in [json.loads(await socket.recv()) for _ in range(5)] if "event" in each]
    assert [each["event"] for each in answers] == ["error", "error", "stop", "tool_result"]
    assert all("for one conversation" in each["data"]["detail"] for each in answers[:2])
    assert [record.key for record in stand.written.records] == [b"c", b"c"]


async def test_only_who_may_read_is_let_in(guarded: Stand) -> None:
    """By a header, or by the first frame, as browsers have to."""
    await guarded.gate.say(answer("c", "m", ["a"]))
    async with guarded.open("/v1/conversations/c/ws?from=start") as socket:
        messages, code = await heard(socket)
        assert (messages[0]["data"]["status"], code) == (401, 1008)
    options = {"additional_headers": {"authorization": "Bearer word"}}
    async with guarded.open("/v1/conversations/c/ws?from=start&until=finish", **options) as socket:
        assert (await heard(socket))[1] == 1000
    async with guarded.open("/v1/conversations/c/ws") as socket:
        await socket.send('{"authorization": "Bearer word", "from": "start", "until": "finish"}')
        assert (await heard(socket))[1] == 1000
    async with guarded.open("/v1/ws") as socket:
        await socket.send('{"authorization": "Bearer word", "conversation": "c"}')
        await guarded.gate.attended()
        await socket.send('{"type": "subscribe", "conversation": "d"}')
        await socket.send('{"type": "tool_result", "conversation": "c"}')
        messages = [json.loads(await socket.recv()) for _ in range(3)]
        assert [each["data"]["status"] for each in messages[1:]] == [403, 403]
        Token.valid = False
        assert (await heard(socket))[1] == 1008


async def test_sockets_are_told_that_the_process_ends(stand: Stand) -> None:
    """And when to come back: those that read, and those that do not yet."""
    async with stand.open("/v1/conversations/c/ws?from=now") as one, stand.open("/v1/ws") as two:
        await stand.gate.attended()
        for stream in stand.gate.serving.flusher.streams:
            stream.end("drained")
        told = [await heard(one)]
        await stand.sockets.shutdown(None)  # type: ignore[arg-type] # -- it asks nothing of the application
        told.append(await heard(two))
    for messages, code in told:
        assert (messages[-1]["event"], code) == ("retry", 1001)
        assert 500 <= messages[-1]["data"]["retry_ms"] <= 5_000


@pytest.mark.parametrize("header", [b"Sec-WebSocket-Key: \xd7", b"Sec-WebSocket-Version: \xff", b"Upgrade: \xd7"])
async def test_a_handshake_with_other_bytes_than_letters_is_none(stand: Stand, header: bytes) -> None:
    """It is refused as any other request that is none."""
    name = header.partition(b":")[0]
    lines = [header if line.startswith(name) else line for line in HANDSHAKE.split(b"\r\n")]
    reader, writer = await asyncio.open_connection("127.0.0.1", stand.gate.port)
    writer.write(b"\r\n".join(lines))
    async with asyncio.timeout(20):
        assert b" 400 " in await reader.readline()
    writer.close()
    await writer.wait_closed()


async def test_an_address_of_sockets_says_so(stand: Stand) -> None:
    """To whoever asks it over plain HTTP."""
    async with httpx.AsyncClient(base_url=stand.gate.url) as client:
        refused = await client.get("/v1/ws")
    assert refused.status_code == 400
    assert "WebSocket" in refused.json()["detail"]
