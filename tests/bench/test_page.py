"""The page that tells what the parser costs."""

from pathlib import Path

from tokenmill.bench.memory import Footprint
from tokenmill.bench.page import page
from tokenmill.bench.parser import LONG, Growth, Line, Report, subjects

WRITTEN = Path(__file__).parents[2] / "docs" / "topics" / "benchmarks.md"


def test_the_page_shows_what_was_measured() -> None:
    """A row for each kind of text, a column for each size, and with what it was measured."""
    lines = [Line("g", "f", "t", chars, 0.1, 0.75, ratio, 9.0) for chars, ratio in ((1_000, 7.25), (10_000, 7.5))]
    text = page(Report(4, lines, [Growth("g", "t", 0.987)], [Footprint("open", 1_500.4)]), {"python": "3"})
    assert "| grammar | format | text | 1,000 characters | 10,000 characters | exponent |" in text
    assert "| g | f | t | 7.2 | 7.5 | 0.99 |" in text
    assert "| open | 1,500 |" in text
    assert "slowest" not in text.split("exponent is that")[0]
    assert "| python | 3 |" in text
    assert "| a loop | 0.100 to 0.100 µs |" in text


def test_the_page_shows_the_slowest_chunk_of_a_long_text() -> None:
    """In milliseconds."""
    text = page(Report(4, [Line("g", "f", "t", LONG, 0.1, 0.75, 7.5, 456.0)], [], []), {})
    assert "| grammar | format | text | 200,000 characters | exponent | slowest of 200,000, ms |" in text
    assert "| g | f | t | 7.5 |  | 0.46 |" in text


def test_the_written_page_names_all_that_is_measured() -> None:
    """The command writes it, on demand only: here it is missed where a grammar or text is new."""
    text = WRITTEN.read_text(encoding="utf-8")
    for subject in subjects():
        assert f"| {subject.grammar} | {subject.format} | {subject.text} |" in text
