"""The state as bytes."""

import msgspec
import pytest

from tokenmill.parser.bodies.closings import ParamsState
from tokenmill.parser.run.state import (
    Growing,
    JsonState,
    NativeCall,
    OpenCall,
    Source,
    State,
    decode_state,
    encode_state,
)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (None, JsonState),
        (JsonState(stack="{[", quote='"', text="x"), JsonState),
        (ParamsState(key="k", values=[("a", "string", 1, 2)]), ParamsState),
    ],
)
def test_round_trip(body: JsonState | ParamsState | None, kind: type[msgspec.Struct]) -> None:
    """Every part of a state comes back as it was."""
    call = OpenCall(Source(3, ["c"], ["ab"]), 4, body=body, name="f", growing=Growing("a", "w"), grown={"a": True})
    state = State("identity", 2, held="<", block="t0", call=call, native=[NativeCall(1, call)], chars=10**9)
    assert decode_state(encode_state(state), lambda _call: kind) == state


def test_a_fresh_state_is_small() -> None:
    """An idle message's own share of a snapshot."""
    assert len(encode_state(State("conversation/message/0", 0, block="t0"))) < 64


def test_half_a_surrogate_pair_has_bytes() -> None:
    """A state that holds one can be encoded; it is a replacement character from then on."""
    state = State("identity", 2, call=OpenCall(Source(3, ["a\ud800b"])))
    decoded = decode_state(encode_state(state), lambda _call: JsonState)
    assert decoded.call is not None
    assert decoded.call.source.text() == "a\ufffdb"


def test_what_is_no_state() -> None:
    """Bytes of something else are refused."""
    with pytest.raises(msgspec.DecodeError):
        decode_state(b"\x93\x01\x02\x03", lambda _call: JsonState)


def test_a_body_that_is_no_state_of_its_reader() -> None:
    """A body that another reader wrote is refused, and not taken for one of this reader."""
    state = State("identity", 2, call=OpenCall(Source(), 4, body=JsonState(stack="{")))
    with pytest.raises(msgspec.DecodeError):
        decode_state(encode_state(state), lambda _call: ParamsState)


def test_source_in_many_pieces() -> None:
    """However many pieces, it is the same text, in few of them."""
    source = Source()
    for number in range(5000):
        source.add(str(number % 10))
    assert source.text() == "0123456789" * 500
    assert source.size == 5000
    assert len(source.pieces) + len(source.blocks) < 1100


def test_a_source_knows_its_last_character() -> None:
    """Also where its pieces were just joined."""
    source = Source()
    assert source.last == ""
    for number in range(130):
        source.add(f"a{number % 10}")
        assert source.last == source.text()[-1]
