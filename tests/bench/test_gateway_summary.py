"""The gateway's benchmark told: medians of rounds, budgets beside them."""

from tokenmill.bench.gateway_report import LOADS, Beside, Compared, Idle, Report, Side, Wait
from tokenmill.bench.gateway_summary import gateway_summary

BESIDE = (
    "beside 1,000 clients that never read, of which 990 were closed meanwhile, 100 that do have a frame after "
    "6.0 ms (p99), alone after 5.0 ms"
)


def test_ratios_are_medians_of_rounds() -> None:
    """What is slow in one round is so for both servers."""
    ours = [Side(20.0, 1.0, 2.0), Side(40.0, 1.0, 2.0), Side(10.0, 1.0, 2.0)]
    bare = [Side(10.0, 1.0, 2.0), Side(30.0, 1.0, 2.0), Side(9.0, 1.0, 2.0)]
    beside = Beside(100, 1_000, 990, Side(1.0, 1.0, 5.0), Side(1.0, 1.0, 6.0), 100 * 1024.0)
    waits = [Wait("nothing", 1.0, 2.04), Wait("back", 2.5, 4.0, 5.0, 8_200)]
    compared = [Compared(LOADS[0], ours, bare), Compared(LOADS[2], ours, bare)]
    report = Report(compared, Idle(10_000, 12 * 1024.0, 0.02), beside, waits, 1.5, 9.0)
    summary = gateway_summary(report)
    row, _ = summary.tables[0].rows
    assert row == (LOADS[0].name, "50,000", "100,000", "0.75", "1.0", "2.0", "2.0")
    assert summary.tables[1].rows == [("nothing", "1.0", "2.0", "", "0"), ("back", "2.5", "4.0", "5", "8")]
    assert [str(finding) for finding in summary.findings] == [
        f"{LOADS[0].name}: 50,000 frames/s of a core, 0.75 of the bare server (budget: at least 0.5 of it)",
        f"{LOADS[2].name}: 50,000 frames/s of a core, 0.75 of the bare server (budget: at least 20,000)",
        "12.0 KiB for each of 10,000 idle connections (budget: at most 16)",
        "2.0 % of a core for their heartbeats (budget: at most 3)",
        f"{BESIDE} (budget: as alone)",
        "100 KiB for each client that never reads (budget: at most 512)",
        "a reader of the topic has a record after 1.5 ms (p50) and 9.0 ms (p99), under the load of the first row",
    ]
