"""Why an answer can't be had."""

import pytest

from tokenmill.caller.failure import AGAIN, RAW_CHARS, UpstreamFailed


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
