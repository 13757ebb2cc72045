"""From records to chunks."""

from collections.abc import Sequence
from hashlib import sha256

import pytest
from msgspec import UNSET

from tests.partition.logs import record
from tokenmill.codecs import CODECS, Chunk
from tokenmill.errors import BadKey, RecordError, TooLarge, Undecodable, UnknownCodec
from tokenmill.limits import KEY_BYTES
from tokenmill.partition.intake import Intake, names_each
from tokenmill.partition.low_water import LowWater
from tokenmill.partition.tally import Tally
from tokenmill.records import InputRecord, Record


def intake(codec: str = "native", record_bytes: int = 1_000) -> Intake:
    """An intake with nothing kept."""
    return Intake(codec, record_bytes, LowWater(), Tally())


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (record(0, {"delta": "a"}, key=None), BadKey),
        (record(0, {"delta": "a"}, key=b""), BadKey),
        (record(0, {"delta": "a"}, key=b"k" * (KEY_BYTES + 1)), BadKey),
        (record(0, b'"' + b"x" * 999 + b'"'), TooLarge),
        (record(0, {"delta": "a"}, tm_codec="nonsense"), UnknownCodec),
        (record(0, {"delta": "a"}, tm_stream="s" * (KEY_BYTES + 1)), Undecodable),
        (record(0, b"{"), Undecodable),
        (record(0, None), Undecodable),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_record_that_cannot_be_used_is_refused(bad: object, error: type[RecordError]) -> None:
    """With the error that names the reason."""
    with pytest.raises(error):
        intake().read(bad)  # type: ignore[arg-type] # the parameters are of two types


def test_records_and_keys_of_exactly_the_limit_are_read() -> None:
    """The limit itself is allowed."""
    value = b'{"delta":"' + b"x" * 988 + b'"}'
    longest = record(0, value, key=b"k" * KEY_BYTES, tm_stream="s" * KEY_BYTES)
    chunks, _ = intake(record_bytes=len(value)).read(longest)
    assert chunks[0].delta == "x" * 988


def test_a_codec_by_header_is_used_for_that_record_only() -> None:
    """What the text codec keeps does not reach a native record in between."""
    reads = intake("text")
    assert [chunk.delta for chunk in reads.read(record(0, b"a\xe2\x82"))[0]] == ["a"]
    assert [chunk.delta for chunk in reads.read(record(1, {"delta": "b"}, tm_codec="native"))[0]] == ["b"]
    assert [chunk.delta for chunk in reads.read(record(2, b"\xac"))[0]] == ["\N{EURO SIGN}"]


def test_state_is_kept_for_each_key_and_stream() -> None:
    """Two streams of a conversation, and two conversations, do not mix."""
    reads = intake("text")
    cases = [(b"a", ""), (b"b", ""), (b"a", "s"), (b"b", "s")]
    for offset, (key, stream) in enumerate(cases):
        reads.read(record(offset, b"\xe2\x82", key, tm_stream=stream))
    for offset, (key, stream) in enumerate(cases, 10):
        chunks, root = reads.read(record(offset, b"\xac", key, tm_stream=stream))
        assert chunks[0].delta == "\N{EURO SIGN}"
        assert root is not None
        assert root.offset == offset - 10


def test_kept_state_holds_the_low_water_mark_back() -> None:
    """From the record that began it until no state is left."""
    low_water = LowWater()
    reads = Intake("text", 1_000, low_water, Tally())
    marks = []
    for offset, value in enumerate((b"a", b"\xe2", b"\x82", b"\xac", b"a"), 5):
        reads.read(record(offset, value))
        marks.append(low_water.at(offset + 1))
    assert marks == [6, 6, 6, 9, 10]


