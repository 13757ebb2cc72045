"""Printing samples."""

from io import StringIO

import click
import pytest

from tokenmill.commands.samples import choose, print_records, print_source, print_title
from tokenmill.formats import FORMATS
from tokenmill.records import InputRecord
from tokenmill.terminal.console import Terminal


def test_without_a_name_all_are_chosen() -> None:
    """In the order of the registry; else in the order of the names, which may be aliases in any case."""
    assert choose(FORMATS, []) == list(FORMATS)
    assert [format_.name for format_ in choose(FORMATS, ["qwen3_coder", "Hermes"])] == ["qwen3_xml", "hermes"]


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    """So that nobody has to look them up."""
    with pytest.raises(click.BadParameter, match=r"'nonsense'; known are .*hermes"):
        choose(FORMATS, ["nonsense"])


def test_a_sample_is_printed_as_it_is() -> None:
    """Each line indented, no markup read, bytes that are no text shown as such."""
    page = StringIO()
    console = Terminal(file=page, width=200)
    print_title(console, "name", "what it is")
    print_source(console, "[bold]\n  x")
    print_records(
        console,
        [
            InputRecord("tokens", 0, 0, 0, None, b'{"a":1}', [("tm-codec", b"native")]),
            InputRecord("tokens", 0, 1, 0, None, b"\xc3"),
            InputRecord("tokens", 0, 2, 0, None, None),
        ],
    )
    assert page.getvalue().splitlines() == [
        "name  what it is",
        "",
        "  [bold]",
        "    x",
        "",
        "",
        '  {"a":1}  [tm-codec: native]',
        "  b'\\xc3'",
        "  None",
        "",
    ]
