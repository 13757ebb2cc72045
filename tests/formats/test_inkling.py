"""What inkling has of its own; its cases are run by the conformance suite."""

from tokenmill.formats.inkling import INKLING


def test_a_stream_begins_inside_a_header() -> None:
    """The prompt ends with what opens it."""
    assert INKLING.start == "header"


def test_every_type_of_block_may_come_without_an_opening() -> None:
    """The type alone is enough."""
    assert INKLING.channels is not None
    assert INKLING.channels.unopened