def test_an_idle_stream_ends_where_its_writer_saw_the_last_of_it() -> None:
    """With what its codec holds; the message ends by a time-out, as nobody said that it was complete."""
    low_water = LowWater()
    reads = Intake("text", 1_000, low_water, Tally())
    reads.read(record(0, b"a\xe2", tm_stream="s", tm_message_id="m"))
    (stream,) = reads
    end = stream.timeout()
    headers = {name.replace("-", "_"): value.decode() for name, value in end.headers}
    assert headers == {"tm_codec": "text", "tm_stream": "s", "tm_message_id": "m", "tm_last_offset": "0"}
    (chunk,), _ = reads.read(record(1, end.value, end.key, **headers))
    assert (chunk.message_id, chunk.delta, chunk.control, chunk.end) == (
        "m",
        "\N{REPLACEMENT CHARACTER}",
        "timeout",
        UNSET,
    )
    assert (list(reads), low_water.at(2), stream.going_on()) == ([], 2, False)


def test_the_end_of_a_stream_is_stale_if_it_goes_on() -> None:
    """What came between was not idle; nor is there anything to end where nothing is remembered."""
    reads = intake("text")
    late = record(2, None, tm_last_offset="0")
    for offset, value in enumerate((b"\xe2", b"\x82")):
        reads.read(record(offset, value))
    assert reads.read(late) == ((), None)
    assert [chunk.delta for chunk in reads.read(record(3, b"\xac"))[0]] == ["\N{EURO SIGN}"]
    assert reads.read(late) == ((), None)
    assert reads.tally.dropped == {"stale-timeout": 1, "no-message": 1}


def test_an_idle_stream_ends_whatever_is_wrong_with_its_headers() -> None:
    """Its end repeats the last record's header, which may not be a valid id: otherwise it would be kept forever."""
    reads = intake("sse+ollama")
    reads.read(record(0, b'data: {"mess'))
    reads.read(InputRecord("tokens", 0, 1, 0, b"c", b'age":', [("tm-message-id", b"\xff")]))
    (kept,) = reads.begun()
    end = kept.timeout()
    chunks, _ = reads.read(InputRecord("tokens", 0, 2, 0, end.key, end.value, list(end.headers)))
    assert (list(chunks), list(reads)) == ([], [])


def test_an_answer_that_says_how_it_ended_did_not_time_out() -> None:
    """Its last line had no line end: read at the end of the stream, it is complete."""
    reads = intake()
    value = b'data: {"message":{"content":"a"},"done":true,"done_reason":"stop"}'
    assert reads.read(record(0, value, tm_codec="sse+ollama")) == ([], None)
    chunks, _ = reads.read(record(1, None, tm_codec="sse+ollama", tm_last_offset="0"))
    assert [(chunk.delta, chunk.end, chunk.control) for chunk in chunks] == [("a", UNSET, None), ("", True, None)]


def test_no_replay_begins_in_a_stream_that_could_not_be_read() -> None:
    """A record came twice and tore an event; a replay without its beginning would take the torn one for sound."""
    low_water = LowWater()
    reads = Intake("sse+native", 1_000, low_water, Tally())
    for offset, value in enumerate((b'data: {"delta":', b'data: {"delta":', b'"a"}\n\n', b"data"), 3):
        chunks, _ = reads.read(record(offset, value))
        if offset == 4:
            low_water.hold(low_water.root(4))
    assert low_water.spans == {}
    chunks, _ = reads.read(record(7, b': {"delta":\n\ndata: {'))
    assert [chunk.error is not None for chunk in chunks] == [True]
    assert low_water.spans == {6: 7}


def test_streams_are_named_once_when_they_begin() -> None:
    """The first call names all there are."""
    reads = intake("text")
    reads.read(record(0, b"\xe2"))
    assert [stream.place for stream in reads.begun()] == [("text", b"c", b"")]
    assert list(reads.begun()) == []
    reads.read(record(1, b"\xe2", b"d"))
    reads.read(record(2, b"\x82", b"d"))
    assert [stream.place for stream in reads.begun()] == [("text", b"d", b"")]


def test_what_a_snapshot_must_write_is_noted() -> None:
    """Where something is remembered, with its last record."""
    reads = intake("text")
    reads.noting = True
    reads.read(record(0, b"a"))
    assert list(reads.changed) == []
    reads.read(record(1, b"\xe2"))
    assert list(reads.changed) == [("text", b"c", b"")]
    reads.changed.clear()
    reads.drop()
    assert (list(reads.changed), len(reads), reads._of_key) == ([("text", b"c", b"")], 0, {})


