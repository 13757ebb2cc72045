"""What people say about calls, and to which of them it applies."""

from typing import Any

import msgspec
import pytest

from tokenmill.tools.call import Call
from tokenmill.tools.control import KEPT, KEPT_BYTES, Approval, Cancel, Orders, approval_of, read_control, request_for

CALL = Call("c", "m", 0, 100, "call_1", "files__write", {"path": "/a", "mode": "w"}, 200)


@pytest.mark.parametrize(
    "changed",
    [
        {"conversation": "d"},
        {"message": "n"},
        {"choice": 1},
        {"opened": 101},
        {"id": "call_2"},
        {"name": "files__read"},
        {"arguments": {"path": "/b", "mode": "w"}},
        {"arguments": {}},
    ],
)
def test_an_approval_is_for_one_call_as_it_was(changed: dict[str, Any]) -> None:
    """Whatever of it is another needs another word, and so does another tool of the name."""
    assert approval_of(CALL, "f") == approval_of(msgspec.structs.replace(CALL, time=9), "f")
    assert approval_of(msgspec.structs.replace(CALL, **changed), "f") != approval_of(CALL, "f")
    assert approval_of(CALL, "g") != approval_of(CALL, "f")


def test_the_order_of_arguments_does_not_matter() -> None:
    """A call is the same however its JSON was written."""
    other = msgspec.structs.replace(CALL, arguments={"mode": "w", "path": "/a"})
    assert approval_of(other, "f") == approval_of(CALL, "f")


def test_the_first_answer_counts() -> None:
    """Somebody who comes later changes nothing."""
    orders = Orders()
    assert orders.answer("a") is None
    orders.take(Approval(approval="a", granted=False), 1)
    orders.take(Approval(approval="a", granted=True), 2)
    answer = orders.answer("a")
    assert answer is not None
    assert not answer.granted


@pytest.mark.parametrize(
    ("message", "time", "cancelled"),
    [("m", 100, True), ("m", 99, False), ("", 100, True), ("", 99, False), ("n", 500, False)],
)
def test_a_cancel_is_for_messages_that_began_before_it(message: str, time: int, cancelled: bool) -> None:
    """One of them or all of a conversation; a later message of the same name is another."""
    orders = Orders()
    orders.take(Cancel(conversation_id="c", message_id=message), time)
    orders.take(Cancel(conversation_id="c", message_id=message), 1)  # from a clock that is late
    orders.take(Cancel(conversation_id="d"), 10_000)
    assert orders.cancelled(CALL) is cancelled


def test_what_is_kept_has_a_cap() -> None:
    """The oldest is forgotten first."""
    orders = Orders()
    for number in range(KEPT + 1):
        orders.take(Approval(approval=str(number), granted=True), number)
    assert orders.answer("0") is None
    assert orders.answer("1") is not None


@pytest.mark.parametrize("kind", ["answers", "cancels"])
def test_what_is_kept_has_a_cap_in_bytes(kind: str) -> None:
    """Keys and reasons may be as long as a record. What is said twice counts once."""
    orders, long, count = Orders(), "x" * (KEPT_BYTES // 10), 20
    for number in (0, *range(count)):
        said = (
            Approval(approval=str(number), granted=False, why=long)
            if kind == "answers"
            else Cancel(conversation_id=f"{number}{long}")
        )
        orders.take(said, CALL.opened)
    known = [
        orders.answer(str(number)) is not None
        if kind == "answers"
        else orders.cancelled(msgspec.structs.replace(CALL, conversation=f"{number}{long}"))
        for number in range(count)
    ]
    assert known == [number >= count - 9 for number in range(count)]


def test_records_are_read_as_they_were_written() -> None:
    """What is none of ours is passed over."""
    for said in (request_for(CALL, "f", 9), Approval(approval="a", granted=True, by="me"), Cancel(conversation_id="c")):
        assert read_control(msgspec.json.encode(said)) == said
    for value in (None, b"", b"[]", b'{"type":"approval"}', b'{"type":"order"}'):
        assert read_control(value) is None


@pytest.mark.parametrize("value", [b'"\xff"', b"[" * 5_000 + b"]" * 5_000], ids=["no text", "bottomless"])
def test_a_record_that_is_no_text_or_bottomless_is_passed_over(value: bytes) -> None:
    """Anybody may write one, and a runner that ended of it would read it again at its next start."""
    assert read_control(b'{"type":"cancel","conversation_id":"c","by":%b}' % value) is None
    assert read_control(b'{"type":"cancel","conversation_id":"c","other":%b,"by":"\xff"}' % value) is None
