"""What the pages say of adding a format, a codec, a dialect or a metric is all there is to do."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance import shared_cases
from tests.conformance.test_formats import FEWEST
from tests.structure.test_add_a_format import block
from tests.structure.tree import CHECKOUT, TESTS

LEFT_OUT = shutil.ignore_patterns("__pycache__", "node_modules", ".*_cache", "*.pyc", "pictures")

METRIC = """METRICS: tuple[Metric, ...] = (
    Metric("tokenmill_widgets_total", "counter", "Widgets that were seen.", ("kind",)),
"""

COUNTED = """    numbers.read("tokenmill_widgets_total", lambda: [(("round",), 1)])
"""

TEST = '''"""The {kind} `{name}`."""

from tokenmill.{kind}s.{name} import {constant}


def test_its_name() -> None:
    """It is known by it."""
    assert {constant}.name == "{name}"
'''


def listed(text: str, kind: str, name: str, constant: str) -> str:
    """A list of components with one line more, and its import."""
    imported = f"from tokenmill.{kind}s.{name} import {constant}\n"
    text = text.replace(f"from tokenmill.{kind}s.", f"{imported}from tokenmill.{kind}s.", 1)
    return re.sub(
        rf"^({kind.upper()}S: .*\n +\(\n(?: +\w+,\n)+)", rf"\1        {constant},\n", text, flags=re.MULTILINE
    )


def add(checkout: Path, kind: str, name: str, source: str) -> None:
    """A component as the page says: its file, and its line in the list."""
    constant = name.upper()
    folder = checkout / "service" / "tokenmill" / f"{kind}s"
    (folder / f"{name}.py").write_text(source)
    before = (folder / "__init__.py").read_text()
    after = listed(before, kind, name, constant)
    assert len(after.splitlines()) == len(before.splitlines()) + 2
    (folder / "__init__.py").write_text(after)


def run(checkout: Path, *arguments: str) -> str:
    """What a program of that checkout prints."""
    path = os.pathsep.join([str(checkout / "service"), str(checkout)])
    cases = shared_cases.folder()
    named = {"TOKENMILL_CASES": str(cases.parent)} if cases else {}
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=checkout,
        env={**os.environ, **named, "PYTHONPATH": path, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout with one of each more, and its generated files written."""
    checkout = tmp_path_factory.mktemp("checkout")
    for name in ("service", "tests", "docs", "deploy", "helm"):
        shutil.copytree(CHECKOUT / name, checkout / name, ignore=LEFT_OUT)
    for name in ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE"):
        shutil.copy(CHECKOUT / name, checkout / name)
    (checkout / "docs" / "pictures").symlink_to(CHECKOUT / "docs" / "pictures")
    add(checkout, "format", "acme", block("python").text)
    cases = [block("json").text.strip().replace("two calls", f"two calls {number}") for number in range(FEWEST)]
    (checkout / "tests" / "cases" / "formats" / "acme.jsonl").write_text("\n".join(cases) + "\n")
    for kind, name in (("codec", "rot13"), ("dialect", "shout")):
        add(checkout, kind, name, (TESTS / "support" / "plugin" / f"{name}.py").read_text())
        test = TEST.format(kind=kind, name=name, constant=name.upper())
        (checkout / "tests" / f"{kind}s" / f"test_{name}.py").write_text(test)
    table = checkout / "service" / "tokenmill" / "observe" / "table.py"
    table.write_text(table.read_text().replace("METRICS: tuple[Metric, ...] = (\n", METRIC))
    gauges = checkout / "service" / "tokenmill" / "worker" / "gauges.py"
    gauges.write_text(gauges.read_text() + COUNTED)
    run(checkout, "tokenmill.gen")
    return checkout


def test_what_was_added_has_its_pages(grown: Path) -> None:
    """They follow from the lists and from the table."""
    reference = grown / "docs" / "reference"
    assert "[call get_weather]" in (reference / "formats" / "acme.md").read_text()
    for page, word in (("formats", "acme"), ("codecs", "rot13"), ("dialects", "shout")):
        assert f"`{word}`" in (reference / f"{page}.md").read_text()
    assert "tokenmill_widgets_total" in (reference / "metrics.md").read_text()


def test_the_suite_finds_what_was_added(grown: Path) -> None:
    """Its cases are cut everywhere, it is held to what all are held to, and nothing else has to be told of it."""
    suites = ["tests/conformance/test_formats.py", "tests/codecs/test_codec.py", "tests/dialects/test_dialect.py"]
    own = run(grown, "pytest", "-q", "-p", "no:cacheprovider", "-k", "acme or rot13 or shout", *suites)
    assert int(re.findall(r"(\d+) passed", own)[-1]) > len(suites)
    shape = ["tests/structure/test_components.py", "tests/structure/test_shape.py", "tests/observe/test_table.py"]
    run(grown, "pytest", "-q", "-p", "no:cacheprovider", *shape)
