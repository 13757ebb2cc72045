"""Time functions fairly: turn by turn, without the garbage collector, the median of several rounds."""

import gc
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import fmean, median
from time import perf_counter

Timed = Callable[[], object]


def medians(functions: Mapping[str, Timed], rounds: int) -> dict[str, float]:
    """Seconds that each function takes: A B A B …, so that a slow moment of the machine hits all of them."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    with _collector_off():
        for _ in range(rounds):
            for name, function in functions.items():
                started = perf_counter()
                function()
                times[name].append(perf_counter() - started)
                gc.collect()
    return {name: median(taken) for name, taken in times.items()}


def growth_exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Slope of log(seconds) over log(size): 1 is linear, 2 quadratic."""
    xs, ys = [math.log(size) for size in sizes], [math.log(taken) for taken in seconds]
    middle_x, middle_y = fmean(xs), fmean(ys)
    rise = sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True))
    return rise / sum((x - middle_x) ** 2 for x in xs)


@contextmanager
def _collector_off() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
