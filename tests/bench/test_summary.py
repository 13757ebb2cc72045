"""What a benchmark has to say."""

from tokenmill.bench.summary import Finding, Summary, Table, markdown


def test_a_finding_stands_beside_its_budget() -> None:
    """Where there is one."""
    assert str(Finding("it takes 5", "at most 4")) == "it takes 5 (budget: at most 4)"
    assert str(Finding("it is")) == "it is"


def test_the_page_has_all_of_it() -> None:
    """What was measured, tables, findings, and with what it was measured."""
    summary = Summary("A title", "tokenmill bench x", "How.", [Table(("a", "b"), [("1", "2")])], [Finding("found")])
    page = summary.page({"python": "3"})
    assert page.startswith("# A title\n\nWritten by `tokenmill bench x`, from one run of it: nothing here is edited.\n")
    for line in ("How.", "| a | b |", "| 1 | 2 |", "- found", "| python | 3 |"):
        assert line in page.splitlines()


def test_a_table_is_markdown() -> None:
    """Columns, a line under them, rows."""
    assert list(markdown(("a", "b"), [("1", "2")])) == ["| a | b |", "| --- | --- |", "| 1 | 2 |"]
