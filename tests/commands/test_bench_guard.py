"""`tokenmill bench guard`: what it prints of given results."""

from collections.abc import Callable

import pytest
from click.testing import CliRunner

from tokenmill.bench.guard import TOLERANCE, Comparison, Figure, Kept
from tokenmill.commands import bench_guard
from tokenmill.commands.bench import command

KEPT = Kept("3.11.7", "a Z80", {"plain text": 4.0})
FINE = Comparison(KEPT, [Figure("plain text", "loops", 4.0, 4.4, TOLERANCE)])
SLOW = Comparison(KEPT, [Figure("plain text", "loops", 4.0, 6.0, TOLERANCE)])

Asked = list[dict[str, object]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[[Comparison], Asked]:
    """Answer with a result; what was asked for is in the list."""

    def answer(found: Comparison) -> Asked:
        calls: Asked = []

        def run(*, progress: Callable[[str], None], **options: object) -> Comparison:
            progress("plain text: measured")
            calls.append(options)
            return found

        monkeypatch.setattr(bench_guard, "run_guard", run)
        monkeypatch.setattr(bench_guard, "write_guard", lambda **options: run(**options, writes=True))
        return calls

    return answer


def test_figures_are_printed_beside_what_is_kept(asked: Callable[[Comparison], Asked]) -> None:
    """With the tolerance, and under what they were measured."""
    calls = asked(FINE)
    done = CliRunner().invoke(command, ["guard", "--rounds", "3"])
    lines = [line.split() for line in done.stdout.splitlines()]
    assert done.exit_code == 0
    assert ["plain", "text", "loops", "4.00", "4.40", "1.10", "ok"] in lines
    assert "of CPython 3.11.7 on a Z80" in done.stdout
    assert "load average afterwards" in done.stdout
    assert calls == [{"rounds": 3, "kafka": False}]


def test_what_costs_more_ends_with_an_error(asked: Callable[[Comparison], Asked]) -> None:
    """After the table, so that CI fails and the reader sees by how much."""
    asked(SLOW)
    done = CliRunner().invoke(command, ["guard"])
    assert done.exit_code == 1
    assert "costs more" in done.stdout
    assert "Error: plain text costs more than it did" in done.stderr


def test_figures_are_written_on_demand(asked: Callable[[Comparison], Asked]) -> None:
    """Whatever was kept before: who writes has decided."""
    calls = asked(SLOW)
    done = CliRunner().invoke(command, ["guard", "--kafka", "--write"])
    assert done.exit_code == 0
    assert "written to" in done.stdout
    assert calls == [{"rounds": 25, "kafka": True, "writes": True}]
