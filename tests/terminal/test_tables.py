"""Tables for people and for programs."""

from io import StringIO

from tokenmill.terminal.console import Terminal
from tokenmill.terminal.tables import print_table


def printed(*, terminal: bool) -> str:
    page = StringIO()
    console = Terminal(file=page, width=60, force_terminal=terminal, color_system=None)
    print_table(console, ["what", "count"], [["text", "7"], ["[reasoning]", "12"]], right=1)
    return page.getvalue()


def test_a_program_gets_plain_aligned_columns() -> None:
    """No lines, no colours, no markup: figures to the right, everything else to the left."""
    assert printed(terminal=False) == "what         count\ntext             7\n[reasoning]     12\n"


def test_a_person_gets_all_of_a_word_that_is_longer_than_the_page() -> None:
    """It may be what one is asked about."""
    page, word = StringIO(), "".join(f"{number:04}" for number in range(50))
    print_table(Terminal(file=page, width=60, force_terminal=True, color_system=None), ["a", "word"], [["b", word]])
    assert word in "".join(page.getvalue().split())


def test_a_person_gets_a_drawn_table() -> None:
    """A rule stands under the head."""
    page = printed(terminal=True)
    assert "───" in page
    assert "text" in page
