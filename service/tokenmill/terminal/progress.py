"""Progress bars: on stderr, where somebody watches, for what takes longer than a second, and gone when it is done.

Rules of this file:

1. What is measured or parsed pays nothing for its bar: it sets plain attributes, which are looked at when the bar is
   drawn, or is asked where it is.
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
"""Before this a bar would be a flicker."""

EVERY_S = 1.0
"""Between two drawings: four a second made `parse` of a file with a record a line 4 % slower, this 2 % at most."""


BAR_CELLS = 25
"""So that a sentence has room beside it."""

Figures: TypeAlias = type[MofNCompleteColumn | DownloadColumn]
"""How it is said how far something is."""


class Bar:
    """How far something is. Set it as often as you like: drawing is another thread's business."""

    def __init__(self, console: Console, figures: Figures, where: Callable[[], float] | None = None) -> None:
        """`where` says how much is done, instead of `at`."""
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
        """What is being done, and how much of it is; a total that is not known yet is None."""
        self._what, self._done, self._total = what, done, total

    @contextmanager
    def aside(self) -> Iterator[None]:
        """While lines are written, to stdout or stderr, no bar stands in their way."""
        with self._lock:
            self._progress.stop()
            yield

    def draw(self) -> None:
        """Once, as things are."""
        with self._lock:
            if self._over.is_set():
                return
            done = self._where() if self._where else self._done
            self._progress.update(self._task, description=visible(self._what), completed=done, total=self._total)
            self._progress.start()
            self._progress.refresh()

    def run(self) -> None:
        """Draw again and again until it is over, but nothing of what is over soon."""
        if not self.shown or self._over.wait(DELAY_S):
            return
        with suppress(OSError):  # the terminal, or the file that is looked at, is gone: so is the need for a bar
            self.draw()
            while not self._over.wait(EVERY_S):
                self.draw()

    def end(self) -> None:
        """Leave nothing behind."""
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
    """A bar beside what the block does; `figures` say how far it is: as counts, unless they are given."""
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
    """What hears of each of so many steps: it moves a bar, or prints the sentence where nobody watches."""
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
