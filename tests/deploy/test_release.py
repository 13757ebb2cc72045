"""What a release is made of: built and checked as `docs/howto/release.md` says, up to what needs a registry."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.chart.tools import run as run_tool
from tests.structure.tree import CHECKOUT
from tests.support.making import made

DIST_S = 280
"""The tools of a release are fetched first."""

VERSION = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["version"]

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make dist` writes; it fails where twine, or what looks at wheels, has something to say."""
    folder = tmp_path_factory.mktemp("dist")
    assert "warn" not in made("dist", f"DIST={folder}", seconds=DIST_S).stderr.lower()
    return folder


def test_everything_is_there_with_its_checksum(dist: Path) -> None:
    """Wheel, sdist, and a bill of materials for each image."""
    said = {name: sum_ for sum_, name in map(str.split, (dist / "SHA256SUMS").read_text().splitlines())}
    assert said == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in dist.iterdir() if path.name != "SHA256SUMS"
    }
    assert said.keys() == {
        f"tokenmill-{VERSION}-py3-none-any.whl",
        f"tokenmill-{VERSION}.tar.gz",
        f"tokenmill-{VERSION}.requirements.cdx.json",
        f"tokenmill-{VERSION}.tools.cdx.json",
    }


@pytest.mark.parametrize("lock", ["requirements", "tools"])
def test_a_bill_of_materials_names_what_the_lock_pins(lock: str, dist: Path) -> None:
    """Each package with its version, and the product that it is about."""
    bill = json.loads((dist / f"tokenmill-{VERSION}.{lock}.cdx.json").read_text())
    pins = re.findall(
        r"^([\w.-]+)(?:\[.+\])?==(\S+)", (CHECKOUT / f"deploy/{lock}.lock").read_text(), flags=re.MULTILINE
    )
    assert {each["name"]: each["version"] for each in bill["components"]} == dict(pins)
    assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", "tokenmill")


def test_the_same_sources_give_the_same_wheel(dist: Path, tmp_path: Path) -> None:
    """In another folder, with other times on its files."""
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copyfile(CHECKOUT / name, tmp_path / name)
    shutil.copytree(
        CHECKOUT / "service",
        tmp_path / "service",
        ignore=shutil.ignore_patterns("__pycache__"),
        copy_function=shutil.copyfile,
    )
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", "again"]
    subprocess.run(build, cwd=tmp_path, check=True, capture_output=True, timeout=DIST_S)
    wheel = f"tokenmill-{VERSION}-py3-none-any.whl"
    assert (tmp_path / "again" / wheel).read_bytes() == (dist / wheel).read_bytes()


def test_the_chart_is_an_artefact_of_the_same_version(tmp_path: Path) -> None:
    """What a registry would be given."""
    packaged = run_tool("helm", "package", CHECKOUT / "helm" / "tokenmill", "--destination", tmp_path)
    assert packaged.returncode == 0, packaged.stderr
    assert [path.name for path in tmp_path.iterdir()] == [f"tokenmill-{VERSION}.tgz"]
