"""The page of the formats."""

from tokenmill.formats import FORMATS
from tokenmill.gen import formats


def test_every_format_is_on_the_page_with_its_sample_and_events() -> None:
    """Name, summary, sample and what the parser makes of it."""
    page = formats.page()
    for format_ in FORMATS:
        assert f"## `{format_.name}`\n\n{format_.summary}" in page
        assert format_.sample.rstrip() in page
    assert page.count('{"type":"finish","reason":') == len(FORMATS)
