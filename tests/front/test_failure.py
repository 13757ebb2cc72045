"""Answers that failed before anything came of them."""

import pytest
from msgspec import UNSET

from tokenmill.caller.failure import TOO_LATE
from tokenmill.events import AnyEvent, Error, Finish, MessageStart, Part, TextDelta, TextStart
from tokenmill.front.failure import NOT_AGAIN, Opening, failure_of

START = MessageStart("m", "plain")
REFUSED = Error("upstream", "too many", raw='{"error":{}}', status=429)


def opening(*events: AnyEvent) -> Opening:
    """What these events add up to, of which the last one decides."""
    made = Opening()
    decided = [made.take(event) for event in events]
    assert decided == [*[False] * (len(events) - 1), True]
    return made


@pytest.mark.parametrize(
    "events",
    [
        (START, TextStart("t0")),
        (START, Part("takeover", {}), TextDelta("t0", "a")),
        (START, Finish("stop")),
        (START, Finish("cancelled")),
        (START, Error("limit", "too long")),
    ],
)
def test_an_answer_of_which_something_came_is_told_as_it_comes(events: tuple[AnyEvent, ...]) -> None:
    """Also an empty one, if that was its sound end."""
    made = opening(*events)
    assert (made.content, made.failure) == (True, None)


def test_a_refusal_keeps_status_and_words_of_the_server() -> None:
    """As if there were no log between."""
    failure = opening(START, REFUSED, Finish("error")).failure
    assert failure is not None
    assert (failure.status, str(failure), failure.raw) == (429, "too many", '{"error":{}}')


def test_a_failure_without_words_has_a_status_all_the_same() -> None:
    """502 for what was lost, 504 for what was late."""
    found = [failure_of(Finish("error"), []), failure_of(Finish("timeout"), [])]
    assert [failure.status for failure in found] == [502, 504]
    assert [dict(failure.headers) for failure in found] == [{}, NOT_AGAIN]
    bare = failure_of(Finish("error"), [Error("upstream", "gone", status=UNSET)])
    assert (bare.status, bare.raw) == (502, "")


@pytest.mark.parametrize(("words", "headers"), [(TOO_LATE, NOT_AGAIN), ("the gateway timed out", {})])
def test_only_the_end_of_its_own_time_is_final(words: str, headers: dict[str, str]) -> None:
    """A server that was late may answer the next time."""
    failure = failure_of(Finish("error"), [Error("upstream", words, status=504)])
    assert (failure.status, str(failure), failure.headers) == (504, words, headers)


@pytest.mark.parametrize(("said", "told"), [(100, 502), (200, 502), (304, 502), (399, 502), (400, 400), (599, 599)])
def test_a_failure_has_no_status_of_another_kind(said: int, told: int) -> None:
    """Whoever writes chunks may say any: an error as a 200 is an answer, and one as a 304 is none."""
    assert failure_of(Finish("error"), [Error("upstream", "gone", status=said)]).status == told
