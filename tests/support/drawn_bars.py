"""What a command's progress bar is told, where no terminal is drawn on."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest


class DrawnBar:
    """In place of a bar: keeps what was set."""

    def __init__(self) -> None:
        self.drawn: list[tuple[str, float, float | None]] = []

    def at(self, what: str, done: float, total: float | None) -> None:
        """As that of a bar."""
        self.drawn.append((what, done, total))


def drawn_bar(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> DrawnBar:
    """The bar that this module of a command sets."""
    bar = DrawnBar()

    @contextmanager
    def progress_bar() -> Iterator[DrawnBar]:
        yield bar

    monkeypatch.setattr(module, "progress_bar", progress_bar)
    return bar