class Deep:
    """A codec that goes deeper into a value than the stack bears, once it remembers something."""

    name, summary, sample = "deep", "", ()

    def decode(self, state: bytes, _record: Record) -> tuple[bytes, Sequence[Chunk]]:
        """The second record is too deep."""
        return (b"s", ()) if not state else self.decode(state, _record)


def test_a_codec_that_goes_too_deep_has_not_read_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a dead letter, and no record that comes again with each start of the process; the stream still ends."""
    monkeypatch.setattr("tokenmill.partition.intake.find_codec", lambda _name: Deep())
    reads = intake("deep")
    reads.read(record(0, b"a"))
    with pytest.raises(Undecodable, match="nested too deep for the codec deep"):
        reads.read(record(1, b"b"))
    assert [kept.state for kept in reads] == [b"s"]
    assert reads.read(record(2, None, tm_codec="deep", tm_last_offset="0"))[0] == []
    assert list(reads) == []


def test_chunks_are_counted_by_codec() -> None:
    """A record without a usable chunk counts none."""
    reads = intake()
    reads.read(record(0, {"delta": "a"}))
    reads.read(record(1, b"x", tm_codec="text"))
    with pytest.raises(Undecodable):
        reads.read(record(2, b"{"))
    assert reads.tally.chunks == {"native": 1, "text": 1}


def test_reading_is_pure() -> None:
    """Two intakes that read the same records agree."""
    values = [sha256(bytes([number])).digest() for number in range(20)]
    first, second = intake("text"), intake("text")
    for offset, value in enumerate(values):
        assert first.read(record(offset, value))[0] == second.read(record(offset, value))[0]


def test_the_end_of_an_idle_stream_names_its_last_record() -> None:
    """A later offset is another writer's, perhaps to the same message: the stream is not ended because of it."""
    reads = intake("text")
    reads.read(record(0, b"\xe2"))
    assert reads.read(record(2, None, tm_last_offset="1")) == ((), None)
    assert reads.tally.dropped == {"stale-timeout": 1}
    assert reads.read(record(3, None, tm_last_offset="0"))[0] != ()


def test_no_replay_starts_inside_a_stream_that_was_too_old() -> None:
    """It would not know the stream, and drop what ended it and the message that others wrote to, too."""
    low_water = LowWater()
    reads = Intake("text", 1_000, low_water, Tally())
    reads.read(record(0, b"\xe2"))
    low_water.hold(low_water.root(1))  # another's
    reads.read(record(2, None, tm_opened_before="2"))
    assert low_water.at(3) == 0


def test_what_streams_take_is_a_sum_that_is_kept() -> None:
    """It is asked for all the time, and there may be a hundred thousand: none is looked at for it."""
    reads = intake("sse+native", record_bytes=10_000)
    assert reads.memory == 0
    for number, text in enumerate((b"a" * 1_000, b"b" * 5_000)):
        reads.read(record(number, b'data: {"delta":"' + text, b"%d" % number))
    reads.read(record(2, b"a" * 3_000, b"0"))
    assert reads.memory == sum(kept.memory for kept in reads) > 9_000
    restored = intake("sse+native")
    for kept in reads:
        restored.put(kept)
    assert restored.memory == reads.memory
    for number, last in enumerate(("2", "1")):
        reads.read(record(3 + number, None, b"%d" % number, tm_codec="sse+native", tm_last_offset=last))
    assert (reads.memory, list(reads)) == (0, [])


def test_which_codecs_say_of_each_record_of_which_message_it_is() -> None:
    """The others name it only at its beginning. A codec that no longer exists counts as one of them."""
    ours = [codec.name for codec in CODECS if type(codec).__module__.startswith("tokenmill.codecs.")]
    assert [name for name in ours if not names_each(name)] == ["anthropic", "openai_responses"]
    found = {name: names_each(name) for name in ("sse+openai", "sse+anthropic", "gone")}
    assert found == {"sse+openai": True, "sse+anthropic": False, "gone": False}
