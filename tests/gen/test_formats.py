"""The pages of the formats."""

import re

import pytest

from tokenmill.formats import FORMATS
from tokenmill.formats.hermes import HERMES
from tokenmill.formats.minimax_m2 import MINIMAX_M2
from tokenmill.formats.plain import PLAIN
from tokenmill.gen import formats
from tokenmill.parser import Format


def test_the_index_leads_to_the_page_of_every_format() -> None:
    """With what it looks like, its models and its other names."""
    index = formats.page()
    for format_ in FORMATS:
        looks_like = format_.summary.replace("|", r"\|")
        assert f"| [`{format_.name}`](formats/{format_.name}.md) | {looks_like} |" in index
        assert all(f"`{alias}`" in index for alias in format_.aliases)
    assert set(formats.pages()) == {f"{format_.name}.md" for format_ in FORMATS}


@pytest.mark.parametrize("format_", FORMATS, ids=lambda format_: format_.name)
def test_a_page_has_all_of_its_format(format_: Format) -> None:
    """Name, summary, models, other names, sample, what the parser makes of it, and the diagram."""
    page = formats.pages()[f"{format_.name}.md"]()
    assert f"# `{format_.name}`\n\n{format_.summary}\n" in page
    assert all(f"`{name}`" in page for name in (*format_.models, *format_.aliases))
    assert format_.sample.rstrip() in page
    assert page.count('{"type":"finish","reason":') == 1
    assert '"type":"error"' not in page
    assert "```mermaid\nstateDiagram-v2\n" in page


def test_values_in_the_samples_have_the_types_of_their_tool() -> None:
    """The page shows what comes of an answer where tools are declared."""
    assert '"arguments":{"city":"Paris","days":3}' in formats.format_page(MINIMAX_M2)


def test_defaults_that_a_format_changes_are_on_its_page() -> None:
    """And no others; nor a table without rows."""
    page = formats.format_page(MINIMAX_M2)
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", page, flags=re.MULTILINE)
    assert rows == [("start", "reasoning"), ("unknown_tool", "text"), ("calls_in_reasoning", "honour")]
    assert "## Defaults of its own" not in formats.format_page(HERMES)
    assert "## Markers" not in formats.format_page(PLAIN)


@pytest.mark.parametrize("format_", FORMATS, ids=lambda format_: format_.name)
def test_a_page_speaks_of_routes_only_where_there_are_some(format_: Format) -> None:
    """The numbers of headers in its diagram are those of its routes."""
    assert ("those of the routes above" in formats.format_page(format_)) == (format_.channels is not None)


@pytest.mark.parametrize("format_", FORMATS, ids=lambda format_: format_.name)
def test_every_value_of_a_format_has_a_meaning(format_: Format) -> None:
    """A row with an empty last cell explains nothing, and a new line is seen."""
    page = formats.format_page(format_)
    assert re.findall(r"^\|.*\|  \|$", page, flags=re.MULTILINE) == []
    assert "| ` ` |" not in page
