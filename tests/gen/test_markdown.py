"""Pieces of Markdown hold whatever text they are given."""

from tokenmill.gen import markdown


def test_a_page_says_that_it_is_generated() -> None:
    """The first line keeps people from editing it."""
    assert markdown.page("Title", "One.", "Two.\n").splitlines() == [
        markdown.NOTE,
        "",
        "# Title",
        "",
        "One.",
        "",
        "Two.",
    ]


def test_a_table_keeps_bars_and_line_breaks_in_their_cells() -> None:
    """A cell is one line, and a bar in it does not end it."""
    assert markdown.table(("a", "b"), [("x|y", "1\n2")]) == "| a | b |\n| --- | --- |\n| x\\|y | 1 2 |"


def test_a_block_is_fenced_by_more_backticks_than_it_holds() -> None:
    """Samples may hold code blocks of their own."""
    assert markdown.fenced("```\nx\n```", "text") == "````text\n```\nx\n```\n````"


def test_code_is_quoted() -> None:
    """Any value, as it prints."""
    assert markdown.code(1) == "`1`"
    assert markdown.code("a```b") == "```` a```b ````"


def test_literal_text_shows_what_would_not_be_seen() -> None:
    """New lines, a blank at the end, and the backslash that says so."""
    assert markdown.literal("<a> \n\\") == r"`<a> \n\\`"
    assert markdown.literal("x ") == r"`x\x20`"
