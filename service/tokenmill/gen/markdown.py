"""Pieces of Markdown pages."""

from collections.abc import Iterable, Sequence

NOTE = "<!-- Generated from the code by `make gen`. Change the code, not this page. -->"


def page(title: str, *blocks: str) -> str:
    """A page: the note that it is generated, its title, then blocks with an empty line between."""
    return "\n\n".join([NOTE, f"# {title}", *blocks]).rstrip() + "\n"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells may hold line breaks and bars."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def fenced(text: str, language: str = "") -> str:
    """A code block, whatever backticks the text holds."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def code(value: object) -> str:
    """A value in a sentence or a cell."""
    return f"`{value}`"
