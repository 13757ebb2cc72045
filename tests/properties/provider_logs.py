"""Logs of what providers' streams become on their way: several on a partition, with records lost and repeated."""

from pathlib import Path
from typing import NamedTuple

from hypothesis import strategies as st

from tokenmill.codecs.sse_stream import PREFIX
from tokenmill.partition.idle import LAST_OFFSET, OPENED_BEFORE
from tokenmill.records import InputRecord

CAPTURED = Path(__file__).parents[1] / "cases" / "captured"

SSE_BYTES = 97
"""Of a record of raw SSE: events are cut somewhere else each time."""

NATIVE_CHUNKS = [
    b'{"delta":"x"}',
    b'{"message_id":"m2","delta":"x"}',
    b'{"open":{},"seq":0,"delta":"new"}',
    b'{"control":"cancel"}',
    b'{"control":"timeout"}',
    b'{"control":"cancel","message_id":"chatcmpl-1"}',
    b'{"control":"timeout","message_id":"msg_1"}',
    b'{"control":"cancel","message_id":"resp_1","choice":0}',
    b'{"end":true}',
]
"""What others send to the same conversation."""

JUNK = [b"{}", b"data: {", b"[1]", b"\xff", b'{"error":"x"}', b"\n\n", b"data: [DONE]\n\n", b"", None]


DAMAGES = ("lose", "repeat", "stop", "again", "junk", "native")


class Stream(NamedTuple):
    """One producer's records."""

    codec: str
    values: list[bytes | None]


def _captured(path: Path) -> list[Stream]:
    raw, name = path.read_bytes(), path.stem
    if path.suffix == ".txt":
        return [Stream(name, [raw[at : at + 9] for at in range(0, len(raw), 9)] + [None])]
    events = [event for event in raw.split(b"\n\n" if path.suffix == ".sse" else b"\n") if event.strip()]
    lines = b"".join((event if path.suffix == ".sse" else b"data: " + event) + b"\n\n" for event in events)
    cut: list[bytes | None] = [lines[at : at + SSE_BYTES] for at in range(0, len(lines), SSE_BYTES)]
    if name == "qwen_sse":
        return [Stream(name, cut)]
    return [Stream(name, list(events)), Stream(PREFIX + name, cut)]


STREAMS = [stream for path in sorted(CAPTURED.iterdir()) for stream in _captured(path)]


class _Lane(NamedTuple):
    """A stream on its way: its records' values and codecs, the key, and headers."""

    records: list[tuple[str, bytes | None]]
    key: bytes
    headers: list[tuple[str, bytes]]


@st.composite
def _lanes(draw: st.DrawFn) -> _Lane:
    codec, values = draw(st.sampled_from(STREAMS))
    records = [(codec, value) for value in values]
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(records)))
        match draw(st.sampled_from([*DAMAGES, LAST_OFFSET, LAST_OFFSET, OPENED_BEFORE])):
            case "lose":
                del records[at : at + 1]
            case "repeat":
                records[at:at] = records[at : at + 1]
            case "stop":
                del records[at:]
            case "again":
                records += records[at:]
            case "junk":
                records.insert(at, (codec, draw(st.sampled_from(JUNK))))
            case "native":
                records.insert(at, ("native", draw(st.sampled_from(NATIVE_CHUNKS))))
            case "tm-last-offset" | "tm-opened-before" as condition:
                records.insert(at, (condition, b""))
    headers = draw(st.sampled_from([[], [], [("tm-stream", b"s")]]))
    if codec.removeprefix(PREFIX) in ("text", "bedrock", "llama_cpp", "ollama", "ai_sdk_parts"):  # the others have ids
        headers = headers + draw(st.sampled_from([[], [("tm-message-id", b"m2")]]))
    return _Lane(records, draw(st.sampled_from([b"c1", b"c1", b"c2"])), [*headers, ("tm-codec", codec.encode())])


def _answers(lane: _Lane) -> tuple[bytes, bytes]:
    """Whose ids its answers have: no two streams of a conversation have the same."""
    return lane.key, lane.headers[-1][1].removeprefix(PREFIX.encode())


@st.composite
def provider_logs(draw: st.DrawFn) -> list[InputRecord]:
    """The lanes' records, some of one and then some of another; offsets have gaps."""
    lanes = draw(st.lists(_lanes(), min_size=1, max_size=3, unique_by=_answers))
    log: list[InputRecord] = []
    offset, last = 0, dict.fromkeys(map(_answers, lanes), 0)
    while lanes := [lane for lane in lanes if lane.records]:
        lane = lanes[draw(st.integers(0, len(lanes) - 1))]
        for _ in range(min(len(lane.records), draw(st.sampled_from([1, 1, 3, 20])))):
            codec, value = lane.records.pop(0)
            headers = lane.headers
            if codec in (LAST_OFFSET, OPENED_BEFORE):
                meant = [last[_answers(lane)], offset - 1, offset - 9]
                headers = [*headers, (codec, b"%d" % draw(st.sampled_from(meant)))]
            elif codec == "native":
                headers = [("tm-codec", b"native")]
            else:
                last[_answers(lane)] = offset
            log.append(InputRecord("tokens", 0, offset, 1_000 + offset, lane.key, value, headers))
            offset += draw(st.sampled_from([1, 1, 1, 2, 7]))
    return log
