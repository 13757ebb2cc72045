"""The pages are a site: it is built without a warning, holds every page, and its search finds them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.structure.tree import CHECKOUT, DOCS

BUILD_S = 180


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `make site` builds it."""
    folder = tmp_path_factory.mktemp("site")
    options = ["--fail-on-warning", "--quiet", "--conf-dir", "docs/site", "--doctree-dir", f"{folder}/doctrees"]
    command = [sys.executable, "-m", "sphinx", *options, ".", f"{folder}/html"]
    built = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=BUILD_S, check=False)
    assert (built.returncode, built.stdout, built.stderr) == (0, "", "")
    return folder / "html"


def test_every_page_is_there_and_can_be_found(site: Path) -> None:
    """None is left out of the search's index; a link to a page that is not there would be a warning."""
    index = re.fullmatch(r"Search\.setIndex\((.*)\)", (site / "searchindex.js").read_text())
    assert index
    pages = {str(page.relative_to(CHECKOUT).with_suffix("")) for page in DOCS.rglob("*.md")}
    assert pages <= set(json.loads(index[1])["docnames"])


def test_the_first_page_leads_on(site: Path) -> None:
    """Who opens the folder sees the index."""
    target = re.search(r"url=([\w/.]+)", (site / "index.html").read_text())
    assert target
    assert "turns the raw token stream" in (site / target[1]).read_text()
