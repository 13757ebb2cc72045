"""The page of the codecs."""

from tokenmill.codecs import CODECS
from tokenmill.gen import codecs


def test_every_codec_is_on_the_page_with_its_sample() -> None:
    """Name, summary and records of each."""
    page = codecs.page()
    for codec in CODECS:
        assert f"## `{codec.name}`\n\n{codec.summary}." in page


def test_bytes_that_are_no_text_are_shown() -> None:
    """A character that a record cuts in two is shown as its bytes, a null value as null."""
    assert "`Na\\xc3`" in codecs.page()
    assert "`null`" in codecs.page()
