"""Framing of server-sent events."""

import json

import msgspec
import pytest

from tests.support.parsing import all_cuts
from tokenmill.codecs.sse import BARE_CHARS, EVENT_BYTES, Frame, Framing, whole_events


def is_object(data: str) -> bool:
    """As a JSON reader judges it."""
    try:
        return isinstance(json.loads(data), dict)
    except ValueError:
        return False


def frames(*pieces: bytes, eager: bool = False) -> list[Frame]:
    """The events of a stream that arrives in these pieces; the state is encoded and decoded between them."""
    framing, out = Framing(), list[Frame]()
    for piece in pieces:
        out += framing.feed(piece, whole=is_object) if eager else framing.feed(piece)
        framing = msgspec.msgpack.decode(msgspec.msgpack.encode(framing), type=Framing)
    out += framing.feed(b"", whole=is_object, last=True) if eager else framing.feed(b"", last=True)
    assert framing == Framing()
    return out


STREAM = (
    b": ping\r\n\r\nevent: one\r\ndata: caf\xc3\xa9 \xf0\x9f\x98\x80\r\ndata:second\r\n\r\n"
    b"data\n\ndata:  two spaces\nid: 7\nretry: 5\nnonsense\n\n\revent: lost\r\rdata: a\rdata: b\r\rdata: last"
)
EVENTS = [
    Frame("one", "café 😀\nsecond"),
    Frame("", ""),
    Frame("", " two spaces"),
    Frame("", "a\nb"),
    Frame("", "last"),
]


def test_events_come_out_of_any_cut() -> None:
    """Inside characters, line ends, names of fields: the same events."""
    assert frames(STREAM) == EVENTS
    for cut in all_cuts(STREAM.decode("latin-1")):
        assert frames(*(piece.encode("latin-1") for piece in cut)) == EVENTS


def test_an_event_comes_out_with_its_blank_line() -> None:
    """Not before, as it may go on; what was sent is not kept."""
    framing = Framing()
    assert list(framing.feed(b"data: a\n")) == []
    assert list(framing.feed(b"\n")) == [Frame("", "a")]
    assert framing == Framing()


def test_a_reader_that_knows_its_events_needs_no_blank_line() -> None:
    """Servers leave it out; data over several lines still counts as one event."""
    framing = Framing()
    assert list(framing.feed(b'data: {"a":1}\ndata:{"b":2}\n', whole=is_object)) == [
        Frame("", '{"a":1}'),
        Frame("", '{"b":2}'),
    ]
    assert framing == Framing()
    assert frames(b'event: e\ndata: {"a":\ndata: 1}\n\n', eager=True) == [Frame("e", '{"a":\n1}')]


def test_junk_gives_way_to_the_next_event() -> None:
    """With its blank line it is returned for the reader to judge; without one it is dropped."""
    assert frames(b'data: {oops}\n\ndata: {"a":1}\n', eager=True) == [Frame("", "{oops}"), Frame("", '{"a":1}')]
    assert frames(b'data: {oops}\ndata: {"a":1}\n', eager=True) == [Frame("", '{"a":1}')]


def test_a_line_that_is_no_sse_comes_out_as_it_stands() -> None:
    """Servers answer with plain JSON where something is wrong."""
    assert frames(b'{"error": "x"}\ndata: a\n\n[1]') == [
        Frame("", '{"error": "x"}', bare=True),
        Frame("", "a"),
        Frame("", "[1]", bare=True),
    ]


PRETTY = '{\n  "error": {\n    "code": 503,\n    "tries": [\n      1\n    ]\n  }\n}'


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (f"data: a\n\n{PRETTY}\ndata: b\n\n", ["a", PRETTY, "b"]),
        (f"[{PRETTY}\n]\n", [f"[{PRETTY}\n]"]),
        ('{"a":\n1}\n{"b":2}\n{"c":\n3}\n', ['{"a":\n1}', '{"b":2}', '{"c":\n3}']),
        ('{oops\n{"a":1}\n', ["{oops", '{"a":1}']),
        ("{oops\n: a comment\ndata: a\n\n", ["{oops", "a"]),
        ("{oops\n\n{oops", ["{oops", "{oops"]),
    ],
)
def test_json_over_several_lines_comes_out_in_one_piece(stream: str, expected: list[str]) -> None:
    """Some servers write errors this way; lines that are not JSON wait for the next line of another kind."""
    assert [frame.data for frame in frames(stream.encode())] == expected
    for cut in all_cuts(stream):
        assert [frame.data for frame in frames(*(piece.encode() for piece in cut))] == expected


