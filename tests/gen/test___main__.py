"""`python -m tokenmill.gen` keeps the generated files of the checkout up to date."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from tokenmill import gen
from tokenmill.gen import __main__ as command


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


def test_every_reference_page_is_generated() -> None:
    """The reference is made from the code as a whole."""
    pages = {path.name for path in (command.CHECKOUT / "docs" / "reference").iterdir()}
    assert pages == {Path(name).name for name in gen.FILES if name.startswith("docs/reference/")}
