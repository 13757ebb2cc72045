"""Tags in a chunk: where they begin and end, and what of the chunk must wait."""

import pytest

from tokenmill.parser.bodies.tree_scan import TOKEN_CHARS, Edge, tags_in, tree_scan
from tokenmill.parser.markers import marker

INSIDE = ((marker("~<"), Edge.OPEN), (marker("~</"), Edge.CLOSE), (marker("~</end>"), Edge.END))
SCAN = tree_scan(INSIDE, marker(">"), (marker("~[stop]"),))


@pytest.mark.parametrize(
    ("text", "in_tag", "depth", "edges", "read"),
    [
        ("text", 0, 1, (), 4),
        ("a ~<b", 0, 1, ((Edge.OPEN, 2, 4),), 5),
        ("b>c", Edge.OPEN, 1, ((Edge.NAMED, 1, 2),), 3),
        ("a~</b>~", 0, 2, ((Edge.CLOSE, 1, 4), (Edge.NAMED, 5, 6)), 6),
        ("a~", 0, 1, (), 1),
        ("~[", 0, 0, (), 0),
        ("~[", 0, 1, (), 2),
        ("a~</end>", 0, 1, (), 1),
        (">~[stop]", Edge.OPEN, 0, ((Edge.NAMED, 0, 1),), 8),
    ],
)
def test_tags(text: str, in_tag: int, depth: int, edges: tuple[tuple[Edge, int, int], ...], read: int) -> None:
    """Markers and what they mean; half of one waits, but only of those that are live inside of so many elements."""
    assert tags_in(SCAN, text, in_tag, depth) == (edges, read)


@pytest.mark.parametrize(
    ("text", "in_tag", "depth"),
    [
        ("~</end>", 0, 0),
        ("~</end>~[stop]", 0, 1),
        ("~</end>x", 0, 1),
        ("~[stop]", 0, 0),
        (">~[stop]", Edge.CLOSE, 1),
        ("x" * (TOKEN_CHARS + 1), 0, 1),
    ],
)
def test_what_must_be_read_with_care(text: str, in_tag: int, depth: int) -> None:
    """What may end the call; and a chunk that will not come again."""
    assert tags_in(SCAN, text, in_tag, depth) is None


def test_one_scan_for_all_messages() -> None:
    """The same markers are the same scan, so what was found is remembered across messages."""
    assert tree_scan(INSIDE, marker(">"), (marker("~[stop]"),)) is SCAN
