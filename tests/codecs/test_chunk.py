"""The struct that every codec makes."""

import msgspec
import pytest
from msgspec import UNSET

from tokenmill.codecs import Chunk

CONTRACT = [
    "conversation_id",
    "message_id",
    "choice",
    "seq",
    "open",
    "reasoning",
    "delta",
    "tool_calls",
    "part",
    "usage",
    "finish_reason",
    "end",
    "control",
]


def test_the_fields_are_those_of_the_contract_in_its_order() -> None:
    """They apply in this order; the fields after them are for codecs of providers, and for callers of models."""
    others = ["error", "error_status", "error_raw", "resumes", "model", "stop_sequence"]
    assert [*Chunk.__struct_fields__] == [*CONTRACT, *others]


def test_an_empty_object_is_a_chunk_that_says_nothing() -> None:
    """Every field is optional."""
    chunk = msgspec.json.decode(b"{}", type=Chunk)
    assert chunk == Chunk()
    assert (chunk.choice, chunk.end) == (UNSET, UNSET)
    assert msgspec.json.encode(chunk) == b"{}"


@pytest.mark.parametrize(
    "wrong", [b'{"seq":-1}', b'{"seq":1.5}', b'{"choice":-1}', b'{"choice":1e30}', b'{"control":"x"}', b'{"end":1}']
)
def test_wrong_values_are_refused(wrong: bytes) -> None:
    """Positions and choices count from 0, and every reader of JSON keeps them exact."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(wrong, type=Chunk)
