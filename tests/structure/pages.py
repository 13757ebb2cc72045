"""The pages of the documentation and the code blocks in them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.structure.tree import CHECKOUT, DOCS

FENCE = re.compile(r"^(?P<fence>`{3,})(?P<language>[\w ]*)\n(?P<text>.*?)^(?P=fence)$", flags=re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]+\]\((?P<target>[^)\s]+)\)")


class Block(NamedTuple):
    """A fenced block and the line of the page where it begins."""

    page: Path
    line: int
    language: str
    text: str


def pages() -> list[Path]:
    """Every page: those under docs, and those at the top of the checkout."""
    return sorted([*DOCS.rglob("*.md"), *CHECKOUT.glob("*.md")])


def blocks(language: str) -> list[Block]:
    """Every block of a language."""
    return [block for page in pages() for block in _blocks(page) if block.language == language]


def _blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for match in FENCE.finditer(text):
        yield Block(page, text.count("\n", 0, match.start()) + 1, match["language"], match["text"])


def links(page: Path) -> list[str]:
    """Targets of a page's links that lie in the checkout, without their anchors."""
    prose = FENCE.sub("", page.read_text())
    targets = [match["target"].partition("#")[0] for match in LINK.finditer(prose)]
    return [target for target in targets if target and "://" not in target]
