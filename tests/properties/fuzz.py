"""Many random inputs against the promises: `python -m tests.properties.fuzz`, or `make fuzz`.

Inputs are answers in all formats and in mixtures of them, records of all codecs, configurations, and long texts of
which the time is taken. Seeds are numbers in a row, so a run can be repeated and gone on with: `--first`. The first
input that breaks a promise is printed with its seed, as small as it can be made, and ends the run with exit code 1.
"""

import argparse
import math
import multiprocessing
import os
import signal
import sys
import time
from multiprocessing.pool import Pool
from typing import NamedTuple

from tests.properties.failures import KINDS
from tests.properties.mixtures import where_from
from tests.properties.soup import BLOCK

BATCH = 32 * BLOCK
"""Seeds that a process takes at once: some seconds of work."""

PROGRESS_S = 10


class Batch(NamedTuple):
    """What came of some seeds."""

    inputs: int
    failure: str | None


def run_seeds(kind: str, first: int, inputs: int) -> Batch:
    """Check these seeds, up to the first that fails."""
    failure_of = KINDS[kind].failure_of
    for seed in range(first, first + inputs):
        if failure := failure_of(seed):
            return Batch(seed - first, failure)
    return Batch(inputs, None)


def main() -> int:
    """Read the options, run, tell."""
    options = _options()
    _say(f"mixtures are spliced from {where_from()}")
    ends = time.monotonic() + options.minutes * 60
    with multiprocessing.Pool(options.processes, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        for kind in options.kind or KINDS:
            if not _all_kept(pool, kind, options.first, options.count or KINDS[kind].inputs, ends):
                return 1
    return 0


def _all_kept(pool: Pool, kind: str, first: int, count: int, ends: float) -> bool:
    """Run the inputs of one kind; whether no promise was broken."""
    began = told = time.monotonic()
    done, last = 0, first + count
    batches = ((kind, at, min(BATCH, last - at), ends) for at in range(first, last, BATCH))
    for batch in pool.imap_unordered(_run, batches):
        done += batch.inputs
        if batch.failure:
            _say(batch.failure)
            return False
        now = time.monotonic()
        if now - told > PROGRESS_S:
            told = now
            _say(f"{kind}: {done:,} of {count:,}, {done / (now - began):,.0f} a second")
    _say(f"{kind}: {done:,} of {count:,} in {time.monotonic() - began:,.0f} s, no broken promise")
    return True


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.properties.fuzz", description="Random inputs of all kinds.")
    parser.add_argument("--kind", action="append", choices=KINDS, help="of which inputs; may be repeated (all)")
    parser.add_argument("--count", type=int, help="how many of each kind (those of `KINDS` in failures.py)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin nothing after this time")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="how many (one for each processor)")
    return parser.parse_args()


def _run(batch: tuple[str, int, int, float]) -> Batch:
    kind, first, inputs, ends = batch
    return run_seeds(kind, first, inputs) if time.monotonic() < ends else Batch(0, None)


def _say(line: str) -> None:
    print(line.encode(errors="backslashreplace").decode(), flush=True)  # noqa: T201 -- it talks to people


if __name__ == "__main__":
    sys.exit(main())