def test_json_that_does_not_end_is_bounded() -> None:
    """P8: it comes out as it is; lines that may be its last are read again and again, so it is short."""
    framing = Framing()
    lines = b'{"a": [\n' + b'"x",\n}\n' * BARE_CHARS
    out = [frame for at in range(0, len(lines), 500) for frame in framing.feed(lines[at : at + 500])]
    assert out[0].data is not None
    assert BARE_CHARS < len(out[0].data) < 2 * BARE_CHARS
    assert len(msgspec.msgpack.encode(framing)) < 2 * BARE_CHARS


def test_a_byte_order_mark_and_bytes_that_are_no_text_do_no_harm() -> None:
    """The first is skipped, the others are replaced."""
    assert frames(b"\xef\xbb\xbfdata: a\xff\n\n") == [Frame("", "a\ufffd")]


LONG = b"data: " + b"x" * EVENT_BYTES


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (LONG + b"\ndata: more\n\ndata: a\n\n", [Frame("", None), Frame("", "a")]),
        (b"data: b\n" * (EVENT_BYTES // 7 + 1) + b"\ndata: a\n\n", [Frame("", None), Frame("", "a")]),
        (LONG + b'\ndata: {"a":1}\n', [Frame("", None), Frame("", '{"a":1}')]),
        (LONG, [Frame("", None)]),
        (LONG[:EVENT_BYTES] + b"\n\n", [Frame("", "x" * (EVENT_BYTES - 6))]),
    ],
    ids=["line", "lines", "without blank lines", "at the end", "just fits"],
)
def test_what_waits_is_bounded(stream: bytes, events: list[Frame]) -> None:
    """P8: an event over the cap is reported, and later ones are not lost, wherever the stream is cut."""
    assert frames(stream, eager=True) == events
    for size in (40_961, EVENT_BYTES - 1):
        pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
        assert frames(*pieces, eager=True) == events
        framing = Framing()
        for piece in pieces:
            list(framing.feed(piece, whole=is_object))
            assert len(msgspec.msgpack.encode(framing)) < EVENT_BYTES + 100


def test_nothing_is_left_behind_a_last_line_that_ends_with_cr() -> None:
    """Its LF will no longer come; leftover state would hold back the log forever."""
    assert frames(b"data: a\r") == [Frame("", "a")]


@pytest.mark.parametrize(
    "value",
    [
        b'data: {"a":1}\n\n',
        b'data: {"a":1}\n\ndata: {"a":2}\n\ndata: [DONE]\n\n',
        b"data: \n\n",
        b"data:  two spaces \n\n",
        "data: na\u00efve \ufeff\n\n".encode(),
        b"data: " + b"x" * (EVENT_BYTES - 8) + b"\n\n",
    ],
)
def test_whole_events_are_what_the_framing_makes_of_them(value: bytes) -> None:
    """The short way and the long one."""
    framing = Framing()
    found = whole_events(value)
    assert found is not None
    assert [Frame("", data.decode()) for data in found] == list(framing.feed(value))
    assert framing == Framing()


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"\n\n",
        b"data: x\n",
        b"data: x\r\n\r\n",
        b"data: x\r\n\n",
        b"data: x\ndata: y\n\n",
        b"data: x\n\n: comment\n\n",
        b"data: x\n\n\n\n",
        b"data: x\n\ndata: y",
        b"data:x\n\n",
        b"event: e\ndata: x\n\n",
        b"data: \xff\n\n",
        b"data: " + b"x" * EVENT_BYTES + b"\n\n",
    ],
)
def test_anything_else_is_left_to_the_framing(value: bytes | None) -> None:
    """Which knows what to do."""
    assert whole_events(value) is None
