"""`tokenmill formats --check-template`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.support.drawn_bars import drawn_bar
from tests.templates.test_check import FOLDER, TEMPLATES
from tokenmill.commands import check_template
from tokenmill.commands.formats import command


def run(path: Path, *options: str) -> Result:
    return CliRunner().invoke(command, ["--check-template", str(path), *options])


def test_formats_that_read_all_are_listed_and_the_exit_code_is_0() -> None:
    """Below what the model writes by the template."""
    found = run(FOLDER / "hermes.jinja")
    assert found.exit_code == 0
    assert '  {"name": "run_check", "arguments": {"city": "Paris", "days": 3}}\n' in found.stdout
    assert "\nhermes  reads all 23\n" in found.stdout


def test_where_none_reads_all_the_best_are_listed_with_what_they_miss(tmp_path: Path) -> None:
    """And the exit code is 1."""
    path = tmp_path / "chat_template.jinja"
    path.write_text(
        TEMPLATES["hermes"].replace("call.arguments | tojson", "(call.arguments | tojson).replace('3', '4')")
    )
    found = run(path)
    assert found.exit_code == 1
    assert "No format reads all of it." in found.stdout
    assert "  a word and a number: days: 4 in place of 3\n" in found.stdout


def test_what_is_special_about_a_template_is_said() -> None:
    """What it does not render, and how it takes arguments."""
    assert "It does not render 'two calls': one call at a time, please" in run(FOLDER / "llama3_json.jinja").stdout
    assert "It takes arguments as JSON in a string." in run(FOLDER / "deepseek_v3.jinja").stdout


def test_a_template_acts_on_no_terminal(tmp_path: Path) -> None:
    """It is a file from somewhere, as what it writes is."""
    path = tmp_path / "chat_template.jinja"
    path.write_text(TEMPLATES["hermes"].replace("call.arguments | tojson", "(call.arguments | tojson) ~ '\x9b31m'"))
    found = run(path)
    assert "<U+009B>31m" in found.stdout
    assert "\x9b" not in found.stdout


def test_all_of_it_can_be_had_as_json() -> None:
    """For scripts."""
    report = json.loads(run(FOLDER / "harmony.jinja", "--json").stdout)
    assert report["verdicts"][0] == {
        "format": "harmony",
        "read": 23,
        "of": 23,
        "start": None,
        "misses": [],
    }


def test_a_person_sees_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes seconds: rendering, then each format."""
    bar = drawn_bar(monkeypatch, check_template)
    assert run(FOLDER / "hermes.jinja").exit_code == 0
    formats = len(bar.drawn) - 1
    assert formats > 0
    assert bar.drawn == [("rendering", 0, None), *(("trying formats", at, formats) for at in range(formats))]


def test_a_template_that_can_not_be_tried_is_an_error(tmp_path: Path) -> None:
    """With what to do, and no traceback."""
    path = tmp_path / "chat_template.jinja"
    path.write_text("{{ messages[0].content }}")
    found = run(path)
    assert (found.exit_code, found.stdout) == (1, "")
    assert "Error: the template renders no calls of the model" in found.stderr
