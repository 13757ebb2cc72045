"""The page of conversions."""

import pytest

from tokenmill.codecs import CODECS
from tokenmill.dialects import DIALECTS
from tokenmill.gen import conversions


def rows(part: int) -> dict[str, list[str]]:
    """The rows of one of the page's tables, by their first cell."""
    table = [block for block in conversions.page().split("\n\n") if block.startswith("| ")][part]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in table.splitlines()]
    return {line[0].strip("`"): line[1:] for line in cells}


def test_every_codec_and_dialect_is_in_the_matrix() -> None:
    """One row and one column each."""
    matrix = rows(0)
    assert set(matrix) >= {codec.name for codec in CODECS}
    assert matrix["codec ↓ dialect →"] == [f"`{dialect.name}`" for dialect in DIALECTS]


@pytest.mark.parametrize(
    ("dialect", "shown"),
    [
        ("native", ["text", "reasoning", "calls", "errors in the middle", "counts of tokens"]),
        ("openai", ["text", "reasoning", "calls", "counts of tokens"]),
        ("ag_ui", ["text", "reasoning", "calls", "calls as they grow, by default", "errors in the middle"]),
    ],
)
def test_what_a_dialect_shows_is_seen_in_what_it_writes(dialect: str, shown: list[str]) -> None:
    """Nobody has to keep the table."""
    table = rows(1)
    marked = [what for what, mark in zip(table["dialect"], table[dialect], strict=True) if mark]
    assert set(shown) <= set(marked)
