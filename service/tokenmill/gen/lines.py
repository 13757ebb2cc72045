"""A plot of lines over places on a logarithmic axis."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tokenmill.gen import svg
from tokenmill.gen.svg import GAP, Figure

HEIGHT = 320
"""From 0 to the highest figure."""


class Line(NamedTuple):
    """A line with a figure for each place. Lines of a kind have one colour."""

    kind: str
    figures: Sequence[Figure]


class Lines(NamedTuple):
    """The plot. A budget is a line from side to side."""

    title: str
    places: Sequence[Figure]
    lines: Sequence[Line]
    budgets: Sequence[Figure] = ()

    @property
    def words(self) -> str:
        """Return the picture's description."""
        told = []
        for place, *figures in zip(self.places, *(line.figures for line in self.lines), strict=True):
            told.append(f"from {min(figures).shown} to {max(figures).shown} at {place.shown}")
        told += map(_named, self.budgets)
        return f"{self.title}, {len(self.lines)} lines: {'; '.join(told)}."

    def svg(self) -> str:
        """Return the picture."""
        bottom = svg.TOP + GAP + HEIGHT
        return svg.document(self.title, self.words, bottom, self._elements(bottom))

    def _elements(self, bottom: float) -> Iterator[str]:
        kinds = list(dict.fromkeys(line.kind for line in self.lines))
        yield from svg.legend(kinds)
        figures = [*self.budgets, *(figure for line in self.lines for figure in line.figures)]
        most = max(figure.number for figure in figures)
        up = svg.linear(most, bottom, bottom - HEIGHT)
        left, right = svg.EDGE + svg.wide(f"{most:,.0f}") + GAP, svg.WIDTH - svg.EDGE - self._margin
        along = svg.logarithmic(self.places[0].number, self.places[-1].number, left, right)
        for tick in svg.ticks(most):
            yield svg.path([(left, up(tick)), (right, up(tick))], "grid")
            yield svg.text(left - GAP, up(tick) + 4, f"{tick:,g}", anchor="end")
        for place in self.places:
            anchor = {self.places[0]: "start", self.places[-1]: "end"}.get(place, "middle")
            yield svg.text(along(place.number), bottom + 18, place.shown, anchor=anchor)
        for budget in self.budgets:
            yield svg.path([(left, up(budget.number)), (right, up(budget.number))], "mark", 2)
            yield svg.text(right + GAP, up(budget.number) + 4, _named(budget))
        for line in self.lines:
            places = zip(self.places, line.figures, strict=True)
            points = [(along(place.number), up(figure.number)) for place, figure in places]
            yield svg.path(points, f"line series{kinds.index(line.kind)}", 1.5)

    @property
    def _margin(self) -> float:
        """Return the labels of the budgets."""
        return max((GAP + svg.wide(_named(budget)) for budget in self.budgets), default=0.0)


def _named(budget: Figure) -> str:
    return f"{budget.shown}: {budget.number:g}"
