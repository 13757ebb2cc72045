"""Frames of Durable Streams: `gateway/routes/durable_framing.py`."""

import json

from tokenmill.dialects import find_dialect
from tokenmill.gateway.event_log.position import Position
from tokenmill.gateway.event_log.view import Frame
from tokenmill.gateway.routes.durable_framing import DurableEvents, array, data

FRAMES = [Frame(7, 1, 3, b'{"a":1}', b"m"), Frame(7, 2, 3, b"[DONE]", b"m")]


def test_payloads_are_values_of_an_array() -> None:
    """Words that are no JSON are strings."""
    assert json.loads(array(FRAMES)) == [{"a": 1}, "[DONE]"]
    assert array([]) == b"[]"


def test_a_frame_without_a_payload_only_leads_somewhere() -> None:
    """It ends a message in a dialect that has no words for that: no client gets a value that no dialect wrote."""
    end = Frame(8, 1, 3, b"", b"m", last=True)
    assert array([*FRAMES, end]) == array(FRAMES)
    assert (array([end]), data([end])) == (b"[]", b"")
    events = DurableEvents("5", up_to_date=True)
    assert events.frame(find_dialect("native"), 2, end) == events.control(end.id(2))


def test_every_frame_says_where_it_leads() -> None:
    """The offset behind it; whether that is the head is the framing's to say."""
    frame = DurableEvents("5", up_to_date=False).frame(find_dialect("native"), 2, FRAMES[0])
    values, control, rest = frame.split(b"\n\n")
    assert (values, rest) == (b'event: data\ndata:[{"a":1}]', b"")
    fields = json.loads(control.removeprefix(b"event: control\ndata:"))
    assert fields == {"streamNextOffset": str(Position(2, 7, 1, 3)), "streamCursor": "5"}


def test_the_end_has_no_cursor() -> None:
    """Nobody comes back behind it."""
    control = DurableEvents("5", up_to_date=True).control(Position(2, 7, 1, 3), closed=True)
    fields = json.loads(control.removeprefix(b"event: control\ndata:"))
    assert fields == {"streamNextOffset": str(Position(2, 7, 1, 3)), "streamClosed": True, "upToDate": True}


def test_where_something_is_missing_a_control_says_so() -> None:
    """Clients see no comments. It leads where the client is, which is not the head where it comes alone."""
    events, place = DurableEvents("5", up_to_date=True), Position(2, 7, 1, 3)
    alone, behind = events.notice("gap", {"to": str(place)}), events.control(place, gap=True)
    fields = [json.loads(said.removeprefix(b"event: control\ndata:")) for said in (alone, behind)]
    missing = {"streamNextOffset": str(place), "streamCursor": "5", "tmGap": True}
    assert fields == [missing, missing | {"upToDate": True}]


def test_all_else_is_a_comment() -> None:
    """Clients of the protocol know two events."""
    events = DurableEvents("5", up_to_date=True)
    assert all(each[:1] == b":" for each in (events.heartbeat, events.notice("error", {})))
    assert events.opening(Position(0, 1, 0, 0)) == b""
    assert events.goodbye(7) == b"retry: 7\n\n"
    assert (events.name, events.headers["content-type"]) == ("durable", "text/event-stream")
