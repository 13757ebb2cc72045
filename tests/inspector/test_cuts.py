"""Whether a text gives the same events wherever it is cut."""

import pytest

from tokenmill.errors import BadOpen
from tokenmill.events import AnyEvent, ReasoningDelta, TextDelta, TextEnd, ToolInputDelta
from tokenmill.inspector import cuts as module
from tokenmill.inspector.cuts import check_cuts, merged
from tokenmill.inspector.steps import ParseRequest

TEXT = 'a <tool_call>\n{"name":"f","arguments":{"a":1}}\n</tool_call> b'


def test_every_place_is_tried() -> None:
    """And nothing differs, as every format promises."""
    found = check_cuts(ParseRequest(text=TEXT, format="hermes"))
    assert (found.tried, found.differs) == (len(TEXT) - 1, None)
    assert check_cuts(ParseRequest(text="x")).tried == 0


def test_a_long_text_is_cut_at_even_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or it would take minutes."""
    monkeypatch.setattr(module, "TRIED", 10)
    assert check_cuts(ParseRequest(text="x" * 95)).tried == 10
    monkeypatch.setattr(module, "READ_CHARS", 400)
    assert check_cuts(ParseRequest(text="x" * 95)).tried == 4


def test_the_first_cut_that_differs_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the events beside those of one piece; here of a comparison that joins nothing."""
    monkeypatch.setattr(module, "merged", list)
    differs = check_cuts(ParseRequest(text="abc")).differs
    assert differs is not None
    assert (differs.cut, len(differs.events), len(differs.expected)) == (1, 6, 5)


def test_deltas_of_one_thing_are_joined() -> None:
    """Others are not, and nothing else is."""
    events: list[AnyEvent] = [
        TextDelta("t0", "a"),
        TextDelta("t0", "b"),
        TextDelta("t1", "c"),
        ReasoningDelta("t1", "d"),
        TextEnd("t1"),
        TextEnd("t1"),
        ToolInputDelta("c", "e"),
        ToolInputDelta("c", "f"),
    ]
    assert merged(events) == [
        TextDelta("t0", "ab"),
        TextDelta("t1", "c"),
        ReasoningDelta("t1", "d"),
        TextEnd("t1"),
        TextEnd("t1"),
        ToolInputDelta("c", "ef"),
    ]


def test_what_can_t_be_parsed_is_said() -> None:
    """As for steps."""
    with pytest.raises(BadOpen, match="unknown format"):
        check_cuts(ParseRequest(format="herms"))
