"""The checkout as lists of files, for tests about its shape."""

import ast
import gc
from collections.abc import Iterator
from functools import cache
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGE = CHECKOUT / "service" / "tokenmill"
TESTS = CHECKOUT / "tests"
DOCS = CHECKOUT / "docs"


def modules() -> list[Path]:
    """Every module of the package that holds code of its own, relative to the package."""
    return sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")


def test_files() -> list[Path]:
    """Every file with tests, relative to the tests' folder."""
    return sorted(path.relative_to(TESTS) for path in TESTS.rglob("test_*.py"))


test_files.__test__ = False  # type: ignore[attr-defined] # pytest would take it for a test


def python_files() -> list[Path]:
    """Every Python file of the package and the tests."""
    return sorted([*PACKAGE.rglob("*.py"), *TESTS.rglob("*.py")])


@cache
def parsed(path: Path) -> ast.Module:
    """A file as a tree.

    The collector rests meanwhile. It may come upon a future of another test whose failure nobody has looked at; that is
    logged with a trace, for which CPython 3.11 parses lines of code, and its parser knows one parse at a time.
    """
    gc.disable()
    try:
        return ast.parse(path.read_text())
    finally:
        gc.enable()


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of a file."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
