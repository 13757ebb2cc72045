"""Progress bars: on stderr, if somebody watches, for what takes longer than a second, and removed when it is done.

Rules of this file:

1. Measured or parsed work pays nothing for its bar: it sets plain attributes, which are read when the bar is drawn, or
   it is asked for its position.
2. Only the thread that draws touches the terminal, or who holds its lock (`aside`): lines of a command never mix with
   a bar.
3. A bar is one line, however narrow the terminal is: what is more can't be taken away without a trace.
4. A benchmark is not disturbed by a thread: its bar is drawn between two steps of it (`steps`).
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeAlias

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from tokenmill.terminal.console import Terminal, watched
from tokenmill.terminal.visible import visible

DELAY_S = 1.0
"""Seconds before a bar appears: earlier it would only flicker."""

EVERY_S = 1.0
"""Seconds between two drawings: four a second made `parse` of a file with a record per line 4 % slower, this 2 % at
most."""


BAR_CELLS = 25
"""Cells of a bar, which leave room for a sentence beside it."""

Figures: TypeAlias = type[MofNCompleteColumn | DownloadColumn]
"""How progress is displayed."""


class Bar:
    """The progress of something. Set it as often as you like: another thread draws it."""

    def __init__(self, console: Console, figures: Figures, where: Callable[[], float] | None = None) -> None:
        """Take `where`, which returns how much is done, instead of `at`."""
        self.shown = watched(console)
        self._where = where
        self._what = ""
        self._done: float = 0
        self._total: float | None = None
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._progress = Progress(
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
            BarColumn(BAR_CELLS, table_column=Column(no_wrap=True)),
            figures(table_column=Column(no_wrap=True)),
            TimeRemainingColumn(table_column=Column(no_wrap=True)),
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            disable=not self.shown,
        )
        self._task = self._progress.add_task("", total=None)

    def at(self, what: str, done: float, total: float | None) -> None:
        """Set what is being done, and how much of it is; a total that is not known yet is None."""
        self._what, self._done, self._total = what, done, total

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Remove the bar while lines are written to stdout or stderr."""
        with self._lock:
            self._progress.stop()
            yield

    def draw(self) -> None:
        """Draw the bar once."""
        with self._lock:
            if self._over.is_set():
                return
            done = self._where() if self._where else self._done
            self._progress.update(self._task, description=visible(self._what), completed=done, total=self._total)
            self._progress.start()
            self._progress.refresh()

    def run(self) -> None:
        """Draw again and again until the end, but nothing for what ends soon."""
        if not self.shown or self._over.wait(DELAY_S):
            return
        with suppress(OSError):  # the terminal, or the watched file, is gone, and with it the need for a bar
            self.draw()
            while not self._over.wait(EVERY_S):
                self.draw()

    def end(self) -> None:
        """Remove the bar."""
        self._over.set()
        with self.aside():
            pass


@contextmanager
def progress_bar(
    console: Console | None = None,
    *,
    figures: Figures = MofNCompleteColumn,
    where: Callable[[], float] | None = None,
) -> Iterator[Bar]:
    """Show a bar while the block runs; `figures` are its units: counts by default."""
    bar = Bar(console or Terminal(stderr=True), figures, where)
    drawing = threading.Thread(target=bar.run, daemon=True)
    if bar.shown:
        drawing.start()
    try:
        yield bar
    finally:
        bar.end()
        if bar.shown:
            drawing.join()


@contextmanager
def steps(total: int, console: Console | None = None) -> Iterator[Callable[[str], None]]:
    """Yield a function to call with each of `total` steps: it moves a bar, or prints the step if nobody watches."""
    bar = Bar(console or Terminal(stderr=True), MofNCompleteColumn)
    heard = 0

    def step(sentence: str) -> None:
        nonlocal heard
        if bar.shown:
            bar.at(sentence, heard, max(total, heard))
            bar.draw()
        else:
            click.echo(sentence, err=True)
        heard += 1

    try:
        yield step
    finally:
        bar.end()
