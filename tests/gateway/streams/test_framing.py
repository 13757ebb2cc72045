"""Frames on a connection: one line of data whatever is in it, and ids that are read back."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.event_log import EventLog, frames_of, of, position_of, spoken
from tests.support.sse import Sse
from tokenmill.dialects import DIALECTS, Dialect, find_dialect
from tokenmill.dialects.native import NATIVE
from tokenmill.gateway.event_log.position import Position
from tokenmill.gateway.event_log.view import Frame
from tokenmill.gateway.streams.framing import LINES, SSE, Framing

NASTY = st.binary() | st.sampled_from(
    [
        b"\n\nid: 1\ndata: x",
        b"a\rb\r\nc",
        b'{"type":"a\nid: 9","x":1}',
        b'{"type":"',
        b"[DONE]",
        '{"type":"x","delta":"\u2028\u2029\x85"}'.encode(),
    ]
)


def frame(payload: bytes) -> Frame:
    return Frame(42, 1, 7, payload, b"m")


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_payloads_come_out_of_server_sent_events_as_they_went_in(dialect: Dialect) -> None:
    """Read as the HTML standard says, with the id of each and the name that the dialect's clients look for."""
    frames = frames_of(EventLog(of("c", spoken("m", "Hello,\n\n<b>wörld</b>\r"))).entries(), dialect)
    blocks = Sse().feed(b"".join(SSE.frame(dialect, 3, each) for each in frames))
    shown = [each for each in frames if each.payload]
    assert [block.data for block in blocks] == [each.payload.decode() for each in shown]
    assert [block.id for block in blocks] == [str(position_of(each)._replace(partition=3)) for each in shown]
    types = [msgspec.json.decode(each.payload).get("type", "message") for each in shown if each.payload[:1] == b"{"]
    if dialect.names_events:
        assert [block.event for block in blocks] == types


@given(NASTY, st.sampled_from([NATIVE, find_dialect("anthropic")]))
def test_no_payload_can_begin_a_field_an_event_or_a_line(payload: bytes, dialect: Dialect) -> None:
    """Whoever wrote it: it is the data of one event, or one line, or nothing."""
    text = SSE.frame(dialect, 0, frame(payload)).decode(errors="replace")
    blocks = Sse().feed(text.encode())
    assert len(blocks) <= 1
    assert text.count("\nid:") == text.count("\nretry:") == 0
    assert text.count("\n\n") == 1
    assert text.endswith("\n\n")
    assert "\r" not in text
    line = LINES.frame(dialect, 0, frame(payload))
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert b"\r" not in line


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_lines_are_json(dialect: Dialect) -> None:
    """With the payload as it is, or as a string where it is a word such as `[DONE]`."""
    frames = frames_of(EventLog(of("c", spoken("m", "Hello"))).entries(), dialect)
    lines = b"".join(LINES.frame(dialect, 3, each) for each in frames).splitlines()
    objects = [msgspec.json.decode(line) for line in lines]
    assert [each["id"] for each in objects] == [str(position_of(each)._replace(partition=3)) for each in frames]
    data = [each["data"] for each in objects if "data" in each]
    made = [each.payload for each in frames if each.payload]
    assert data == [msgspec.json.decode(p) if p[:1] == b"{" else p.decode() for p in made]


@pytest.mark.parametrize("framing", [SSE, LINES], ids=lambda framing: framing.name)
def test_a_frame_without_payload_is_an_id(framing: Framing) -> None:
    """It moves the client's place, and is no event to it."""
    position = Position(0, 42, 1, 7)
    assert framing.frame(NATIVE, 0, frame(b"")) == framing.opening(position)


def test_an_opening_moves_an_event_source_s_place_and_is_no_event() -> None:
    """If it is cut off before its first frame it comes back to the right place."""
    reader = Sse()
    assert reader.feed(SSE.opening(Position(0, 1, 0, 0))) == []
    assert reader.last_id == "0.00000000000000000001.00000~0"
    assert msgspec.json.decode(LINES.opening(Position(0, 1, 0, 0))) == {"id": "0.00000000000000000001.00000~0"}
    assert (Sse().feed(SSE.opening(None)), LINES.opening(None)) == ([], b"\n")


def test_what_the_gateway_has_to_say_itself_has_a_name_and_no_id() -> None:
    """Heartbeats and notices move nobody's place."""
    reader = Sse()
    (block,) = reader.feed(SSE.heartbeat + SSE.notice("gap", {"to": "\n"}) + SSE.goodbye(700))
    assert (block.event, msgspec.json.decode(block.data), block.id) == ("gap", {"to": "\n"}, "")
    assert reader.retry_ms == 700
    assert (reader.feed(SSE.pause(900)), reader.retry_ms, LINES.pause(900)) == ([], 900, b"")
    assert msgspec.json.decode(LINES.notice("gap", {"to": 1})) == {"event": "gap", "data": {"to": 1}}
    assert msgspec.json.decode(LINES.goodbye(700)) == {"event": "retry", "data": {"retry_ms": 700}}
    assert LINES.heartbeat == b"\n"


@pytest.mark.parametrize("framing", [SSE, LINES], ids=lambda framing: framing.name)
def test_no_proxy_may_collect_a_stream(framing: Framing) -> None:
    """Neither store nor compress it."""
    assert framing.headers["cache-control"] == "no-cache, no-transform"
    assert framing.headers["x-accel-buffering"] == "no"
    assert framing.headers["content-type"].endswith("; charset=utf-8")
