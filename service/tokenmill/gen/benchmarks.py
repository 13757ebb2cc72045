"""The plots of the pages that `tokenmill bench … --write` writes, drawn from the tables in these pages.

So a page and its plot always agree, and nothing is measured again. A page has no plot if its tables show as much by
themselves: they have few figures, or nearly equal ones.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tokenmill.gen.bars import Bars, Row
from tokenmill.gen.lines import Line, Lines
from tokenmill.gen.svg import Figure

CHECKOUT = Path(__file__).resolve().parents[3]
PAGES, PICTURES = "docs/topics", "docs/pictures"

TABLE = re.compile(r"(?:^\|.*\|\n)+", flags=re.MULTILINE)
LINK = re.compile(r"^!\[[^\]]*\]\(\.\./pictures/[\w-]+\.svg\)\n\n", flags=re.MULTILINE)
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
LENGTH = re.compile(r"[\d,]+ characters")


class Table(NamedTuple):
    """A table of a page."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    end: int
    """Offset of its end in the page."""

    def place(self, *headings: str) -> int:
        """Return the index of the first of adjacent columns with these headings. Raises `LookupError`."""
        for place in range(len(self.columns)):
            if tuple(self.columns[place : place + len(headings)]) == headings:
                return place
        raise LookupError(f"{headings} are no columns of {self.columns}")


class Plot(NamedTuple):
    """A plot of a table."""

    page: str
    picture: str
    table: str
    """Beginning of the heading of the table's first column."""
    read: Callable[[Table], Bars | Lines]

    def of(self, page: str) -> Bars | Lines:
        """Return the plot of a page's text."""
        return self.read(self._table(page))

    def illustrated(self, page: str) -> str:
        """Return the page's text, with the picture below the table."""
        bare = LINK.sub("", page)
        end = self._table(bare).end
        return f"{bare[:end]}\n![{self.of(bare).words}](../pictures/{self.picture}.svg)\n{bare[end:]}"

    def _table(self, page: str) -> Table:
        for table in tables(page):
            if table.columns[0].startswith(self.table):
                return table
        raise LookupError(f"no table of {self.page}.md begins with {self.table!r}")


def tables(page: str) -> Iterator[Table]:
    """Yield the tables of a page, in order."""
    for found in TABLE.finditer(page):
        columns, _, *rows = ([cell.strip() for cell in line[1:-1].split("|")] for line in found[0].splitlines())
        yield Table(columns, rows, found.end())


def figure(cell: str) -> Figure:
    """Return the number with which a cell begins. Raises `LookupError` if there is none."""
    number = NUMBER.match(cell)
    if number is None:
        raise LookupError(f"no number: {cell!r}")
    return Figure(float(number[0].replace(",", "")), cell)


def _cost_by_length(table: Table) -> Lines:
    lengths = [place for place, heading in enumerate(table.columns) if LENGTH.fullmatch(heading)]
    kind = table.place("text")
    return Lines(
        "Loops for a chunk, by the length of the text",
        [figure(table.columns[place]) for place in lengths],
        [Line(row[kind], [figure(row[place]) for place in lengths]) for row in table.rows],
        [Figure(6, "budget of plain text"), Figure(15, "budget of a call")],
    )


def _times_through_the_front(table: Table) -> Bars:
    way, first = table.place("way"), table.place("first token p50, ms", "p99", "each token p50, ms", "p99")
    return Bars(
        "Time through the front, ms",
        ["first token, p50", "first token, p99", "each token, p50", "each token, p99"],
        [Row(row[0], [figure(row[first + n]) for n in range(4)]) for row in table.rows if row[way] == "the front"],
    )


def _waits_at_the_gateway(table: Table) -> Bars:
    p50, budget = table.place("p50 ms", "p99 ms"), table.place("budget, p99 ms")
    return Bars(
        "How long somebody waits, ms",
        ["p50", "p99"],
        [
            Row(row[0], [figure(row[p50]), figure(row[p50 + 1])], figure(row[budget]) if row[budget] else None)
            for row in table.rows
        ],
    )


def _latencies_of_a_worker(table: Table) -> Bars:
    p50 = table.place("p50", "p99")
    rows = [Row(row[0], [figure(row[p50]), figure(row[p50 + 1])]) for row in table.rows]
    return Bars("From input to output, ms", ["p50", "p99"], rows)


PLOTS = (
    Plot("benchmarks", "bench-parser", "grammar", _cost_by_length),
    Plot("pipeline-benchmark", "bench-pipeline", "from input to output", _latencies_of_a_worker),
    Plot("gateway-benchmark", "bench-gateway", "how long somebody waits", _waits_at_the_gateway),
    Plot("front-benchmark", "bench-front", "load", _times_through_the_front),
)


def files() -> dict[str, Callable[[], str]]:
    """Return pages and pictures, as in `tokenmill.gen.FILES`."""
    made: dict[str, Callable[[], str]] = {}
    for plot in PLOTS:
        made[f"{PAGES}/{plot.page}.md"] = partial(_page, plot)
        made[f"{PICTURES}/{plot.picture}.svg"] = partial(_picture, plot)
    return made


def _page(plot: Plot) -> str:
    return plot.illustrated(written(plot))


def _picture(plot: Plot) -> str:
    return plot.of(written(plot)).svg()


def written(plot: Plot) -> str:
    """Return the current page."""
    return (CHECKOUT / PAGES / f"{plot.page}.md").read_text(encoding="utf-8")
