"""Why an answer can't be had."""

import time
from collections.abc import Iterator

import pytest

from tokenmill.caller.failure import AGAIN, ELSEWHERE, RAW_CHARS, NotAsked, UpstreamFailed, refusal, retry_after


def test_a_failure_says_what_a_client_is_told() -> None:
    """A bad gateway unless something better is known; a server's words are cut."""
    problem = UpstreamFailed("no", "broken-off")
    assert (str(problem), problem.kind, problem.status, problem.raw, problem.again) == (
        "no",
        "broken-off",
        502,
        "",
        True,
    )
    assert UpstreamFailed("no", "refused", 400, "x" * 9_999, again=False).raw == "x" * RAW_CHARS


@pytest.mark.parametrize(("status", "again"), [(400, False), (401, False), (404, False), (429, True), (503, True)])
def test_a_server_that_may_answer_otherwise_the_next_time_is_asked_again(status: int, again: bool) -> None:
    """One that is busy, not one that was asked for nonsense."""
    assert (status in AGAIN) is again


@pytest.mark.parametrize("status", [400, 402, 404, 429, 500])
def test_a_refusal_keeps_the_server_s_status_and_words(status: int) -> None:
    """For the client; the log gets the status alone."""
    problem = refusal(status, "no", "raw", again=True)
    assert (str(problem), problem.status, problem.server_status, problem.raw) == ("no", status, status, "raw")
    assert (problem.kind, problem.again, problem.logged) == ("refused", True, f"status {status}")


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_of_our_key_is_our_fault(status: int) -> None:
    """No client can fix it, and nobody is told the server's words."""
    problem = refusal(status, "key sk-1 is wrong", "key sk-1 is wrong", again=True)
    assert (problem.status, problem.server_status, problem.raw, problem.again) == (502, status, "", False)
    assert "sk-1" not in f"{problem}{problem.logged}"


def test_what_another_server_may_take_is_about_our_side_of_it() -> None:
    """A key and a model's name are ours; what no server takes is the request's."""
    assert frozenset({401, 403, 404}) == ELSEWHERE
    assert not ELSEWHERE & AGAIN
    assert isinstance(NotAsked("no images here", "refused", 400, again=False), UpstreamFailed)


def test_the_log_has_a_failure_s_message_unless_it_may_quote() -> None:
    """Then it has other words."""
    assert UpstreamFailed("it was silent", "slow").logged == "it was silent"
    assert UpstreamFailed("can't read: sesame", "unreadable", logged="can't read").logged == "can't read"


NOW = 1_760_000_000.0
"""Thu, 09 Oct 2025 08:53:20 GMT."""


@pytest.fixture
def _elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """On a machine whose time is not UTC."""
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2.0),
        ({"retry-after": "Thu, 09 Oct 2025 08:53:32 GMT"}, 12.0),
        ({"retry-after": "Thu, 09 Oct 2025 08:53:08 GMT"}, 0.0),
        ({"retry-after": "Thu Oct  9 08:53:32 2025"}, 12.0),
        ({"retry-after": "Thu, 09 Oct 2025 10:53:32 +0200"}, 12.0),
        ({"retry-after": "Thu, 09 Oct 99999 08:53:08 GMT"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_the_seconds_or_the_date_after_which_to_ask_again_are_read(
    headers: dict[str, str], seconds: float | None
) -> None:
    """What is over is no wait; what can't be read says nothing."""
    assert retry_after(headers, NOW) == seconds
