"""The results of the recovery benchmark, for people."""

from collections.abc import Iterator

from tokenmill.bench.recovery import Recovery
from tokenmill.bench.summary import Finding, Summary, Table

ABOUT = """\
A worker gets its partitions on a real Kafka, in two ways. Times are the worker's own: from the assignment until the
last of its partitions is live. Ratios are medians of the rounds' ratios.

- From Redis: open messages, with the same tools, after three chunks of text. Each round is a fresh process.
- By replay: on each partition, the load of [the pipeline's benchmark](pipeline-benchmark.md) after a message that never
  ends, so that all of it has to be read again. It is processed live, timed as in that benchmark; then Redis is emptied,
  and a fresh process of the same group reads it silently up to the commit."""


def recovery_summary(report: Recovery) -> Summary:
    """Return the tables and findings."""
    rounds = [f"run {number + 1}" for number in range(len(report.replays))]
    rows = [
        ("open messages a second, from Redis", *_figures(report.restored_per_s)),
        ("records a second, live", *_figures([each.live_per_s for each in report.replays])),
        ("records a second, silently", *_figures([each.silent_per_s for each in report.replays])),
    ]
    command = "tokenmill bench recovery --write"
    return Summary("What recovery costs", command, ABOUT, [Table(("", *rounds), rows)], list(_findings(report)))


def _figures(rates: list[float]) -> Iterator[str]:
    return (f"{rate:,.0f}" for rate in rates)


def _findings(report: Recovery) -> Iterator[Finding]:
    yield Finding(f"{report.restore_rate:,.0f} open messages a second from Redis", "at least 100,000")
    yield Finding(f"{report.bytes_per_message:.0f} bytes of snapshot for each", "at most 512")
    silent = f"{report.silent_rate:,.0f} records a second by a silent replay"
    yield Finding(f"{silent}, {report.replay_ratio:.1f} times the live rate", "at least 200,000, or 4 times")
    yield Finding(f"{report.messages:,} open messages, {report.records:,} records, {report.partitions} partitions")
