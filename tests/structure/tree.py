"""The checkout as lists of files, for tests about its shape."""

import ast
from collections.abc import Iterator
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


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
