"""Inside of bare keys and marked strings: what is open behind a chunk, and what of the chunk must wait."""

import pytest

from tokenmill.parser.bodies.literal_scan import TOKEN_CHARS, LiteralScan, follow, literal_scan
from tokenmill.parser.markers import marker

SCAN = LiteralScan(marker("<q>"), (marker("<end>"),), loose=False)
LOOSE = LiteralScan(marker("<q>"), (marker("<end>"),), loose=True)

VALUE, KEY, STRING = (False, False), (False, True), (True, False)


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("1,k", (*VALUE, "{"), (*KEY, "{", 3, "k", True, False)),
        ("ey:1", (*KEY, "{"), (*VALUE, "{", 4, "ey", False, False)),
        ("<q>x", (*VALUE, "{"), (*STRING, "{", 4, "", False, True)),
        ("<q>x", (*VALUE, "{["), (*STRING, "{[", 4, "", False, False)),
        ("x}<q>,<", (*STRING, "{["), (*VALUE, "{[", 6, "", False, False)),
        ("1],2", (*VALUE, "{["), (*KEY, "{", 4, "2", True, False)),
        ("[{a:1", (*VALUE, "{"), (*VALUE, "{[{", 5, "", False, False)),
    ],
)
def test_what_is_open(text: str, before: tuple[bool, bool, str], after: tuple[object, ...]) -> None:
    """Brackets nest outside of strings; keys and commas count in the outermost brackets; half a mark waits."""
    quoted, naming, stack = before
    assert follow(SCAN, text, stack, quoted=quoted, naming=naming) == after


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("x<q>k:1", (*STRING, "{"), (*VALUE, "{", 7, "k", True, False)),
        ("x<q>k", (*STRING, "{"), (*STRING, "{", 1, "", False, False)),
        ("x<q>,k", (*STRING, "{"), (*KEY, "{", 6, "k", True, False)),
        ("<q>x<q>,", (*VALUE, "{["), (*VALUE, "{[", 8, "", False, False)),
        ("k<q>:", (True, True, "{"), (*VALUE, "{", 5, "k", False, False)),
    ],
)
def test_a_string_may_end_its_value(text: str, before: tuple[bool, bool, str], after: tuple[object, ...]) -> None:
    """Where commas may be missing, a key is next behind a value of the outermost brackets."""
    quoted, naming, stack = before
    assert follow(LOOSE, text, stack, quoted=quoted, naming=naming) == after


@pytest.mark.parametrize(
    ("text", "before"),
    [("}", (*VALUE, "{")), ("]", (*VALUE, "{")), ("<end>", (*VALUE, "{")), ("{", (*KEY, "{"))],
)
def test_what_must_be_read_with_care(text: str, before: tuple[bool, bool, str]) -> None:
    """The end of the call, a bracket that does not match, one in a key; and a chunk that will not come again."""
    quoted, naming, stack = before
    assert follow(SCAN, text, stack, quoted=quoted, naming=naming) is None
    assert follow(SCAN, "x" * (TOKEN_CHARS + 1), "{", quoted=False, naming=False) is None


def test_one_scan_for_all_messages() -> None:
    """The same marks are the same scan, so what was found is remembered across messages."""
    marks = (marker("<q>"), (marker("<end>"),))
    assert literal_scan(*marks, loose=True) is literal_scan(*marks, loose=True)


def test_what_passes_inside() -> None:
    """Keys and commas mean nothing inside of inner brackets; a bracket or the beginning of a mark does."""
    assert SCAN.passes("a:1,b", "{{")
    assert not SCAN.passes("a:1,b", "{")
    assert not any(SCAN.passes(text, "{{") for text in ("[", "}", "a<"))
