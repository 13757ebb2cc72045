"""Many random streams against the promises: `python -m tests.properties.fuzz`, or `make fuzz`.

Seeds are numbers in a row, so a run can be repeated and gone on with: `--first`. The first stream that breaks a promise
is printed with its seed, as small as it can be made, and ends the run with exit code 1.
"""

import argparse
import math
import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple

import msgspec

from tests.properties.checks import check, check_every_cut
from tests.properties.shrink import shrunk
from tests.properties.soup import BLOCK, Setting, Stream, setting_of, stream_of
from tests.support.promises import Broken

BATCH = 32 * BLOCK
"""Seeds that a process takes at once: a second or two of work."""

STUCK_S = 20
"""Processor time for one stream, of which a second has a thousand."""

PROGRESS_S = 10


class Batch(NamedTuple):
    """What came of some seeds."""

    streams: int
    failure: str | None


def run_seeds(first: int, streams: int) -> Batch:
    """Check these seeds, up to the first that fails."""
    for seed in range(first, first + streams):
        if failure := failure_of(seed):
            return Batch(seed - first, failure)
    return Batch(streams, None)


def failure_of(seed: int) -> str | None:
    """What is wrong with the stream of a seed, told with the smallest one that still has something wrong."""
    setting, stream = setting_of(seed), stream_of(seed)
    try:
        with _in_time():
            check(setting, stream, random.Random(f"cuts {seed}"))
    except Exception as problem:  # noqa: BLE001 -- whatever it is, it is what the run looks for
        return report(seed, setting, stream, problem)
    return None


def report(seed: int, setting: Setting, stream: Stream, problem: Exception) -> str:
    """A failure for people: what broke, under which options, and the smallest stream."""

    def fails(candidate: Stream) -> bool:
        return _problem(setting, candidate) is not None

    least = shrunk(stream, fails) if fails(stream) else stream
    grammar = setting.grammar
    lines = [
        f"seed {seed}: {type(problem).__name__}: {problem}",
        f"  again: python -m tests.properties.fuzz --first {seed} --streams 1",
        f"  options: {msgspec.to_builtins(grammar.options)}",
        f"  limits: {grammar.limits}",
        f"  smallest: {_problem(setting, least)!r}",
        *(f"    {step.kind}({step.value!r})" for step in least.steps),
        f"    finish({least.reason!r})",
    ]
    return "\n".join(lines)


def _problem(setting: Setting, stream: Stream) -> Exception | None:
    try:
        with _in_time():
            check_every_cut(setting, stream)
    except Exception as problem:  # noqa: BLE001 -- as above
        return problem
    return None


@contextmanager
def _in_time() -> Iterator[None]:
    """A stream that is parsed for ever is a failure like any other."""
    before = signal.signal(signal.SIGVTALRM, _stuck)
    signal.setitimer(signal.ITIMER_VIRTUAL, STUCK_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _stuck(_signal: int, _frame: FrameType | None) -> None:
    raise Broken(f"P7: still parsing after {STUCK_S} s")


def main() -> int:
    """Read the options, run, tell."""
    options = _options()
    began = told = time.monotonic()
    ends = began + options.minutes * 60
    last, done = options.first + options.streams, 0
    batches = ((first, min(BATCH, last - first), ends) for first in range(options.first, last, BATCH))
    with multiprocessing.Pool(options.processes, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        for batch in pool.imap_unordered(_run, batches):
            done += batch.streams
            if batch.failure:
                _say(batch.failure)
                return 1
            now = time.monotonic()
            if now - told > PROGRESS_S:
                told = now
                _say(f"{done:,} of {options.streams:,} streams, {done / (now - began):,.0f} a second")
    _say(f"{done:,} of {options.streams:,} streams in {time.monotonic() - began:,.0f} s: no broken promise")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.properties.fuzz", description="Random streams, all formats.")
    parser.add_argument("--streams", type=int, default=1_000_000, help="how many (a million)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin nothing after this time")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="how many (one for each processor)")
    return parser.parse_args()


def _run(batch: tuple[int, int, float]) -> Batch:
    first, streams, ends = batch
    return run_seeds(first, streams) if time.monotonic() < ends else Batch(0, None)


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 -- it talks to people


if __name__ == "__main__":
    sys.exit(main())
