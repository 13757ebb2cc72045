"""From records to chunks."""

from hashlib import sha256

import pytest

from tests.session.logs import record
from tokenmill.errors import BadKey, RecordError, TooLarge, Undecodable, UnknownCodec
from tokenmill.limits import KEY_BYTES
from tokenmill.session.intake import Intake
from tokenmill.session.low_water import LowWater
from tokenmill.session.tally import Tally


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
    """With the error that says why."""
    with pytest.raises(error):
        intake().read(bad)  # type: ignore[arg-type] # the parameters are of two types


def test_records_and_keys_of_exactly_the_limit_are_read() -> None:
    """The limit itself is allowed."""
    value = b'{"delta":"' + b"x" * 988 + b'"}'
    chunks, _ = intake(record_bytes=len(value)).read(record(0, value, key=b"k" * KEY_BYTES))
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
    """From the record that began it until nothing is kept any more."""
    low_water = LowWater()
    reads = Intake("text", 1_000, low_water, Tally())
    marks = []
    for offset, value in enumerate((b"a", b"\xe2", b"\x82", b"\xac", b"a"), 5):
        reads.read(record(offset, value))
        marks.append(low_water.at(offset + 1))
    assert marks == [6, 6, 6, 9, 10]


def test_what_a_snapshot_must_write_is_noted() -> None:
    """Only where the state changed."""
    reads = intake("text")
    reads.read(record(0, b"a"))
    assert list(reads.changed) == []
    reads.read(record(1, b"\xe2"))
    assert list(reads.changed) == [("text", b"c", b"")]


def test_chunks_are_counted_by_codec() -> None:
    """A record without a usable chunk counts none."""
    reads = intake()
    reads.read(record(0, {"delta": "a"}))
    reads.read(record(1, b"x", tm_codec="text"))
    with pytest.raises(Undecodable):
        reads.read(record(2, b"{"))
    assert reads.tally.chunks == {"native": 1, "text": 1}


def test_reading_is_pure() -> None:
    """Two intakes that read the same say the same."""
    values = [sha256(bytes([number])).digest() for number in range(20)]
    first, second = intake("text"), intake("text")
    for offset, value in enumerate(values):
        assert first.read(record(offset, value))[0] == second.read(record(offset, value))[0]
