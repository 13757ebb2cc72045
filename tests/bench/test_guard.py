"""What costs more processor time than it did is noticed, and nothing else."""

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tokenmill.bench import guard
from tokenmill.bench.conditions import processor
from tokenmill.bench.guard import (
    COSTS_MORE,
    ELSEWHERE,
    KEPT,
    TOLERANCE,
    Kept,
    compare,
    measure,
    on_kafka,
    read,
    run_guard,
    write_guard,
)
from tokenmill.bench.guarded import Guarded
from tokenmill.bench.load import Load, Shape
from tokenmill.bench.parser import reference_loop
from tokenmill.bench.pipeline import Pipeline
from tokenmill.bench.throughput import Run
from tokenmill.bench.workbench import AT_LEAST_ONCE, EXACTLY_ONCE, PASS_THROUGH
from tokenmill.errors import FatalError

ROUNDS = 15
"""Of the comparison that each check of a change makes: about ten seconds."""

CHUNKS = ["text"] * 20_000


@pytest.mark.slow
def test_nothing_costs_more_than_is_kept(record_property: Callable[[str, object], None]) -> None:
    """Parser, records, dialects and snapshots; what else runs here meanwhile counts for little."""
    # In a process of its own: here the collector, and whoever looks at coverage, have more to do.
    alone = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    command = [sys.executable, "-m", "tokenmill", "bench", "guard", "--rounds", str(ROUNDS)]
    run = subprocess.run(command, env=alone, capture_output=True, text=True, timeout=240, check=False)
    record_property("report", run.stdout)
    assert run.returncode == 0, run.stderr


def here(**figures: float) -> Kept:
    """Figures that were kept on this machine."""
    return Kept(platform.python_version(), processor(), figures)


def subject(name: str, times: int, turns: Callable[[], None] = lambda: None) -> Guarded:
    """A thing that takes so many loops; `turns` is called in each of its turns."""

    def run() -> None:
        turns()
        for _ in range(times):
            reference_loop(CHUNKS)

    return Guarded(name, "loops", run, len(CHUNKS), lambda: reference_loop(CHUNKS), len(CHUNKS))


def verdicts(kept: Kept, now: Mapping[str, float]) -> dict[str, str]:
    """By name."""
    return {figure.name: figure.verdict for figure in compare(kept, [], now).figures}


def test_half_as_much_again_is_noticed() -> None:
    """And what is within the tolerance is not, nor what costs less."""
    kept = here(one=4.0, two=4.0, three=4.0)
    found = compare(kept, [subject("one", 1)], {"one": 6.0, "two": 4.0 * TOLERANCE, "three": 1.0})
    assert [figure.verdict for figure in found.figures] == [COSTS_MORE, "ok", "ok"]
    assert [figure.unit for figure in found.figures] == ["loops", "", ""]
    assert found.problems == ["one costs more than it did"]
    assert found.figures[0].ratio == 1.5


def test_all_that_is_kept_is_noticed_if_it_is_half_as_much_again() -> None:
    """Every figure of the repository, on the machine that it is of."""
    kept = here(**read(KEPT).figures)
    assert set(verdicts(kept, {name: 1.5 * figure for name, figure in kept.figures.items()}).values()) == {COSTS_MORE}


def test_names_that_only_one_side_has_are_said() -> None:
    """A figure that is new has to be kept, one that nothing measures any more has to go."""
    found = compare(here(old=1.0), [], {"new": 1.0})
    assert found.problems == [
        "new is measured, and no figure of it is kept",
        "old has a kept figure, and nothing measures it",
    ]
    assert [figure.ratio for figure in found.figures] == [None, None]


@pytest.mark.parametrize("kept", [Kept("2.7.18", processor(), {"one": 1.0}), Kept("3.11.7", "a Z80", {"one": 1.0})])
def test_another_machine_is_given_more_room(kept: Kept) -> None:
    """References are not slowed and quickened as what is measured is."""
    assert verdicts(kept, {"one": 1.5}) == {"one": "ok"}
    assert verdicts(kept, {"one": ELSEWHERE + 0.01}) == {"one": COSTS_MORE}


