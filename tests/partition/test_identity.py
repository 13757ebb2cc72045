"""The rules of identity, row by row."""

import pytest

from tests.partition.cases import Case, load, run
from tokenmill.codecs import Chunk
from tokenmill.partition.identity import Verdict, judge, opens

CASES = load()


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_case_comes_out_as_it_says(case: Case) -> None:
    """Events, dead letters and counts are those of the case."""
    got = run(case)
    assert {name: case[name] for name in got} == got


def test_every_verdict_of_a_live_partition_has_a_case() -> None:
    """No row of the table is without one."""
    words = {word for case in CASES for word in (*case["dropped"], *case["dead_letters"])}
    assert words >= {"orphan", "no-message", "duplicate", "late", "stale-timeout", "bad-open", "bad-key", "undecodable"}
    assert any("error gap" in line for case in CASES for line in case["events"])
    assert any("finish error" in line for case in CASES for line in case["events"])


@pytest.mark.parametrize(
    ("chunk", "verdict"),
    [
        (Chunk(delta="a"), Verdict.LOSE),
        (Chunk(seq=3), Verdict.LOSE),
        (Chunk(open={}), Verdict.OPEN),
        (Chunk(seq=0), Verdict.OPEN),
        (Chunk(end=True), Verdict.NO_MESSAGE),
    ],
)
def test_an_opening_that_may_be_missing(chunk: Chunk, verdict: Verdict) -> None:
    """While the beginning of the log is missing, only `open` and `seq` 0 show that a message begins."""
    assert judge(None, None, chunk, unseen=True, reserved=False) is verdict


def test_what_opens_is_said_once() -> None:
    """A chunk opens an unknown message exactly if the verdict is OPEN."""
    for chunk in (Chunk(), Chunk(delta="a"), Chunk(open={}), Chunk(seq=0), Chunk(seq=1, delta="a"), Chunk(end=True)):
        verdict = judge(None, None, chunk, unseen=False, reserved=False)
        assert opens(chunk) is (verdict is Verdict.OPEN)
