"""What every codec keeps to."""

import msgspec
import pytest

from tokenmill.codecs import CODECS, Chunk, Codec, find_codec
from tokenmill.codecs.native import NATIVE
from tokenmill.errors import UnknownCodec

EACH = pytest.mark.parametrize("codec", CODECS, ids=[codec.name for codec in CODECS])


@EACH
def test_its_sample_is_one_message(codec: Codec) -> None:
    """The records decode to chunks, the last one ends the message, and nothing is left to remember."""
    state, chunks = b"", list[Chunk]()
    for record in codec.sample:
        state, more = codec.decode(state, record)
        chunks.extend(more)
    assert state == b""
    assert any(chunk.delta for chunk in chunks)
    assert [chunk.end is True for chunk in chunks] == [False] * (len(chunks) - 1) + [True]


@EACH
@pytest.mark.parametrize("prefix", ["", "sse+"])
def test_an_empty_value_says_nothing(codec: Codec, prefix: str) -> None:
    """Clients pass on what they read: a read that brings nothing, the empty lines between events. A null value ends."""
    try:
        wrapped = find_codec(prefix + codec.name)
    except UnknownCodec:  # its records are no events of SSE
        return
    state, beside = b"", b""
    for record in wrapped.sample:
        state, expected = wrapped.decode(state, record)
        beside, chunks = wrapped.decode(beside, record)
        assert chunks == expected
        if codec is not NATIVE:
            beside, chunks = wrapped.decode(beside, msgspec.structs.replace(record, value=b""))
            assert (beside, list(chunks)) == (state, [])


@EACH
def test_it_is_pure(codec: Codec) -> None:
    """Equal states and records give equal answers, and a state that was given is not changed."""
    state = b""
    for record in codec.sample:
        first, second = codec.decode(state, record), codec.decode(bytes(state), record)
        assert first == second
        state = first[0]


@EACH
def test_it_says_what_it_is(codec: Codec) -> None:
    """For the list of codecs and the reference."""
    assert codec.summary
    assert find_codec(codec.name) is codec


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    """The header `tm-codec` is written by people."""
    with pytest.raises(UnknownCodec, match=r"'nonsense'; known are native, text.*, sse\+NAME of these"):
        find_codec("nonsense")
