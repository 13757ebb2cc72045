"""The results of `bench guard`, for people."""

from tokenmill.bench.guard import Comparison, Figure
from tokenmill.bench.summary import Table


def guard_table(found: Comparison) -> Table:
    """Return a table with a row for each figure."""
    return Table(("name", "unit", "kept", "now", "ratio", "verdict"), [_row(figure) for figure in found.figures], 2)


def guard_sentence(found: Comparison) -> str:
    """Return a sentence about what the figures are compared with."""
    kept = found.kept
    tolerance = f"{kept.tolerance:g} times the kept figure is tolerated"
    return f"{tolerance}, which is of CPython {kept.python} on {kept.processor}"


def _row(figure: Figure) -> tuple[str, ...]:
    figures = (figure.kept, figure.now, figure.ratio)
    return (figure.name, figure.unit, *("" if each is None else f"{each:.2f}" for each in figures), figure.verdict)
