"""Requests with an `Idempotency-Key`, as a caller reads them."""

from typing import Any

import msgspec
import pytest

from tokenmill.apis.record import RequestRecord
from tokenmill.caller import repeated_requests
from tokenmill.caller.repeated_requests import RepeatedRequests
from tokenmill.config import Front

REMEMBER_S = 600


def request(message_id: str, key: str = "k", **more: Any) -> RequestRecord:
    return RequestRecord(
        message_id=message_id, api="chat", body=msgspec.Raw(b"{}"), fingerprint="f", until=1, key=key, **more
    )


@pytest.fixture
def made() -> RepeatedRequests:
    return RepeatedRequests(Front(remember_s=REMEMBER_S))


def test_of_requests_with_the_same_key_the_first_counts(made: RepeatedRequests) -> None:
    """Another attempt, another key or none is another request."""
    assert not made.repeats(request("a"), 0)
    assert made.repeats(request("b"), 1)
    assert not made.repeats(request("c", attempt=1), 2)
    assert not made.repeats(request("d", key="l"), 3)
    assert not any(made.repeats(request(each, key=""), 4) for each in "ef")


def test_a_record_that_is_read_again_is_no_repeat(made: RepeatedRequests) -> None:
    """A partition that comes back is read from what was committed."""
    assert [made.repeats(request(each), 0) for each in "aba"] == [False, True, False]


def test_a_key_that_fronts_have_forgotten_is_a_new_request(made: RepeatedRequests) -> None:
    """A front takes it for one, so nobody would answer a repeat."""
    late = REMEMBER_S * 1000
    assert not made.repeats(request("a"), 0)
    assert not made.repeats(request("b"), late)
    assert made.repeats(request("c"), late + 1)


def test_the_time_is_that_of_fronts() -> None:
    """They know a key for as long as the retry of an SDK."""
    made = RepeatedRequests(Front(remember_s=1, retry_s=100))
    assert not made.repeats(request("a"), 0)
    assert made.repeats(request("b"), 40_000)


def test_repeats_make_no_key_last_longer(made: RepeatedRequests) -> None:
    """The first request is what a front forgets."""
    assert not made.repeats(request("a"), 0)
    assert made.repeats(request("b"), 200_000)
    assert not made.repeats(request("c"), 400_000)


def test_a_first_record_that_is_read_again_after_the_second_time_counts(made: RepeatedRequests) -> None:
    """What lies behind a commit may have no end yet, whatever was read behind it."""
    late = REMEMBER_S * 1000
    said = [made.repeats(request(each), at) for each, at in (("a", 0), ("b", late), ("a", 0), ("b", late))]
    assert not any(said)


def test_clocks_of_fronts_may_differ(made: RepeatedRequests) -> None:
    """The order of the log counts, not that of times."""
    assert not made.repeats(request("a"), 5_000)
    assert made.repeats(request("b"), 0)


def test_only_so_many_are_known(made: RepeatedRequests, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flood of keys costs a bounded amount of memory."""
    monkeypatch.setattr(repeated_requests, "KEYS_KEPT", 2)
    assert not any(made.repeats(request(each, key=each), 0) for each in "abc")
    assert not made.repeats(request("d", key="a"), 0)
    assert made.repeats(request("e", key="c"), 0)


def test_of_the_keys_the_one_that_was_asked_for_longest_ago_is_dropped(
    made: RepeatedRequests, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that is used again for a new request is not forgotten before others: its repeat would be answered, too."""
    monkeypatch.setattr(repeated_requests, "KEYS_KEPT", 2)
    late = REMEMBER_S * 1000
    asked = (("a", "k", 0), ("b", "l", late), ("c", "k", late), ("d", "m", late))
    assert not any(made.repeats(request(each, key=key), at) for each, key, at in asked)
    assert made.repeats(request("e", key="k"), late)
