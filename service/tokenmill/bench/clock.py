"""Time functions fairly: turn by turn, without the garbage collector, and by the median of several rounds."""

import gc
import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median, quantiles
from time import thread_time
from typing import TypeAlias

from tokenmill.garbage import gc_paused

Timed = Callable[[], object]

Progress: TypeAlias = Callable[[str], None]
"""Takes a sentence about each step of a benchmark."""


def in_turns(functions: Mapping[str, Timed], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of processor time that each function takes in each round, in turns: A B A B ….

    So a slow moment of the machine affects all of them, and other programs affect none.
    """
    times: dict[str, list[float]] = {name: [] for name in functions}
    gc.collect()
    gc.freeze()  # collect only what a round made: all objects of a large process take seconds
    with gc_paused():
        for _ in range(rounds):
            for name, function in functions.items():
                started = thread_time()
                function()
                times[name].append(thread_time() - started)
            gc.collect()
    return times


def median_ratio(of: Sequence[float], to: Sequence[float]) -> float:
    """Return the median of the ratios of times taken in turns: a slow round is slow for both."""
    return median(one / other for one, other in zip(of, to, strict=True))


def p50_p99(of: Sequence[float]) -> tuple[float, float]:
    """Return the median and the 99th percentile."""
    cuts = quantiles(of, n=100)
    return cuts[49], cuts[98]


def growth_exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the slope of log(seconds) over log(size): 1 is linear, 2 quadratic."""
    xs, ys = [math.log(size) for size in sizes], [math.log(taken) for taken in seconds]
    middle_x, middle_y = fmean(xs), fmean(ys)
    rise = sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True))
    return rise / sum((x - middle_x) ** 2 for x in xs)
