"""A plot of horizontal bars: rows with a bar for each series."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tokenmill.gen import svg
from tokenmill.gen.svg import GAP, Axis, Figure

BAR, PITCH = 12, 15
"""Height of a bar, and from one to the next in its row."""


class Row(NamedTuple):
    """A bar for each series, and the budget of the last of them."""

    label: str
    figures: Sequence[Figure]
    budget: Figure | None = None

    @property
    def over(self) -> bool:
        """Whether the last bar exceeds its budget."""
        return self.budget is not None and self.figures[-1].number > self.budget.number


class Bars(NamedTuple):
    """The plot."""

    title: str
    series: Sequence[str]
    rows: Sequence[Row]

    @property
    def words(self) -> str:
        """Return the picture's description."""
        told = [self._range(number) for number in range(len(self.series))]
        if judged := [row for row in self.rows if row.budget]:
            told.append(f"{sum(row.over for row in judged)} of {len(judged)} above their budget")
        return f"{self.title}: {'; '.join(told)}."

    def _range(self, number: int) -> str:
        low, high = (pick(self.rows, key=lambda row: row.figures[number].number) for pick in (min, max))
        least, most = (f"{row.figures[number].shown} ({row.label})" for row in (low, high))
        return f"{self.series[number]} from {least} to {most}"

    def svg(self) -> str:
        """Return the picture."""
        bottom = svg.TOP + len(self.rows) * self._height
        return svg.document(self.title, self.words, bottom, self._elements(bottom))

    @property
    def _height(self) -> float:
        return len(self.series) * PITCH + GAP

    def _elements(self, bottom: float) -> Iterator[str]:
        judged = any(row.budget for row in self.rows)
        yield from svg.legend(self.series, f"budget of {self.series[-1]}" if judged else "")
        figures = [figure for row in self.rows for figure in row.figures]
        most = max(figure.number for figure in (*figures, *(row.budget for row in self.rows if row.budget)))
        left = svg.EDGE + max(svg.wide(row.label) for row in self.rows) + GAP
        right = svg.WIDTH - svg.EDGE - max(svg.wide(figure.shown) for figure in figures) - GAP
        axis = svg.linear(most, left, right)
        for tick in svg.ticks(most):
            yield svg.path([(axis(tick), svg.TOP), (axis(tick), bottom)], "grid")
            yield svg.text(axis(tick), bottom + 16, f"{tick:,g}", anchor="middle")
        for number, row in enumerate(self.rows):
            top = svg.TOP + GAP / 2 + number * self._height
            yield svg.text(left - GAP, top + len(self.series) * PITCH / 2 + 3, row.label, anchor="end")
            yield from _row(row, top, axis)


def _row(row: Row, top: float, axis: Axis) -> Iterator[str]:
    """Yield the bars, each followed by its figure, which also clears the budget's mark."""
    *_, last = row.figures
    for number, figure in enumerate(row.figures):
        y, end = top + number * PITCH, axis(figure.number)
        yield svg.rect(axis(0), y, end - axis(0), BAR, f"bar series{number}")
        if row.budget and figure is last:
            mark = axis(row.budget.number)
            yield from svg.mark((mark, y - 1), (mark, y + BAR + 1))
            if end < mark < end + svg.wide(figure.shown) + GAP:
                end = mark
        yield svg.text(end + 6, y + BAR - 2, figure.shown)
