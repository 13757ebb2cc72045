"""Blocks: opened when there is something to say, closed when something else follows."""

from tests.support.parsing import grammar, traced
from tokenmill.events import AnyEvent, ReasoningDelta, ReasoningEnd, ReasoningStart, TextDelta, TextEnd, TextStart
from tokenmill.limits import Limits
from tokenmill.parser.run import Run
from tokenmill.parser.spans import Span
from tokenmill.parser.state import State


def test_blocks() -> None:
    """A change of kind ends one block and begins the next; ids count through both kinds."""
    run = Run(grammar(), State("identity", 0))
    run.put("a", reasoning=True)
    run.put("", reasoning=False)
    run.put("b", reasoning=True)
    run.put("c", reasoning=False)
    run.close_block()
    run.close_block()
    assert run.out == [
        *(ReasoningStart("r0"), ReasoningDelta("r0", "a"), ReasoningDelta("r0", "b"), ReasoningEnd("r0")),
        *(TextStart("t1"), TextDelta("t1", "c"), TextEnd("t1")),
    ]


def test_pieces() -> None:
    """Long text is cut into deltas of the cap."""
    assert Run(grammar(limits=Limits(delta_chars=2)), State("identity", 0)).pieces("abcde") == ["ab", "cd", "e"]


def test_notes_are_for_traced_grammars_only() -> None:
    """Spans are recorded where they are asked for, and only of something."""
    plain, with_trace = Run(grammar(), State("identity", 0)), Run(traced("plain"), State("identity", 0))
    for run in (plain, with_trace):
        run.note("marker", "<x>")
        run.note("marker", "")
    assert not plain.out
    assert list[AnyEvent | Span](with_trace.out) == [Span("marker", "<x>")]
