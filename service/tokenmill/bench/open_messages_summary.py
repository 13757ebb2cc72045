"""The results of the memory benchmark, for people."""

from tokenmill.bench.open_messages import Crowd
from tokenmill.bench.summary import Finding, Summary, Table
from tokenmill.limits import MIB

ABOUT = """\
Messages are opened in one process, on the partitions of a worker, and none of them ends: the same tools for all, three
chunks of text, no completions. They are marked, watched for idleness and captured for snapshots, as in a worker. The
memory of a message is the growth of the process (resident memory) since before the first, divided by their number."""


def memory_summary(report: Crowd) -> Summary:
    """Return the tables and findings."""
    rows = [(f"{held.messages:,}", f"{held.bytes_per_message:,.0f}") for held in report.steps]
    last = report.last
    findings = [
        Finding(f"{last.bytes_per_message:,.0f} bytes for an open message", "at most 2,048"),
        Finding(f"{last.messages:,} open messages in one process", "1,000,000"),
        Finding(
            f"{report.peak_bytes / MIB:,.0f} MiB at most in the process, while a snapshot of each of the "
            f"{report.partitions} partitions is captured; {report.seconds:,.0f} s in all"
        ),
    ]
    table = Table(("open messages", "bytes for each"), rows, texts=0)
    return Summary("What open messages take", "tokenmill bench memory --write", ABOUT, [table], findings)
