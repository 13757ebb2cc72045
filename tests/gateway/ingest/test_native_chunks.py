"""What is wrong with a chunk is said before it is a record, and what is right stays as it was written."""

from typing import Any

import msgspec
import pytest

from tokenmill.errors import RecordError
from tokenmill.gateway.ingest.native_chunks import NATIVE, NativeChunks, failure, read_tm_open
from tokenmill.gateway.ingest.options_compiler import BodyOptions, OptionsCompiler
from tokenmill.partition import PartitionSettings

SETTINGS = PartitionSettings()


def native(**about: Any) -> NativeChunks:
    return NativeChunks(BodyOptions(OptionsCompiler(SETTINGS), "service"), "c", **about)


def line(**fields: Any) -> bytes:
    return msgspec.json.encode(fields)


async def test_a_chunk_is_passed_on_as_it_was_written() -> None:
    """Byte for byte, fields that nobody knows included."""
    written = b'{ "message_id":"m", "delta":"a\\u00e4", "of tomorrow": 1 }'
    assert await native().record(written) == (written, [NATIVE])


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (b"[]", "not a native chunk"),
        (b'{"delta":1}', r"delta"),
        (b'{"seq":-1}', "seq"),
        (b'{"delta":"a"', "not a native chunk"),
        (b"\xff", "not a native chunk"),
        (b"[" * 100_000, "not a native chunk"),
        (line(conversation_id="d", delta="a"), "conversation_id is not that of the address"),
        (line(message_id="m" * 1025, delta="a"), "message_id is longer than 1024 bytes"),
        (line(message_id="ü" * 513, delta="a"), "message_id is longer than 1024 bytes"),
        (line(open={"fromat": "hermes"}), "unknown option 'fromat'; did you mean format?"),
        (line(open={"format": "hermse"}), "unknown format 'hermse'; did you mean hermes?"),
        (line(open={"tools": "none"}), "option 'tools'"),
        (line(control="stop"), "control"),
        (line(part={"kind": "k", "value": 2**70}), "64 bits"),
    ],
)
async def test_a_chunk_that_no_worker_would_take_is_refused(written: bytes, said: str) -> None:
    """With the reason that would be in the dead letter, which names what to change."""
    with pytest.raises(RecordError, match=said):
        await native().record(written)


async def test_the_address_names_the_message_of_chunks_that_do_not() -> None:
    """One that says another is a mistake of somebody's."""
    chunks = native(message_id="m")
    value, _ = await chunks.record(line(delta="a"))
    assert msgspec.json.decode(value or b"") == {"message_id": "m", "delta": "a"}
    assert (await chunks.record(line(message_id="m", delta="a")))[0] == line(message_id="m", delta="a")
    with pytest.raises(RecordError, match="message_id is not that of the address"):
        await chunks.record(line(message_id="n", delta="a"))


async def test_a_number_is_given_to_a_chunk_that_has_none() -> None:
    """Its own counts."""
    value, _ = await native().record(line(message_id="m", delta="a"), seq=4)
    assert msgspec.json.decode(value or b"") == {"message_id": "m", "delta": "a", "seq": 4}
    assert (await native().record(line(seq=2, delta="a"), seq=4))[0] == line(seq=2, delta="a")


async def test_options_beside_the_body_go_with_what_may_open_a_message() -> None:
    """And with nothing else: they may be long. The header opens no message by itself."""
    chunks = native(options={"format": "hermes"}, tracing=[("traceparent", b"00-1")])
    said: list[dict[str, Any]] = [{"usage": {}}, {"delta": "a"}, {}]
    headers = [(await chunks.record(line(message_id="m", **fields)))[1] for fields in said]
    traced = [NATIVE, ("traceparent", b"00-1")]
    assert headers == [traced, [*traced, ("tm-open", b'{"format":"hermes"}')], traced]


@pytest.mark.parametrize("text", ["hermes", "[]", '{"fromat":"hermes"}', "\udcff"])
async def test_options_beside_the_body_are_checked(text: str) -> None:
    """A header is bytes; what is no UTF-8 in it is no JSON."""
    with pytest.raises(RecordError):
        await read_tm_open(text, BodyOptions(OptionsCompiler(SETTINGS), "service"))


async def test_what_breaks_off_fails_unless_its_chunks_are_numbered() -> None:
    """Whoever numbers chunks knows where to go on; for the others nobody can tell what arrived."""
    chunks = native()
    for fields in ({"message_id": "m", "delta": "a"}, {"message_id": "n", "seq": 0, "delta": "b"}):
        await chunks.record(line(**fields))
    assert chunks.broken_off("gone") == [(failure("m", 0, "gone"), [NATIVE])]
    failed = {"message_id": "m", "choice": 0, "error": "gone", "finish_reason": "error", "end": True}
    assert msgspec.json.decode(failure("m", 0, "gone")) == failed
