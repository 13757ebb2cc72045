"""Plain text has no markers; its cases are run by the conformance suite."""

from tokenmill.formats.plain import PLAIN
from tokenmill.parser.spec import strays_of


def test_nothing_is_a_marker() -> None:
    """No region, no section: what comes in goes out."""
    assert (PLAIN.regions, PLAIN.sections, strays_of(PLAIN)) == ((), (), ())
