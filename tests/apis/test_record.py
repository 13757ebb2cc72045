"""Records of the topic `requests`, and ids that lead to their place."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.apis.ask import BadAsk
from tokenmill.apis.record import (
    ATTEMPTS,
    CONVERSATION_BYTES,
    AnswerId,
    LeftRecord,
    ReaderRecord,
    RequestRecord,
    StoppedRecord,
    body_of,
    conversation_in_key,
    digest,
    own_conversation,
    own_prefix,
    read_id,
    read_request,
)
from tokenmill.limits import KEY_BYTES

RANDOM = "0123456789abcdef0123"


@given(
    st.sampled_from(["chatcmpl-", "resp_", "msg_"]),
    st.integers(0, 2**48 - 1),
    st.text(alphabet="0123456789abcdef", min_size=20, max_size=20),
    st.text(alphabet=st.characters(codec="utf-8"), max_size=CONVERSATION_BYTES // 4),
)
def test_an_id_says_what_it_was_made_of(prefix: str, time_ms: int, random: str, conversation: str) -> None:
    """Whatever the conversation is called; and it fits a message's id."""
    identity = AnswerId(prefix, time_ms, random, conversation)
    assert read_id(str(identity)) == identity
    assert len(str(identity)) <= KEY_BYTES


@pytest.mark.parametrize(
    "text",
    [
        "",
        "resp_",
        "resp_abc",
        f"req_{'0' * 32}",
        f"resp_{'0' * 32}!",
        f"resp_{'0' * 32}_w",
        f"resp_{'0' * 32}" + "A" * 2000,
    ],
)
def test_what_is_no_id_of_ours_leads_nowhere(text: str) -> None:
    """Clients send what they like."""
    assert read_id(text) is None


def test_a_conversation_without_a_name_is_its_clients() -> None:
    """Another client's id leads elsewhere."""
    identity = AnswerId("resp_", 1, RANDOM)
    assert identity.conversation_of("a") != identity.conversation_of("b")
    assert identity.conversation_of("a").startswith(own_prefix("a"))
    assert AnswerId("resp_", 1, RANDOM, "chat-7").conversation_of("a") == "chat-7"
    assert own_conversation("a", "x") == own_prefix("a") + "x"


def test_a_digest_tells_parts_from_each_other() -> None:
    """What one part ends with is not what the next begins with."""
    assert digest("ab", "c") != digest("a", "bc")
    assert digest("ab", b"c") == digest(b"ab", "c")
    assert all(digest("a", "b") != digest(f"a{number}:b") for number in range(4))


def test_a_record_comes_back_as_it_was_written() -> None:
    """With the client's body as it came."""
    record = RequestRecord(
        message_id="resp_1", api="responses", body=msgspec.Raw(b'{"model": "m"}'), fingerprint="f", until=7, stays=True
    )
    read = read_request(msgspec.json.encode(record))
    assert isinstance(read, RequestRecord)
    tries = msgspec.structs.replace(record, betas="a-1,b-2")
    assert read_request(msgspec.json.encode(tries)) == msgspec.structs.replace(read, betas="a-1,b-2")
    assert body_of(read) == {"model": "m"}
    assert (read.message_id, read.until, read.stays, read.key) == ("resp_1", 7, True, "")
    reader = ReaderRecord("resp_1")
    assert read_request(msgspec.json.encode(reader)) == reader
    left = LeftRecord("resp_1")
    assert read_request(msgspec.json.encode(left)) == left
    stopped = StoppedRecord("resp_1", abandoned=True)
    assert read_request(msgspec.json.encode(stopped)) == stopped


def said(**fields: Any) -> bytes:
    """A record that somebody else may have written."""
    known = {"type": "request", "message_id": "m1", "api": "chat", "body": {}, "fingerprint": "f", "until": 7}
    return json.dumps(known | fields).encode()


@pytest.mark.parametrize(
    "fields",
    [
        {"message_id": ""},
        {"message_id": "a\nb"},
        {"message_id": "m1\n"},
        {"message_id": "\x1b[31m"},
        {"message_id": "x" * (KEY_BYTES + 1)},
        {"until": -1},
        {"until": 16**12},
        {"until": 10**400},
        {"attempt": -1},
        {"attempt": ATTEMPTS},
        {"attempt": 10**400},
        {"fingerprint": "f" * 100},
        {"key": "k" * 100},
        {"type": "reader", "message_id": "a\nb"},
        {"type": "left", "message_id": "x" * (KEY_BYTES + 1)},
    ],
)
def test_what_no_front_says_is_none_of_ours(fields: dict[str, Any]) -> None:
    """An answer that can't be ended would hold its partition back for ever; ids stand in logs."""
    assert read_request(said()) is not None
    assert read_request(said(**fields)) is None


def test_the_conversation_is_that_of_the_key() -> None:
    """Unless no front writes such a key: it is missing, too long, or not text."""
    longest = "é" * (CONVERSATION_BYTES // 2)
    assert conversation_in_key(longest.encode()) == longest
    assert [conversation_in_key(key) for key in (None, b"", longest.encode() + b"x", b"\xff")] == [""] * 4


@pytest.mark.parametrize("body", [b"[]", b"3", b"null", b'{"model":"\xff"}', b'{"a":1' + b"0" * 5_000 + b"}"])
def test_a_body_that_no_front_has_read_is_refused(body: bytes) -> None:
    """As one of a client would be."""
    record = read_request(said().replace(b"{}", body))
    assert record is None or isinstance(record, RequestRecord)
    if record is not None:
        with pytest.raises(BadAsk, match="no JSON object"):
            body_of(record)


@pytest.mark.parametrize("value", [None, b"", b"{", b"[]", b'{"type":"other"}', b'{"type":"request"}', b"\xff"])
def test_what_is_none_of_ours_is_passed_over(value: bytes | None) -> None:
    """Anybody may write to a topic."""
    assert read_request(value) is None
