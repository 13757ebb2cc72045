"""Random records of every codec: captured streams with something wrong, in bytes, in JSON, on their way, in headers.

1. Everything is drawn from a seed: the same number is the same log, on every machine.
2. Each codec takes its turn, raw SSE around it in every other one, so a codec is fuzzed as soon as it is in the list.
3. Logs are short, a few records of one or two streams: most of what breaks a reader breaks it soon.
"""

import json
import random
import re
from typing import Any, NamedTuple

from tests.properties.provider_logs import CAPTURED, JUNK, NATIVE_CHUNKS
from tokenmill.codecs import CODECS
from tokenmill.codecs.sse_stream import PREFIX
from tokenmill.partition.idle import LAST_OFFSET
from tokenmill.records import InputRecord

BLOCK = 2 * len(CODECS)
"""Seeds in which each codec has had its turn, bare and inside of SSE."""

RECORDS = 12
"""Of one stream."""

PIECES = [
    b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x00", b"\xef\xbb\xbf", b"{", b"}", b"[", b'"', b"\\", b"\\ud83d", b":", b",",
    b"\n", b"\r\n", b"\n\n", b"data:", b"data: ", b"event: error\n", b": ping\n", b"id: 1\n", b"[DONE]", b"null",
    b"NaN", b"1e999", b"<tool_call>", b"</tool_call>", b"<think>", b"</think>",
]  # fmt: skip

_DEEP = "\ue000deep"
_HUGE = "\ue000huge"
RAW = {f'"{_DEEP}"': '{"a":[' * 300 + "]}" * 300, f'"{_HUGE}"': "1e999"}
"""What no value of Python is written as, by what stands for it."""

VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, 2**53, 2**63, -(2**63) - 1, 10**30, 0.5, float("nan"), float("inf"), _HUGE,
    _DEEP, "", "a", "\x00", "\ud800", "\udc00a", "stop", "tool_calls", "error", "x" * 2000, [], [[]], {}, {"": None},
    [None, 1, "a", {}], {"type": "text"}, {"index": 99}, "{", '{"a": 1}', "<tool_call>", "text", "tool_use", "function",
]  # fmt: skip

OPENS = [
    b"", b"{", b"[]", b"{}", b'{"format":"hermes"}', b'{"format":["hermes","qwen3_xml"]}', b'{"format":5}', b'{"x":1}',
    b'{"stream_tool_input":true,"content_arguments":["*"]}', b'{"format":"plain","min_delta_chars":3}', b"\xff",
    b'{"min_delta_chars":99999999999999999999}', b'{"tools":[{"function":{"name":"f","parameters":{"type":7}}}]}',
]  # fmt: skip
CODEC_NAMES = [name.encode() for codec in CODECS for name in (codec.name, PREFIX + codec.name)]

HEADERS: dict[str, list[bytes]] = {
    "tm-codec": [*CODEC_NAMES, b"", b"nonsense", b"sse+", b"sse+sse+openai", b"\xff"],
    "tm-stream": [b"", b"s", b"\xff", b"s" * 2000],
    "tm-message-id": [b"", b"m1", b"m2", b"\xff", b"m" * 2000],
    "tm-open": OPENS,
    LAST_OFFSET: [b"", b"0", b"5", b"-1", b"99999999999999999999", b"x", b"\xff"],
    "traceparent": [b"00-" + b"1" * 32 + b"-" + b"2" * 16 + b"-01", b"00", b"\xff"],
    "content-type": [b"application/json", b"application/msgpack", b"text/event-stream"],
}
KEYS = [b"c1", b"c1", b"c1", b"c2", b"c1\x00", b"\xff", b"", None, b"k" * 2000]

_JSON = re.compile(rb"\{.*\}", re.DOTALL)


class Stream(NamedTuple):
    """One producer's records."""

    codec: str
    values: list[bytes | None]


def _events(codec: str) -> list[bytes]:
    """What a record of a codec has, for each record of the captured stream."""
    (path,) = CAPTURED.glob(f"{codec}.*")
    raw = path.read_bytes()
    if path.suffix == ".txt":
        return [raw[at : at + 9] for at in range(0, len(raw), 9)]
    return [event for event in raw.split(b"\n\n" if path.suffix == ".sse" else b"\n") if event.strip()]


EVENTS = {codec.name: _events(codec.name) for codec in CODECS}


def log_of(seed: int) -> list[InputRecord]:
    """The records of this seed, in the order of their offsets."""
    dice = random.Random(f"records {seed}")
    records = _lane(dice, seed)
    if dice.random() < 0.2:
        records = _between(dice, records, _lane(dice, dice.randrange(BLOCK)))
    offset, log = 0, []
    for record in records:
        log.append(InputRecord("tokens", 0, offset, 1_000 + offset, record.key, record.value, record.headers))
        offset += dice.choice((1, 1, 1, 2, 9))
    return log


