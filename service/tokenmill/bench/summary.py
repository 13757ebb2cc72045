"""The results of a benchmark of the service, in one form for the terminal and for a page of the documentation."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple


class Table(NamedTuple):
    """Texts on the left, numbers on the right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: int = 1
    """The number of text columns."""


class Finding(NamedTuple):
    """A result and its budget; no budget if it only explains."""

    sentence: str
    budget: str = ""

    def __str__(self) -> str:
        return f"{self.sentence} (budget: {self.budget})" if self.budget else self.sentence


class Summary(NamedTuple):
    """All results. `command` writes the page."""

    title: str
    command: str
    about: str
    """The page's prose: what was measured, and how."""
    tables: Sequence[Table]
    findings: Sequence[Finding]

    def page(self, conditions: Mapping[str, str]) -> str:
        """Return the page, in Markdown. `conditions` are what the figures depend on besides the code."""
        lines = [f"# {self.title}", "", f"Written by `{self.command}`, from one run of it: nothing here is edited.", ""]
        lines += [self.about, ""]
        for table in self.tables:
            lines += [*markdown(table.columns, table.rows), ""]
        lines += [*(f"- {finding}" for finding in self.findings), ""]
        lines += [*markdown(["measured with", ""], conditions.items()), ""]
        return "\n".join(lines)


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a table's lines."""
    for cells in [columns, ["---"] * len(columns), *rows]:
        yield f"| {' | '.join(cells)} |"
