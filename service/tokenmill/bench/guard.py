"""Compare the processor time of what every record passes through with figures that the repository keeps.

Rules of this file:

1. A figure is processor time over that of a reference which runs in turns with it: the median of the ratios of all
   rounds. So neither other programs nor a slow machine matter much.
2. Nothing is reported as costing more before it is measured again, in more rounds and up to three times: the lowest
   figure counts, since what others do with the processor's caches only adds.
3. Another processor or another Python does not change references and figures alike: there the tolerance is wider.
"""

import platform
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from tokenmill.bench.clock import Progress, in_turns, median_ratio
from tokenmill.bench.conditions import processor
from tokenmill.bench.guarded import Guarded, guarded
from tokenmill.bench.pipeline import run_pipeline
from tokenmill.bench.workbench import PASS_THROUGH, SIDES
from tokenmill.errors import FatalError

KEPT = Path(__file__).with_name("guard.json")
"""File of the figures, written by `bench guard --write`."""

TOLERANCE = 1.25
"""Factor of the kept figure that is tolerated. With six times as many programs as processors, six runs gave 0.95 to
1.07 times their median."""

ELSEWHERE = 1.6
"""Factor that is tolerated on another processor, with another Python, or for whole workers, whose batch sizes vary:
figures of `bench parser` on an AMD EPYC were 1.2 to 1.35 times those on an Intel Xeon."""

COSTS_MORE = "costs more"

AGAIN = 3
"""Factor by which the rounds grow when something is measured again."""

TRIES = 3
"""How often it is: a figure that others disturbed was 1.6 times the kept one twice in a row; in other runs it was 1.2
to 1.3 times that."""

RECORDS, ROUNDS = 200_000, 3
"""Records and rounds for whole workers on a real Kafka: about a minute."""


class Kept(msgspec.Struct, frozen=True):
    """The figures that the repository keeps."""

    python: str
    processor: str
    figures: dict[str, float]
    on_kafka: dict[str, float] = {}
    """Figures of whole workers."""

    @property
    def tolerance(self) -> float:
        """Return the tolerance for a comparison on this machine."""
        same = self.processor == processor() and _minor(self.python) == _minor(platform.python_version())
        return TOLERANCE if same else ELSEWHERE


class Figure(msgspec.Struct, frozen=True):
    """One line of a comparison. A figure that is not kept, or no longer measured, is None."""

    name: str
    unit: str
    kept: float | None
    now: float | None
    tolerance: float

    @property
    def ratio(self) -> float | None:
        """Return the figure over the kept one."""
        return self.now / self.kept if self.now is not None and self.kept is not None else None

    @property
    def verdict(self) -> str:
        """Return the verdict in a word."""
        if self.ratio is None:
            return "not kept" if self.kept is None else "not measured"
        return COSTS_MORE if self.ratio > self.tolerance else "ok"


class Comparison(msgspec.Struct, frozen=True):
    """All figures of a comparison."""

    kept: Kept
    figures: list[Figure]

    @property
    def problems(self) -> list[str]:
        """Return the problems, one sentence each."""
        said = {
            "not kept": "is measured, and no figure of it is kept",
            "not measured": "has a kept figure, and nothing measures it",
            COSTS_MORE: "costs more than it did",
        }
        return [f"{figure.name} {said[figure.verdict]}" for figure in self.figures if figure.verdict in said]


def run_guard(*, rounds: int, kafka: bool, progress: Progress) -> Comparison:
    """Measure, and compare with the kept figures; a figure that costs more is measured again."""
    kept = read(KEPT)
    subjects = list(guarded())
    now = measure(subjects, rounds, progress)
    for _ in range(TRIES):
        doubtful = {figure.name for figure in compare(kept, subjects, now).figures if figure.verdict == COSTS_MORE}
        again = measure([each for each in subjects if each.name in doubtful], rounds * AGAIN, progress)
        now |= {name: min(figure, now[name]) for name, figure in again.items()}
    return compare(kept, subjects, now, on_kafka(progress) if kafka else None)


def write_guard(*, rounds: int, kafka: bool, progress: Progress) -> Comparison:
    """Measure, and keep the figures; return how they compare with those kept before."""
    before = read(KEPT) if KEPT.exists() else _kept({}, {})
    subjects = list(guarded())
    now, workers = measure(subjects, rounds, progress), on_kafka(progress) if kafka else None
    kept = _kept(now, before.on_kafka if workers is None else workers)
    KEPT.write_bytes(msgspec.json.format(msgspec.json.encode(kept)) + b"\n")
    return compare(before, subjects, now, workers)


def read(path: Path) -> Kept:
    """Return the kept figures. Raises `FatalError`."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Kept)
    except (OSError, msgspec.DecodeError) as problem:
        raise FatalError(f"no figures can be read from {path}: {problem}") from problem


def measure(subjects: Iterable[Guarded], rounds: int, progress: Progress) -> dict[str, float]:
    """Return a figure for each."""
    figures = {}
    for subject in subjects:
        seconds = in_turns({"reference": subject.reference, "subject": subject.run}, rounds)
        ratio = median_ratio(seconds["subject"], seconds["reference"])
        figures[subject.name] = ratio * subject.references / subject.units
        progress(f"{subject.name}: {figures[subject.name]:.2f} {subject.unit}")
    return figures


def on_kafka(progress: Progress) -> dict[str, float]:
    """Return the processor time of a record in whole workers on a real Kafka, relative to a pass-through's."""
    report = run_pipeline(bootstrap=None, records=RECORDS, rounds=ROUNDS, latency=False, progress=progress)
    efforts = {side: report.effort(side, PASS_THROUGH) for side in SIDES if side != PASS_THROUGH}
    return {f"a worker, {side}": effort for side, effort in efforts.items() if effort is not None}


def compare(
    kept: Kept, subjects: Iterable[Guarded], now: Mapping[str, float], workers: Mapping[str, float] | None = None
) -> Comparison:
    """Compare each figure with the kept one, or with nothing if one is missing; workers' only if they were measured."""
    units = {each.name: each.unit for each in subjects}
    figures = list(_compared(kept.figures, now, units, kept.tolerance))
    if workers is not None:
        figures += _compared(kept.on_kafka, workers, dict.fromkeys(workers, "pass-throughs a record"), ELSEWHERE)
    return Comparison(kept, figures)


def _compared(
    kept: Mapping[str, float], now: Mapping[str, float], units: Mapping[str, str], tolerance: float
) -> Iterator[Figure]:
    for name in [*now, *(name for name in kept if name not in now)]:
        yield Figure(name, units.get(name, ""), kept.get(name), now.get(name), tolerance)


def _kept(figures: Mapping[str, float], workers: Mapping[str, float]) -> Kept:
    measured = ({name: round(figure, 2) for name, figure in each.items()} for each in (figures, workers))
    return Kept(platform.python_version(), processor(), *measured)


def _minor(version: str) -> str:
    return version.rpartition(".")[0]
