"""The page of the dialects."""

from tokenmill.dialects import DIALECTS
from tokenmill.gen import dialects


def test_every_dialect_is_on_the_page_with_a_whole_message() -> None:
    """Name, summary and the payloads of the same message."""
    page = dialects.page()
    for dialect in DIALECTS:
        assert f"## `{dialect.name}`\n\n{dialect.summary}." in page
    assert '{"type":"finish",' in page
