"""Tables: drawn for people, plain aligned columns for programs."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

Row = Sequence[str]


def print_table(console: Console, columns: Row, rows: Sequence[Row], *, right: int = 0) -> None:
    """Print whole rows under their columns, however long a word is; the last `right` columns are figures, aligned
    right.
    """
    if console.is_terminal:
        console.print(_drawn(columns, rows, right))
        return
    for line in _plain([columns, *rows], right):
        console.print(line, soft_wrap=True)


def _drawn(columns: Row, rows: Sequence[Row], right: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        figures = number >= len(columns) - right
        table.add_column(column, justify="right" if figures else "left", no_wrap=figures, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _plain(lines: Sequence[Row], right: int) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    left = len(widths) - right
    return [
        "  ".join(
            cell.ljust(width) if number < left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
