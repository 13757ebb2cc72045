"""No files import each other in a circle, not even where only types are meant, or inside of a function."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

from tests.structure.tree import PACKAGE, parsed

MODULES = {
    ".".join(("tokenmill", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}

LAZY = {"tokenmill"}
"""Tells type checkers what it loads when somebody asks for it."""


def imported(path: Path) -> Iterator[str]:
    """Modules of the package that a file imports, wherever in it."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            inside = {f"{node.module}.{alias.name}" for alias in node.names} & MODULES.keys()
            yield from inside or {node.module} & MODULES.keys()
        elif isinstance(node, ast.Import):
            yield from {alias.name for alias in node.names} & MODULES.keys()


def test_imports_make_no_circle() -> None:
    """Each file can be read behind those that it needs."""
    order = list(TopologicalSorter({name: set(imported(path)) for name, path in MODULES.items()}).static_order())
    assert len(order) == len(MODULES)


def test_nothing_is_imported_for_type_checkers_alone() -> None:
    """It would hide a circle."""
    users = {name for name, path in MODULES.items() if "TYPE_CHECKING" in path.read_text()}
    assert users == LAZY
