"""`python -m tokenmill.gen` keeps the generated files of the checkout up to date."""

from pathlib import Path, PurePath

import pytest
from click.testing import CliRunner

from tokenmill import gen
from tokenmill.gen import __main__ as command
from tokenmill.gen import benchmarks


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty checkout with one generated file."""
    monkeypatch.setattr(command, "CHECKOUT", tmp_path)
    monkeypatch.setattr(command, "FILES", {"docs/page.md": lambda: "text\n"})
    return tmp_path


def test_it_writes_what_is_missing_and_then_nothing(checkout: Path) -> None:
    """The second run finds everything up to date."""
    first = CliRunner().invoke(command.main)
    assert (first.exit_code, first.output) == (0, "written: docs/page.md\n")
    assert (checkout / "docs" / "page.md").read_text() == "text\n"
    second = CliRunner().invoke(command.main)
    assert (second.exit_code, second.output) == (0, "")


def test_check_names_what_is_out_of_date_and_writes_nothing(checkout: Path) -> None:
    """Exit code 1 and the file's name."""
    page = checkout / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text("old\n")
    run = CliRunner().invoke(command.main, ["--check"])
    assert run.exit_code == 1
    assert "out of date: docs/page.md" in run.output
    assert page.read_text() == "old\n"


def test_what_nothing_makes_any_more_is_out_of_date(checkout: Path) -> None:
    """The page of a format that is gone is named by --check, and removed by a run without it."""
    page = checkout / command.GENERATED / "formats" / "gone.md"
    page.parent.mkdir(parents=True)
    page.write_text("old\n")
    CliRunner().invoke(command.main)
    page.write_text("old\n")
    check = CliRunner().invoke(command.main, ["--check"])
    assert check.exit_code == 1
    assert f"made by nothing: {command.GENERATED}/formats/gone.md" in check.output
    assert page.exists()
    run = CliRunner().invoke(command.main)
    assert (run.exit_code, run.output) == (0, f"removed: {command.GENERATED}/formats/gone.md\n")
    assert not page.exists()


def test_a_plot_that_nothing_draws_is_out_of_date(checkout: Path) -> None:
    """It is removed, and pictures of other kinds are left alone."""
    folder = checkout / "docs" / "pictures"
    folder.mkdir(parents=True)
    for name in ("bench-gone.svg", "inspector.png"):
        (folder / name).touch()
    run = CliRunner().invoke(command.main)
    assert (run.exit_code, run.output) == (0, "written: docs/page.md\nremoved: docs/pictures/bench-gone.svg\n")
    assert [path.name for path in folder.iterdir()] == ["inspector.png"]


def test_generated_pages_lie_where_they_are_looked_for() -> None:
    """Else one that is gone would stay. Of pages with plots only the plots are generated."""
    illustrated = {f"{benchmarks.PAGES}/{plot.page}.md" for plot in benchmarks.PLOTS}
    names = {name for name in gen.FILES if name.startswith("docs/")} - illustrated
    elsewhere = {name for name in names if not name.startswith(f"{command.GENERATED}/")}
    assert all(PurePath(name).match(command.PLOTS) for name in elsewhere)
