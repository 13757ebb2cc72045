"""Plots of lines."""

from itertools import pairwise
from xml.etree.ElementTree import Element

import pytest

from tests.support.drawings import drawn, of_kind, points, texts
from tokenmill.gen.lines import HEIGHT, Line, Lines
from tokenmill.gen.svg import WIDTH, Figure


def figures(*numbers: float) -> list[Figure]:
    """As a table writes them."""
    return [Figure(number, f"{number:.1f}") for number in numbers]


PLOT = Lines(
    "Cost",
    [Figure(10, "10 signs"), Figure(100, "100 signs"), Figure(1_000, "1,000 signs")],
    [Line("text", figures(1, 2, 2)), Line("calls", figures(5, 7, 4)), Line("calls", figures(6, 6, 8))],
    [Figure(9, "budget of a call")],
)


def lines(root: Element) -> list[Element]:
    """Those that are figures."""
    return of_kind(root, "line")


def test_a_line_leads_through_its_figures() -> None:
    """As high as they are; each power of ten is as far on."""
    root = drawn(PLOT.svg())
    bottom = points(of_kind(root, "grid")[0])[0][1]
    for line, element in zip(PLOT.lines, lines(root), strict=True):
        across, up = zip(*points(element), strict=True)
        assert [bottom - y for y in up] == pytest.approx([each.number * HEIGHT / 9 for each in line.figures], abs=0.11)
        one, other = (right - left for left, right in pairwise(across))
        assert one == pytest.approx(other, abs=0.11)


def test_lines_of_a_kind_have_one_colour() -> None:
    """Kinds are in the legend, in the order in which they come."""
    root = drawn(PLOT.svg())
    assert [line.get("class") for line in lines(root)] == ["line series0", "line series1", "line series1"]
    assert texts(root)[:3] == ["Cost", "text", "calls"]


def test_a_budget_is_a_line_from_side_to_side() -> None:
    """At its height, with its name and number behind it, inside of the picture, and below all lines of figures."""
    root = drawn(PLOT.svg())
    (budget,) = of_kind(root, "mark")
    (left, y), (right, same) = points(budget)
    first, *_, last = points(lines(root)[0])
    assert y == same
    assert (left, right) == (first[0], last[0])
    assert points(of_kind(root, "grid")[0])[0][1] - y == pytest.approx(HEIGHT, abs=0.11)
    (name,) = (label for label in of_kind(root, "label") if label.text == "budget of a call: 9")
    assert right < float(name.attrib["x"]) < WIDTH - 6 * len("budget of a call: 9")
    everything = list(root)
    assert everything.index(budget) < everything.index(lines(root)[0])


def test_places_are_named_below_the_axis() -> None:
    """The first and the last inside of the picture."""
    root = drawn(PLOT.svg())
    named = {label.text: label for label in of_kind(root, "label")}
    anchors = [named[place.shown].get("text-anchor") for place in PLOT.places]
    assert anchors == ["start", "middle", "end"]
    assert all(float(named[place.shown].attrib["y"]) < float(root.attrib["height"]) for place in PLOT.places)


def test_words_tell_what_is_seen() -> None:
    """The least and the most at each place, and the budgets."""
    assert PLOT.words == (
        "Cost, 3 lines: from 1.0 to 6.0 at 10 signs; from 2.0 to 7.0 at 100 signs; "
        "from 2.0 to 8.0 at 1,000 signs; budget of a call: 9."
    )


def test_a_plot_needs_no_budget() -> None:
    """Its lines take the whole width then."""
    wide, narrow = (drawn(plot.svg()) for plot in (PLOT._replace(budgets=()), PLOT))
    assert of_kind(wide, "mark") == []
    assert points(lines(wide)[0])[-1][0] > points(lines(narrow)[0])[-1][0]


def test_the_same_numbers_make_the_same_picture() -> None:
    """To the byte."""
    again = Lines(PLOT.title, tuple(PLOT.places), tuple(PLOT.lines), tuple(PLOT.budgets))
    assert PLOT.svg() == again.svg()
