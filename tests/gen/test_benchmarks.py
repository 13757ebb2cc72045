"""The plots of the pages that benchmarks write."""

import re

import pytest

from tests.structure.tree import CHECKOUT, DOCS
from tests.support.drawings import SVG, drawn, of_kind, texts
from tokenmill.bench.page import BUDGETS
from tokenmill.bench.summary import Finding, Summary, Table
from tokenmill.gen.bars import Bars
from tokenmill.gen.benchmarks import PAGES, PICTURES, PLOTS, Plot, figure, files, tables, written
from tokenmill.gen.svg import LIGHT, Figure

by_plot = pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.picture)

(FRONT,) = (plot for plot in PLOTS if plot.picture == "bench-front")

LINK = re.compile(r"!\[(?P<words>[^\]]*)\]\(\.\./pictures/(?P<name>[\w-]+)\.svg\)")


def page(load: str = "ten at once", first: str = "1,007.5") -> str:
    """As the front's benchmark writes it, with other figures."""
    columns = ("load", "way", "tokens/s", "first token p50, ms", "p99", "each token p50, ms", "p99")
    rows = [(load, "straight", "10", "1", "2", "3", "4"), (load, "the front", "10", first, "2,000", "30", "40")]
    findings = [Finding("so it is")]
    return Summary("Title", "command", "About.", [Table(columns, rows, texts=2)], findings).page({"python": "3"})


@by_plot
def test_a_plot_is_in_its_page(plot: Plot) -> None:
    """Once, right behind its table, with words that say what it shows; and it is drawn from the page as it is."""
    text = written(plot)
    (link,) = LINK.finditer(text)
    picture = plot.of(text)
    assert (link["name"], link["words"]) == (plot.picture, picture.words)
    assert plot.table in text[: link.start()].rstrip().rpartition("\n\n")[2]
    assert (CHECKOUT / PICTURES / f"{plot.picture}.svg").read_text(encoding="utf-8") == picture.svg()


def test_every_drawn_picture_is_in_a_page() -> None:
    """There is no SVG that no page shows, and no page shows one that is not drawn."""
    linked = {link["name"] for path in DOCS.rglob("*.md") for link in LINK.finditer(path.read_text(encoding="utf-8"))}
    there = {path.stem for path in (DOCS / "pictures").glob("*.svg")}
    assert linked == there == {plot.picture for plot in PLOTS}


@by_plot
def test_a_plot_has_all_figures_of_its_columns(plot: Plot) -> None:
    """An element for each, as it is written in the table; colours for all series."""
    picture = plot.of(written(plot))
    root = drawn(picture.svg())
    if isinstance(picture, Bars):
        shown = [each.shown for row in picture.rows for each in row.figures]
        assert [text for text in texts(root) if text in shown] == shown
        assert len(of_kind(root, "bar")) == len(shown)
        assert len(picture.series) <= len(LIGHT.series)
    else:
        assert len(of_kind(root, "line")) == len(picture.lines)
        assert len({line.kind for line in picture.lines}) <= len(LIGHT.series)
    assert root.findtext(f"{SVG}desc") == picture.words


def test_the_parsers_budgets_are_those_of_its_page() -> None:
    """The plot has them as numbers, the page as a sentence."""
    (parser,) = (plot for plot in PLOTS if plot.picture == "bench-parser")
    picture = parser.of(written(parser))
    assert not isinstance(picture, Bars)
    plain, call = (f"{budget.number:g}" for budget in picture.budgets)
    assert f"at most {plain} loops for a chunk of plain text, at most {call} for a chunk inside a call" in BUDGETS


def test_another_run_makes_another_plot() -> None:
    """Nothing is known of figures but what the page says: here only rows of the front count."""
    picture = FRONT.of(page())
    assert isinstance(picture, Bars)
    (row,) = picture.rows
    assert row.label == "ten at once"
    assert row.figures == [Figure(1_007.5, "1,007.5"), Figure(2_000, "2,000"), Figure(30, "30"), Figure(40, "40")]


def test_a_page_is_illustrated_once() -> None:
    """The picture comes behind its table; a second time nothing changes, and new figures replace the words."""
    once = FRONT.illustrated(page())
    (link,) = LINK.finditer(once)
    assert once.replace(f"{link[0]}\n\n", "") == page()
    assert FRONT.illustrated(once) == once
    assert FRONT.illustrated(once.replace("1,007.5", "1.5")) == FRONT.illustrated(page(first="1.5"))


def test_a_page_without_the_table_is_refused() -> None:
    """By its name, and the name of what is missing: so is a table without its columns, and a cell without a number."""
    with pytest.raises(LookupError, match=r"front-benchmark\.md.*'load'"):
        FRONT.of(page().replace("| load |", "| traffic |"))
    with pytest.raises(LookupError, match="each token p50, ms"):
        FRONT.of(page().replace("each token p50, ms", "each token p95, ms"))
    with pytest.raises(LookupError, match="unknown"):
        FRONT.of(page(first="unknown"))


def test_tables_are_read_as_they_are_written() -> None:
    """Cells may be empty; other text is no table."""
    first, second = tables("# T\n\n| a | b |\n| --- | --- |\n| 1 |  |\n\n- text | with a bar\n\n| c |\n| --- |\n")
    assert (first.columns, first.rows) == (["a", "b"], [["1", ""]])
    assert (second.columns, second.rows) == (["c"], [])


@pytest.mark.parametrize(
    ("cell", "number"), [("8 ms", 8), ("43,199.5", 43_199.5), ("3%", 3), ("1,000 characters", 1_000)]
)
def test_a_figure_is_the_number_of_its_cell(cell: str, number: float) -> None:
    """And stays as it is written."""
    assert figure(cell) == Figure(number, cell)


def test_pages_and_pictures_are_generated() -> None:
    """Each with its place in the checkout, so that a check finds either out of date."""
    expected = {f"{PAGES}/{plot.page}.md" for plot in PLOTS} | {f"{PICTURES}/{plot.picture}.svg" for plot in PLOTS}
    made = files()
    assert made.keys() == expected
    assert made[f"{PICTURES}/bench-front.svg"]() == FRONT.of(written(FRONT)).svg()
    assert made[f"{PAGES}/front-benchmark.md"]() == FRONT.illustrated(written(FRONT))
