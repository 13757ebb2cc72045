"""What the memory benchmark found, for people."""

from tokenmill.bench.open_messages import Crowd, Held
from tokenmill.bench.open_messages_summary import memory_summary


def test_each_step_is_told_and_the_last_beside_the_budget() -> None:
    """What a message takes, and how many there are."""
    summary = memory_summary(Crowd(4, [Held(500_000, 1_900.0), Held(1_000_000, 1_800.4)], 2 << 30, 200.0))
    assert list(summary.tables[0].rows) == [("500,000", "1,900"), ("1,000,000", "1,800")]
    told = [str(finding) for finding in summary.findings]
    assert told[0] == "1,800 bytes for an open message (budget: at most 2,048)"
    assert told[1] == "1,000,000 open messages in one process (budget: 1,000,000)"
    assert told[2].startswith("2,048 MiB at most in the process")
