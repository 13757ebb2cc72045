"""Pieces of Markdown pages."""

from collections.abc import Iterable, Sequence

NOTE = "<!-- Generated from the code by `make gen`. Change the code, not this page. -->"


def page(title: str, *blocks: str) -> str:
    """Return a page: a note that it is generated, its title, then blocks separated by blank lines."""
    return "\n\n".join([NOTE, f"# {title}", *blocks]).rstrip() + "\n"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells may hold line breaks and bars."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def fenced(text: str, language: str = "") -> str:
    """Return a code block, even for text with backticks."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def code(value: object) -> str:
    """Return a value as code in a sentence or a cell, even one with backticks."""
    text = str(value)
    if "`" not in text:
        return f"`{text}`"
    fence = "`"
    while fence in text:
        fence += "`"
    return f"{fence} {text} {fence}"


def literal(text: str) -> str:
    """Return a stream's text for a sentence or a cell: invisible characters are written as in Python."""
    shown = text.replace("\\", "\\\\").replace("\n", "\\n")
    return code(f"{shown[:-1]}\\x20" if shown.endswith(" ") else shown)
