"""Switching off what makes the promises of delivery true is noticed, each time.

Each ablation is made in a copy of the package, and the test that the table names must fail on it, however often it is
run. All runs share one Kafka and one Redis. `make ablations` makes all of them and runs each test three times; a few,
run once, are among all other tests.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

import pytest

from tests.ablations.ablation import Ablation, Change
from tests.ablations.page import row
from tests.ablations.table import ABLATIONS

CHECKOUT = Path(__file__).parents[2]
PACKAGE = CHECKOUT / "service" / "tokenmill"
PAGE = CHECKOUT / "docs" / "topics" / "faults.md"

TIMES = int(os.environ.get("TOKENMILL_ABLATIONS", "0"))
"""How often the tests of all ablations are run; with 0 those of the quick ones, once."""

QUICK = (
    "every owner of a partition has the same transactional id",
    "an offset is committed only when its outputs are acknowledged",
    "a replay writes no dead letters",
)
"""The parts that every run of the tests switches off: of a takeover, of an order, of a restore."""

RUN_S = 180
"""For one run of a test: a few seconds, two of which are imports; and many times that on a busy machine."""


class Verdict(NamedTuple):
    """How runs of tests ended."""

    ran: int
    """How often the tests ran."""
    passed: bool
    """Whether all of them did."""
    refuted: int
    """How often one failed by what it compares; not by a time-out, a fixture or a copy that is broken."""
    told: str


class Bench:
    """A copy of the package, and the servers that the tests use."""

    def __init__(self, folder: Path, bootstrap: str, redis_url: str) -> None:
        self._report = folder / "report.xml"
        self._copy = folder / "tokenmill"
        self._environ = {
            **os.environ,
            "PYTHONPATH": str(folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TOKENMILL_TEST_BOOTSTRAP": bootstrap,
            "TOKENMILL_TEST_REDIS": redis_url,
        }
        shutil.copytree(PACKAGE, self._copy)

    @contextmanager
    def without(self, changes: Iterable[Change]) -> Iterator[None]:
        """The copy has these changes for a while."""
        sources = {path: path.read_text() for path in (self._copy / change.file for change in changes)}
        try:
            for change in changes:
                path = self._copy / change.file
                path.write_text(path.read_text().replace(change.right, change.wrong))
            yield
        finally:
            for path, source in sources.items():
                path.write_text(source)

    def verdict(self, *tests: str, times: int = 1) -> Verdict:
        """What these tests, each run so many times, say of the copy as it is."""
        self._report.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={self._report}", "-p", "no:cacheprovider"]
        command += ["-p", "tests.ablations.again", f"--again={times}", *(f"tests/{test}" for test in tests)]
        seconds = RUN_S * len(tests) * times
        run = subprocess.run(
            command, cwd=CHECKOUT, env=self._environ, text=True, capture_output=True, timeout=seconds, check=False
        )
        report = ET.parse(self._report)  # noqa: S314 -- pytest's own
        messages = [failure.get("message", "") for failure in report.iter("failure")]
        refuted = [message.removeprefix("AssertionError: ").startswith("assert ") for message in messages]
        return Verdict(len(list(report.iter("testcase"))), run.returncode == 0, sum(refuted), run.stdout)


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory, kafka: str, redis_url: str) -> Bench:
    """One for the run."""
    return Bench(tmp_path_factory.mktemp("ablations"), kafka, redis_url)


@pytest.mark.parametrize("ablation", ABLATIONS, ids=lambda ablation: ablation.part)
def test_an_ablation_fits(ablation: Ablation) -> None:
    """Each of its changes is of one place in the code as it is now."""
    assert ablation.changes
    for change in ablation.changes:
        assert (PACKAGE / change.file).read_text().count(change.right) == 1, change


def test_the_page_has_the_same_table() -> None:
    """What readers are told is what is tested."""
    table = PAGE.read_text().partition("| part | without it | test |\n| --- | --- | --- |\n")[2]
    assert table.splitlines() == [row(ablation) for ablation in ABLATIONS]


def chosen() -> list[Ablation]:
    """All, or those that are made with all other tests."""
    by_part = {ablation.part: ablation for ablation in ABLATIONS}
    return list(ABLATIONS) if TIMES else [by_part[part] for part in QUICK]


@pytest.mark.integration
@pytest.mark.slow
def test_the_package_itself_passes(bench: Bench) -> None:
    """Otherwise it would prove nothing that ablations fail."""
    tests = sorted({ablation.test for ablation in chosen()})
    verdict = bench.verdict(*tests)
    assert (verdict.ran, verdict.passed) == (len(tests), True), verdict.told


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.parametrize("ablation", chosen(), ids=lambda ablation: ablation.part)
def test_what_is_switched_off_is_noticed(bench: Bench, ablation: Ablation) -> None:
    """The test of the table fails: every time, by what it compares."""
    times = max(TIMES, 1)
    with bench.without(ablation.changes):
        verdict = bench.verdict(ablation.test, times=times)
    assert verdict.refuted == times, verdict.told
