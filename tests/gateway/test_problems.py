"""A refusal is an RFC 9457 problem that says what to change."""

import msgspec
import pytest

from tokenmill.gateway.problems import GONE, KINDS, SHOWN, TOO_MANY, Refused, shown


def test_a_problem_has_the_members_of_the_standard_and_its_own() -> None:
    """Programs compare the type, people read the detail."""
    problem = Refused(GONE, "begin anew with from=start", headers={"retry-after": "1"}, oldest="0.7.1~0")
    response = problem.response()
    assert (response.status, response.content_type) == (410, "application/problem+json")
    assert response.headers["retry-after"] == "1"
    assert msgspec.json.decode(problem.body()) == {
        "type": "urn:tokenmill:problem:gone",
        "title": "The log no longer has this position",
        "status": 410,
        "detail": "begin anew with from=start",
        "oldest": "0.7.1~0",
    }


def test_names_of_problems_are_given_once() -> None:
    """A program could not tell two kinds apart otherwise."""
    assert len({kind.name for kind in KINDS}) == len(KINDS)
    assert TOO_MANY.status == 429


@pytest.mark.parametrize("sent", ["a\r\nset-cookie: x", "\x1b[31m", "\u202egnirts"])
def test_what_a_caller_sent_can_control_nothing(sent: str) -> None:
    """Neither a terminal nor a line of a log."""
    assert shown(sent).isprintable()


def test_what_a_caller_sent_is_cut() -> None:
    """An answer is not a place to store things."""
    assert len(shown("x" * 10_000)) == SHOWN + 3
