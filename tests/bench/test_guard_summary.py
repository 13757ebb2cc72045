"""What the guard found, for people."""

from tokenmill.bench.guard import TOLERANCE, Comparison, Figure, Kept
from tokenmill.bench.guard_summary import guard_sentence, guard_table

FIGURES = [
    Figure("plain text", "loops a chunk", 4.0, 6.0, TOLERANCE),
    Figure("new", "loops a chunk", None, 2.0, TOLERANCE),
    Figure("old", "", 2.0, None, TOLERANCE),
]
FOUND = Comparison(Kept("3.11.7", "a Z80", {"plain text": 4.0, "old": 2.0}), FIGURES)


def test_each_figure_has_its_row() -> None:
    """With a gap where there is nothing to compare."""
    assert guard_table(FOUND).rows == [
        ("plain text", "loops a chunk", "4.00", "6.00", "1.50", "costs more"),
        ("new", "loops a chunk", "", "2.00", "", "not kept"),
        ("old", "", "2.00", "", "", "not measured"),
    ]


def test_it_is_said_what_they_are_compared_with() -> None:
    """And how much more is tolerated."""
    assert guard_sentence(FOUND) == "1.6 times the kept figure is tolerated, which is of CPython 3.11.7 on a Z80"
