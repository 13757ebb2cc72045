"""What the demo accepts as the events of a sample."""

import pytest

from tokenmill.demo.check import check, content
from tokenmill.demo.samples import Sample
from tokenmill.errors import FatalError
from tokenmill.events import AnyEvent, Error, Finish, MessageStart, TextDelta, TextStart, ToolCall

GOOD: list[AnyEvent] = [
    MessageStart("", "plain", seq=0),
    ToolCall("call_1", "f", {}, seq=1),
    Finish("tool-calls", seq=2),
]


def sample(**about: object) -> Sample:
    return Sample(name="s", about="", text="", options={}, **about)  # type: ignore[arg-type] # only some of its fields


def test_a_whole_message_passes() -> None:
    """All numbers are there, and what the sample is about came of it."""
    check(sample(reason="tool-calls", calls=1), GOOD)
    check(sample(), GOOD)


@pytest.mark.parametrize(
    ("events", "about", "said"),
    [
        ([GOOD[0], GOOD[2]], {}, "missing or out of order"),
        ([GOOD[1], GOOD[0], GOOD[2]], {}, "missing or out of order"),
        (GOOD[:2], {}, "the last event is no finish"),
        ([], {}, "the last event is no finish"),
        (GOOD, {"reason": "stop"}, "instead of 'stop'"),
        (GOOD, {"calls": 2}, "1 tool calls instead of 2"),
        (GOOD, {"error": "malformed-call"}, "instead of 'malformed-call'"),
        ([Error("gap", "", seq=0), Finish("stop", seq=1)], {}, "the errors"),
    ],
)
def test_anything_else_is_said(events: list[AnyEvent], about: dict[str, object], said: str) -> None:
    """The sentence names the conversation and what is wrong."""
    with pytest.raises(FatalError, match=f"conversation 's'.*{said}"):
        check(sample(**about), events)


def test_content_is_the_same_for_copies_of_a_message() -> None:
    """Names, times and ids of calls differ; what is said does not."""
    one = TextDelta("t0", "a", conversation_id="c1", message_id="m1", seq=1, time=1)
    other = TextDelta("t1", "a", conversation_id="c2", message_id="m2", seq=1, time=2)
    assert content([one]) == content([other])
    assert content([one]) != content([TextDelta("t0", "b", conversation_id="c1", message_id="m1", seq=1, time=1)])


def test_ids_of_calls_are_names_too() -> None:
    """Also where a text block says whose source it is."""
    assert content([TextStart("t0", "call_1")]) == content([TextStart("t0", "call_2")])
