"""Records of the topic as the gateway keeps them."""

import sys

import msgspec
import pytest

from tests.support.event_log import EventLog, Logged, of, spoken
from tokenmill.gateway.event_log.entry import Entry, entries


def record(*headers: tuple[str, bytes | None], key: bytes | None = b"c", value: bytes | None = b"{}") -> Logged:
    return Logged(7, 0, key, value, headers)  # type: ignore[arg-type] # others may write anything there


def test_headers_are_read_once() -> None:
    """What a worker writes says which message, choice and event it is, and when the message began."""
    (entry,) = entries(
        3,
        [record(("tm-message-id", b"m"), ("tm-choice", b"2"), ("tm-seq", b"5"), ("tm-opened", b"99"), ("other", b""))],
    )
    assert entry == Entry(3, 7, b"c", b"{}", message=b"m", choice=b"2", seq=5, opened=99)


def test_the_first_event_of_a_message_and_the_last_are_known_without_reading_them() -> None:
    """By what every worker writes first into them."""
    came = EventLog(of("c", spoken("m", "Hello"))).entries()
    assert [entry.starts for entry in came] == [True, *[False] * (len(came) - 1)]
    assert [entry.finishes for entry in came] == [*[False] * (len(came) - 1), True]


def test_an_event_is_known_by_its_mark_wherever_it_is() -> None:
    """What is repeated has the same one; another message, choice, attempt or number has another."""
    entry = Entry(3, 7, b"c", b"{}", message=b"m", choice=b"0", seq=5, opened=99)
    others = {"message": b"n", "choice": b"1", "seq": 6, "opened": 98}
    marks = {msgspec.structs.replace(entry, **{name: value}).mark for name, value in others.items()}
    assert (len(marks), entry.mark in marks) == (4, False)
    assert msgspec.structs.replace(entry, partition=0, offset=9, value=b"").mark == entry.mark


@pytest.mark.parametrize(
    "foreign",
    [
        record(),
        record(("tm-message-id", None)),
        record(("tm-message-id", b"m"), ("tm-choice", None)),
        record(("tm-message-id", b"m"), ("tm-seq", None)),
        record(("tm-message-id", b"m"), ("tm-seq", b"one")),
        record(("tm-message-id", b"m"), ("tm-opened", b"9" * 5_000)),
        record(("tm-message-id", b"m"), ("tm-opened", b"%d" % 2**63)),
        record(("tm-message-id", b"m"), key=None),
        record(("tm-message-id", b"m"), value=None),
        record(("tm-message-id", b"m"), value=b""),
    ],
)
def test_what_no_worker_wrote_is_passed_over(foreign: Logged) -> None:
    """Whatever its headers are: nobody's stream ends for it."""
    assert entries(0, [foreign]) == []


def test_its_size_is_no_less_than_what_it_takes() -> None:
    """The window's cap counts by it."""
    (entry, *_) = EventLog(of("c", spoken("m", "Hello"))).entries()
    fields = (getattr(entry, name) for name in entry.__struct_fields__)
    assert entry.size >= sum(map(sys.getsizeof, fields)) + sys.getsizeof(entry) - 100