class _Record(NamedTuple):
    """A record before it has an offset."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]]


def _lane(dice: random.Random, seed: int) -> list[_Record]:
    """A stream, spoiled, as records."""
    codec = CODECS[seed % len(CODECS)].name
    wrapped = bool(seed // len(CODECS) % 2)
    events = EVENTS[codec]
    begin = 0 if dice.random() < 0.7 else dice.randrange(len(events))
    window = list(events[begin : begin + dice.randint(1, RECORDS)])
    for _ in range(dice.choice((0, 1, 1, 2, 3))):
        _spoil(dice, window, codec)
    values: list[bytes | None] = [*_cut(dice, window)] if wrapped else [*window]
    if dice.random() < 0.1:
        values.append(dice.choice((None, b"")))
    headers = [("tm-codec", (PREFIX if wrapped else "").encode() + codec.encode())]
    headers += [(name, dice.choice(HEADERS[name])) for name in ("tm-message-id", "tm-open") if dice.random() < 0.2]
    records = [_Record(b"c1", value, headers) for value in values]
    while dice.random() < 0.3:
        _misplace(dice, records)
    return records


def _between(dice: random.Random, one: list[_Record], other: list[_Record]) -> list[_Record]:
    """Two producers' records, as they come."""
    records = list(one)
    at = 0
    for record in other:
        at = dice.randint(at, len(records))
        records.insert(at, record)
        at += 1
    return records


def _cut(dice: random.Random, events: list[bytes]) -> list[bytes]:
    """The events as raw SSE, cut anywhere."""
    framed = (event if event.startswith((b"data:", b"event:", b"id:")) else b"data: " + event for event in events)
    raw = b"".join(event + dice.choice((b"\n\n", b"\n\n", b"\r\n\r\n")) for event in framed)
    longest = max(1, len(raw) // dice.randint(1, RECORDS))
    pieces, at = [], 0
    while at < len(raw):
        size = dice.randint(1, 2 * longest)
        pieces.append(raw[at : at + size])
        at += size
    return pieces[: 2 * RECORDS]


# In the values


def _spoil(dice: random.Random, events: list[bytes], codec: str) -> None:
    """One mistake in one of the events, or in their order."""
    if not events:
        return
    at = dice.randrange(len(events))
    match dice.choice(("json", "json", "json", "json", "bytes", "bytes", "lose", "repeat", "swap", "other", "junk")):
        case "json":
            events[at] = _in_json(dice, events[at])
        case "bytes":
            events[at] = _in_bytes(dice, events[at])
        case "lose":
            del events[at]
        case "repeat":
            events.insert(at, events[at])
        case "swap":
            events.insert(dice.randrange(len(events)), events.pop(at))
        case "other":
            events[at] = dice.choice(EVENTS[dice.choice([name for name in EVENTS if name != codec])])
        case "junk":
            events.insert(at, dice.choice(JUNK) or b"")


def _in_bytes(dice: random.Random, value: bytes) -> bytes:
    begin = dice.randint(0, len(value))
    end = min(len(value), begin + dice.choice((0, 1, 2, 8, 40)))
    kind = dice.random()
    if kind < 0.3:
        return value[:begin] + dice.choice(PIECES) + value[end:]
    if kind < 0.5:
        return value[:begin] + value[end:]
    if kind < 0.7:
        return value[:begin] + bytes(byte ^ 1 << dice.randrange(8) for byte in value[begin:end]) + value[end:]
    return value[:begin] if kind < 0.85 else value[:end] + value[begin:]


def _in_json(dice: random.Random, value: bytes) -> bytes:
    """One value of the event's object is another one, is gone, is there twice, or has another name."""
    found = _JSON.search(value)
    try:
        tree = json.loads(found.group()) if found else None
    except ValueError:
        return _in_bytes(dice, value)
    if not found or not tree:
        return _in_bytes(dice, value)
    parent, key = dice.choice(_places(tree))
    match dice.choice(("other", "other", "other", "lose", "twice", "rename")):
        case "other":
            parent[key] = dice.choice(VALUES)
        case "lose":
            del parent[key]
        case "twice" if isinstance(parent, list):
            parent.insert(key, parent[key])
        case _ if isinstance(parent, dict):
            parent[dice.choice(("index", "type", "id", "delta", "text", "", key + "x"))] = parent.pop(key)
    text = json.dumps(tree, ensure_ascii=dice.random() < 0.7)
    for written, raw in RAW.items():
        text = text.replace(json.dumps(json.loads(written)), raw).replace(written, raw)
    return value[: found.start()] + text.encode(errors="surrogatepass") + value[found.end() :]


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """Every value in an object or a list, by what holds it and where."""
    places: list[tuple[Any, Any]] = []
    inside = [tree]
    while inside:
        parent = inside.pop()
        items = list(parent.items() if isinstance(parent, dict) else enumerate(parent))
        places += [(parent, key) for key, _ in items]
        inside += [value for _, value in items if isinstance(value, dict | list)]
    return places


# On their way


def _misplace(dice: random.Random, records: list[_Record]) -> None:
    """One mistake in what stands around a value."""
    if not records:
        return
    at = dice.randrange(len(records))
    record = records[at]
    match dice.choice(("header", "header", "key", "bare", "null", "native", "cancel")):
        case "header":
            name = dice.choice(list(HEADERS))
            records[at] = record._replace(headers=[*record.headers, (name, dice.choice(HEADERS[name]))])
        case "key":
            records[at] = record._replace(key=dice.choice(KEYS))
        case "bare":
            records[at] = record._replace(headers=[])
        case "null":
            records[at] = record._replace(value=dice.choice((None, b"")))
        case "native":
            records.insert(at, _Record(b"c1", dice.choice(NATIVE_CHUNKS), [("tm-codec", b"native")]))
        case "cancel":
            records.insert(at, _Record(b"c1", b'{"control":"cancel"}', [("tm-codec", b"native")]))