def test_another_patch_of_the_same_python_is_the_same() -> None:
    """Its interpreter runs the same code as fast."""
    minor = platform.python_version().rpartition(".")[0]
    assert Kept(f"{minor}.0", processor(), {}).tolerance == TOLERANCE


def test_workers_are_compared_if_they_were_measured() -> None:
    """With the wider tolerance; otherwise nothing is said of them."""
    kept = Kept(platform.python_version(), processor(), {}, {"a worker": 2.0})
    assert compare(kept, [], {}).figures == []
    (figure,) = compare(kept, [], {}, {"a worker": 3.0}).figures
    assert (figure.unit, figure.verdict) == ("pass-throughs a record", "ok")


def test_a_figure_is_how_many_references_it_takes() -> None:
    """Whatever the machine is at."""
    said: list[str] = []
    figures = measure([subject("one", 1), subject("three", 3)], 15, said.append)
    assert 2 < figures["three"] / figures["one"] < 4
    assert [sentence.split(":")[0] for sentence in said] == ["one", "three"]


@pytest.fixture
def kept_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where figures are kept during a test."""
    path = tmp_path / "guard.json"
    monkeypatch.setattr(guard, "KEPT", path)
    return path


def test_what_is_written_is_what_is_compared_with(kept_at: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a figure that was only slow once is no problem; one that stays so is."""
    slow: Iterator[range] = iter([])

    def hampered() -> None:
        for _ in next(slow, ()):
            reference_loop(CHUNKS)

    monkeypatch.setattr(guard, "TOLERANCE", 4.0)  # whatever else runs here slows a loop by less
    monkeypatch.setattr(guard, "guarded", lambda: iter([subject("one", 1, hampered), subject("two", 1)]))
    first = write_guard(rounds=5, kafka=False, progress=lambda _: None)
    assert {figure.verdict for figure in first.figures} == {"not kept"}
    assert read(kept_at).figures.keys() == {"one", "two"}
    slow = iter([range(20)] * 5)
    assert run_guard(rounds=5, kafka=False, progress=lambda _: None).problems == []
    assert next(slow, None) is None
    slow = iter([range(20)] * 100)
    found = run_guard(rounds=5, kafka=False, progress=lambda _: None)
    assert found.problems == ["one costs more than it did"]
    assert len(list(slow)) == 100 - 5 - 5 * guard.AGAIN * guard.TRIES


def test_workers_are_told_in_pass_throughs(kept_at: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each delivery; they are kept until they are measured again."""
    processors = {PASS_THROUGH: 0.4, AT_LEAST_ONCE: 0.8, EXACTLY_ONCE: 1.0}
    runs = {side: [Run(100_000.0, share, None)] for side, share in processors.items()}
    monkeypatch.setattr(guard, "run_pipeline", lambda **_: Pipeline(Load(1), Shape(1, 1), 4, runs, {}))
    monkeypatch.setattr(guard, "guarded", lambda: iter(()))
    workers = {f"a worker, {AT_LEAST_ONCE}": 2.0, f"a worker, {EXACTLY_ONCE}": 2.5}
    assert on_kafka(lambda _: None) == workers
    write_guard(rounds=1, kafka=True, progress=lambda _: None)
    write_guard(rounds=1, kafka=False, progress=lambda _: None)
    assert read(kept_at).on_kafka == workers
    assert run_guard(rounds=1, kafka=True, progress=lambda _: None).problems == []


def test_figures_that_cannot_be_read_are_said_to_be(tmp_path: Path) -> None:
    """Nothing can be compared then."""
    path = tmp_path / "guard.json"
    with pytest.raises(FatalError, match="no figures can be read"):
        read(path)
    path.write_text("{}")
    with pytest.raises(FatalError, match="no figures can be read"):
        read(path)
