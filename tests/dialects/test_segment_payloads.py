"""The payloads of segments, as a client of the source system reads them."""

import json

from tokenmill.dialects import Envelope
from tokenmill.dialects.json_text import PIECE_CHARS
from tokenmill.dialects.segment_payloads import SegmentsState, begin, content, end, start
from tokenmill.events import MessageStart, Request


def test_the_shapes() -> None:
    """The kind stands in the start only; without metadata the payload is empty."""
    state, out = SegmentsState(), list[bytes]()
    start(state, "c1", "write_file", {"path": "/a"}, out)
    content("c1", "x", out)
    end(Envelope("c", "m", 0, 0), "c1", {"path": "/a"}, out)
    assert [json.loads(payload) for payload in out] == [
        {
            "type": "SEGMENT_START",
            "segment_id": "c1",
            "segment_type": "write_file",
            "payload": {"metadata": {"path": "/a"}},
        },
        {"type": "SEGMENT_CONTENT", "segment_id": "c1", "payload": {"delta": "x"}},
        {"type": "SEGMENT_END", "segment_id": "c1", "payload": {}},
    ]


def test_ids_count_starts() -> None:
    """Those of calls, too, which have ids of their own."""
    state, out = SegmentsState(), list[bytes]()
    envelope = Envelope("c", "m", 0, 0, MessageStart("", "plain", Request(id_prefix="p:")))
    start(state, "c1", "tool_call", {}, out)
    assert begin(state, envelope, "text", {}, out) == "p:seg_2"


def test_content_is_cut_to_what_a_record_holds() -> None:
    """And none is sent for nothing."""
    out = list[bytes]()
    content("c1", "", out)
    assert out == []
    content("c1", "x" * (PIECE_CHARS + 1), out)
    assert [len(json.loads(payload)["payload"]["delta"]) for payload in out] == [PIECE_CHARS, 1]
