"""Requests and frames that no client should send: nearly right ones with some bytes changed. Pure, by a seed."""

import random
import struct
from collections.abc import Sequence

PATHS = (
    "/v1/conversations/c/events",
    "/v1/conversations/c/events?from=start&until=finish",
    "/v1/conversations/c/events?from=message&dialect=openai&replay=folded",
    "/v1/conversations/%F0%9F%98%80%2F/events?from=0.00000000000000000002.00001~2",
    "/v1/conversations/c/messages/m/events",
    "/v1/conversations/c/ticket",
    "/v1/conversations/c/chunks",
    "/v1/conversations/c/chunks?codec=sse%2Bopenai&message_id=m",
    "/v1/conversations/c/stop",
    "/v1/conversations/c/tool-results",
    "/v1/streams/c?offset=-1",
    "/v1/streams/c?offset=now&live=long-poll",
    "/v1/streams/c?offset=0.00000000000000000002.00001~2&live=sse",
    "/api/chat/c/stream",
    "/ag-ui",
    "/v1/ws",
    "/",
)
HEADERS = (
    "accept: text/event-stream",
    "accept: application/x-ndjson",
    "content-type: application/json",
    "last-event-id: 0.00000000000000000001.00001~1",
    "origin: http://127.0.0.1",
    "origin: null",
    "content-length: 3",
    "content-length: -1",
    "transfer-encoding: chunked",
    "connection: upgrade",
    "upgrade: websocket",
    "sec-websocket-version: 13",
    "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==",
    "expect: 100-continue",
    "authorization: Bearer x",
    "range: bytes=0-1",
    "producer-id: p",
    "producer-epoch: 0",
    "producer-seq: 0",
    "content-encoding: gzip",
    "x-api-key: \xff\xfe",
)
BODIES = (
    b"",
    b"{}",
    b"abc",
    b'{"actions":["read"]}',
    b'{"delta":"x","message_id":"m"}\n{"finish_reason":"stop","message_id":"m"}\n',
    b'{"message_id":"m"}',
    b'{"threadId":"c","runId":"r","messages":[],"tools":[],"context":[],"state":{},"forwardedProps":{}}',
    b'{"id":"x","name":"t","message_id":"m","result":1}',
    b'data: {"choices":[{"delta":{"content":"x"}}]}\n\ndata: [DONE]\n\n',
    b"3\r\nabc\r\n0\r\n\r\n",
)
WORDS = (b"\x00", b"\r\n", b"\n", b"%00", b"%ff", b"%2e%2e", b"~", b"9" * 40, b"\xc3\x28", b"from=", b"a" * 20_000)

SAID = (
    b'{"conversation":"c","from":"start"}',
    b'{"type":"subscribe","conversation":"d","dialect":"openai","from":"now"}',
    b'{"type":"unsubscribe","conversation":"c"}',
    b'{"type":"stop","conversation":"c","message_id":"m"}',
    b'{"type":"tool_result","conversation":"c","id":"x","name":"t","message_id":"m","result":1}',
    b'{"conversation":"c","last_event_id":"0.00000000000000000001.00001~1"}',
    b"[" * 5_000,
    b'"x"',
    b"\xff\xfe",
    b"",
)
OPCODES = (1, 1, 1, 1, 0, 2, 8, 9, 9, 10, 3, 15)


def request(dice: random.Random) -> bytes:
    """One request as it goes over the wire."""
    method = dice.choice(["GET"] * 5 + ["POST"] * 4 + ["HEAD", "OPTIONS", "DELETE", "PATCH", "BREW"])
    headers = [*dice.sample(HEADERS, dice.randrange(4))]
    body = dice.choice(BODIES)
    headers += [f"content-length: {len(body)}"] if dice.random() < 0.5 else []
    host = [] if dice.random() < 0.05 else ["host: 127.0.0.1"]
    lines = [f"{method} {dice.choice(PATHS)} HTTP/1.{dice.choice('1110')}", *host, *headers]
    return mutated("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body, dice, WORDS)


def frames(dice: random.Random) -> bytes:
    """What a client of a WebSocket sends behind its handshake: some frames, whole or not."""
    sent = b"".join(frame(dice) for _ in range(dice.randrange(1, 6)))
    return mutated(sent, dice, (b"\x00", b"\xff", b"\x81", b"\x88\x80", b"x" * 200))


def frame(dice: random.Random) -> bytes:
    """One, masked as clients have to, with an opcode and flags that it may not have."""
    payload = dice.choice(SAID)
    payload = struct.pack(">H", dice.choice((1000, 1001, 1005, 1015, 4000, 9999))) if dice.random() < 0.1 else payload
    first = (0x80 if dice.random() < 0.9 else 0) | (0x40 if dice.random() < 0.03 else 0) | dice.choice(OPCODES)
    mask = dice.randbytes(4)
    masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))
    return bytes([first]) + _length(len(payload)) + mask + masked


def _length(size: int) -> bytes:
    return bytes([0x80 | size]) if size < 126 else struct.pack(">BH", 0x80 | 126, size)


def mutated(data: bytes, dice: random.Random, words: Sequence[bytes]) -> bytes:
    """Some bytes of it replaced, removed, doubled, cut off; or none."""
    for _ in range(dice.choice((0, 0, 1, 1, 2, 4))):
        at = dice.randrange(len(data) + 1)
        data = dice.choice(
            (
                data[:at] + dice.choice(words) + data[at:],
                data[:at] + bytes([dice.randrange(256)]) + data[at + 1 :],
                data[:at] + data[at + dice.randrange(1, 9) :],
                data[:at] + data[max(0, at - 20) :],
                data[:at] if dice.random() < 0.3 else data,
            )
        )
    return data
