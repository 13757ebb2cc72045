"""Plots of bars."""

from itertools import pairwise
from xml.etree.ElementTree import Element

import pytest

from tests.support.drawings import drawn, of_kind, points, texts
from tokenmill.gen.bars import BAR, Bars, Row
from tokenmill.gen.svg import EDGE, WIDTH, Figure

PLOT = Bars(
    "Waits, ms",
    ["p50", "p99"],
    [
        Row("back", [Figure(5, "5.0"), Figure(40, "40.0")], Figure(42, "42")),
        Row("late, to <all>", [Figure(10, "10.0"), Figure(80, "80.0")], Figure(50, "50")),
        Row("nothing", [Figure(1, "1.0"), Figure(2, "2.0")]),
    ],
)


def labels(root: Element) -> dict[str, Element]:
    """Texts with what they say."""
    return {element.text or "": element for element in of_kind(root, "label")}


def test_a_bar_is_as_long_as_its_number_is_high() -> None:
    """One for each number, in order, in the colour of its series; all begin at one place."""
    bars = of_kind(drawn(PLOT.svg()), "bar")
    numbers = [figure.number for row in PLOT.rows for figure in row.figures]
    lengths = [float(bar.attrib["width"]) for bar in bars]
    assert lengths == pytest.approx([number * lengths[3] / 80 for number in numbers], abs=0.11)
    assert len({bar.get("x") for bar in bars}) == 1
    assert [bar.get("class") for bar in bars] == ["bar series0", "bar series1"] * 3


def test_nothing_overlaps() -> None:
    """Bars are below one another, rows further apart than bars of one, and everything is inside of the picture."""
    root = drawn(PLOT.svg())
    tops = [float(bar.attrib["y"]) for bar in of_kind(root, "bar")]
    steps = [other - one for one, other in pairwise(tops)]
    assert min(steps) > BAR
    assert steps[1] == steps[3] > steps[0] == steps[2] == steps[4]
    assert tops[-1] + BAR < float(root.attrib["height"])
    longest = max(float(bar.attrib["x"]) + float(bar.attrib["width"]) for bar in of_kind(root, "bar"))
    assert longest + 7 * len("80.0") < WIDTH
    assert EDGE + 6 * len("late, to <all>") < float(labels(root)["late, to <all>"].attrib["x"])


def test_each_bar_has_its_figure_behind_it() -> None:
    """As the table writes it; behind the budget, where that is in its way."""
    root = drawn(PLOT.svg())
    ends = [float(bar.attrib["x"]) + float(bar.attrib["width"]) for bar in of_kind(root, "bar")]
    figures = [labels(root)[figure.shown] for row in PLOT.rows for figure in row.figures]
    gaps = [float(figure.attrib["x"]) - end for figure, end in zip(figures, ends, strict=True)]
    (mark, _) = points(of_kind(root, "mark")[1])
    assert float(figures[1].attrib["x"]) > mark[0] > ends[1]
    del gaps[1]
    assert gaps == pytest.approx([6] * 5, abs=0.11)


def test_budgets_are_marked_at_the_last_bar() -> None:
    """Where a bar of that length would end, and in the legend; nowhere without budgets."""
    root = drawn(PLOT.svg())
    in_legend, first, second = of_kind(root, "mark")
    bar = of_kind(root, "bar")[3]
    start, length = float(bar.attrib["x"]), float(bar.attrib["width"])
    assert [points(mark)[0][0] for mark in (first, second)] == pytest.approx(
        [start + length * 42 / 80, start + length * 50 / 80], abs=0.11
    )
    assert points(second)[0][1] < float(bar.attrib["y"]) < points(second)[1][1]
    assert points(in_legend)[1][1] < float(of_kind(root, "bar")[0].attrib["y"])
    assert "budget of p99" in texts(root)
    bare = drawn(Bars("t", ["p50"], [Row("a", [Figure(1, "1")])]).svg())
    assert of_kind(bare, "mark") == []


def test_words_tell_what_is_seen() -> None:
    """The least and the most of each series, and what is above its budget."""
    assert PLOT.words == (
        "Waits, ms: p50 from 1.0 (nothing) to 10.0 (late, to <all>); "
        "p99 from 2.0 (nothing) to 80.0 (late, to <all>); 1 of 2 above their budget."
    )
    bare = Bars("t", ["p50"], [Row("a", [Figure(1, "1")])])
    assert bare.words == "t: p50 from 1 (a) to 1 (a)."


def test_the_same_numbers_make_the_same_picture() -> None:
    """To the byte."""
    again = Bars(PLOT.title, tuple(PLOT.series), tuple(PLOT.rows))
    assert PLOT.svg() == again.svg()
