"""Programs of the pages are typed as users' own are: mypy takes them with `--strict`, pyright at its `standard`."""

import doctest
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.structure.pages import blocks
from tests.structure.tree import CHECKOUT, PACKAGE
from tests.support.judging import NODE, node

CHECK_S = 240


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a program for each that stands alone, and one for what a page builds up step by step."""
    folder = tmp_path_factory.mktemp("programs")
    for language in ("python", "python kafka", "python kafka tools"):
        for block in blocks(language):
            (folder / f"{_module(block.page)}_{block.line}.py").write_text(block.text)
    for page in {block.page for block in (*blocks("pycon"), *blocks("py"))}:
        sessions = [block.text for block in blocks("pycon") if block.page == page]
        steps = [step.source for text in sessions for step in doctest.DocTestParser().get_examples(text)]
        steps += [block.text for block in blocks("py") if block.page == page]
        (folder / f"{_module(page)}.py").write_text("\n".join(steps))
    assert len(list(folder.iterdir())) > len(blocks("python"))
    return folder


def _module(page: Path) -> str:
    return page.stem.replace("-", "_").lower()


def test_mypy_takes_every_program(programs: Path) -> None:
    """With `--strict`, and without any configuration."""
    known = f"--cache-dir={CHECKOUT / '.mypy_cache' / 'programs'}"  # what they import is looked at when it changes
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", known, str(programs)]
    run = subprocess.run(command, cwd=programs, capture_output=True, text=True, timeout=CHECK_S, check=False)
    assert run.returncode == 0, run.stdout


def test_pyright_takes_every_program(programs: Path) -> None:
    """It looks into the package itself, as it does where the package is installed."""
    settings = {"venvPath": str(CHECKOUT), "venv": ".venv", "extraPaths": [str(PACKAGE.parent)]}
    (programs / "pyrightconfig.json").write_text(json.dumps(settings | {"typeCheckingMode": "standard"}))
    command = [node(), str(NODE / "node_modules" / "pyright" / "index.js"), "--pythonpath", sys.executable]
    run = subprocess.run(command, cwd=programs, capture_output=True, text=True, timeout=CHECK_S, check=False)
    assert run.returncode == 0, run.stdout
