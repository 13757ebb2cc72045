"""What apriel has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, parse, text_of
from tokenmill.formats.apriel import APRIEL


def test_nothing_opens_the_reasoning() -> None:
    """The prompt does; the delimiter ends it."""
    (region,) = APRIEL.regions
    assert region.open is None
    assert text_of(parse(grammar("apriel"), ["a[BEGIN FINAL RESPONSE]b"])) == "b"
