"""`function` elements that several formats share."""

from tokenmill.formats.functions import functions


def test_the_tag_is_the_section() -> None:
    """Its pair wraps the calls, which may stand without it."""
    section = functions("t")
    assert section.open is not None
    assert section.close is not None
    assert (section.open.spellings, section.close.spellings, section.bare) == (("<t>",), ("</t>",), "declared")
