"""Events as lines for people."""

from io import StringIO

import pytest

from tokenmill import events
from tokenmill.terminal.console import Terminal
from tokenmill.terminal.readable import EventPrinter


def printed(*shown: events.AnyEvent, live: bool = False, names: bool = False) -> str:
    page = StringIO()
    printer = EventPrinter(Terminal(file=page, width=200), live=live, names=names)
    for event in shown:
        printer.show(event)
    return page.getvalue()


def text(delta: str, conversation: str = "c1") -> events.TextDelta:
    return events.TextDelta("t0", delta, conversation_id=conversation)


def test_a_block_is_one_line() -> None:
    """Where nobody watches, deltas are joined until the block ends."""
    page = printed(events.TextStart("t0"), text(""), events.TextDelta("t0", "Hel"), events.TextDelta("t0", "lo"))
    assert page == ""
    assert (
        printed(events.TextStart("t0"), events.TextDelta("t0", "Hello"), events.TextEnd("t0")) == "  text       Hello\n"
    )


def test_a_live_block_grows_delta_by_delta() -> None:
    """Where a person watches, each delta is printed when it comes."""
    assert printed(events.TextStart("t0"), events.TextDelta("t0", "Hel"), live=True) == "  text       Hel"


def test_a_live_block_that_is_interrupted_goes_on_in_a_new_line() -> None:
    """Conversations that are followed together do not run into each other."""
    page = printed(text("one", "c1"), text("two", "c2"), text("three", "c1"), live=True, names=True)
    assert page == "c1    text       one\nc2    text       two\nc1    text       three"
    assert printed(text("a\n"), events.Error("gap", ""), text("\nb"), live=True).endswith("\n  text       b")


def test_lines_after_the_first_stand_under_it() -> None:
    """A text of several lines is still recognised as one block."""
    page = printed(events.ReasoningStart("r0"), events.ReasoningDelta("r0", "a\nb"), events.ReasoningEnd("r0"))
    assert page == "  reasoning  a\n             b\n"


def test_line_ends_at_the_end_of_a_block_are_not_shown() -> None:
    """The break between text and a call belongs to the text; a page with empty lines would be harder to read."""
    block = (events.TextDelta("t0", "a\n"), events.TextDelta("t0", "\nb\n"), events.TextEnd("t0"))
    assert printed(*block) == printed(*block, live=True) == "  text       a\n             \n             b\n"
    empty = (events.TextStart("t0"), events.TextDelta("t0", "\n"), events.TextEnd("t0"))
    assert printed(*empty) == printed(*empty, live=True) == ""


def test_markup_in_model_text_is_printed_as_it_is() -> None:
    """What a model writes in brackets is no style of ours."""
    assert "[bold]" in printed(events.TextDelta("t0", "[bold]"), events.TextEnd("t0"))


def test_what_a_terminal_would_obey_is_named() -> None:
    """In texts, in arguments, and in the name of the conversation."""
    evil = "\x1b[2J\x9b"
    shown = (events.TextDelta("t0", evil, conversation_id=evil), events.ToolCall("call_1", evil, {}))
    for live in (True, False):
        page = printed(*shown, events.TextEnd("t0", conversation_id=evil), live=live, names=True)
        assert not {"\x1b", "\x9b"} & set(page)
        assert page.count("<U+001B>[2J<U+009B>") == 3


def test_no_text_looks_like_the_line_of_another_event() -> None:
    """What is said of an error or a result stands under it; a conversation has a name of one line."""
    evil = "timed out\nc2  call       f {}"
    shown = (events.ToolResult("call_1", "f", error=evil, conversation_id="c1\nc2"), events.Error("gap", evil))
    page = printed(*shown, names=True)
    assert [line for line in page.splitlines() if line.startswith("c2")] == []
    assert page.startswith("c1 c2    result     f timed out\n             c2  call")


def test_the_input_of_a_call_shows_its_source() -> None:
    """A growing call begins with the tool's name; the decoded copy of an argument is not shown twice."""
    page = printed(
        events.ToolInputStart("call_1", "f", "json"),
        events.ToolInputDelta("call_1", '{"a"'),
        events.ArgumentDelta("call_1", "a", "x"),
        events.ToolInputDelta("call_1", ":1}"),
        events.ToolInputEnd("call_1"),
    )
    assert page == '  input      f {"a":1}\n'


def test_what_can_not_be_printed_is_escaped() -> None:
    """A model may write half of a surrogate pair, or a number that no machine word holds."""
    page = printed(events.ToolCall("call_1", "f", {"a": "\ud83d", "b": 2**70}))
    assert page == f'  call       f {{"a": "\\ud83d", "b": {2**70}}}\n'


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (events.MessageStart("", "hermes"), "  start      hermes"),
        (events.MessageStart("", ["hermes", "qwen3_xml"]), "  start      hermes, qwen3_xml"),
        (events.ToolCall("call_1", "f", {"a": 1}), '  call       f {"a":1}'),
        (
            events.ToolCall("call_1", "f", {}, repaired=True, problem="unknown-tool"),
            "  call       f {}  (repaired, unknown-tool)",
        ),
        (events.Error("gap", "2 chunks are missing"), "  error      gap: 2 chunks are missing"),
        (events.Finish("stop", usage={"total": 3}), '  finish     stop  {"total":3}'),
        (events.Finish("length"), "  finish     length"),
        (events.Part("refusal", {"text": "no"}), '  part       refusal {"text":"no"}'),
        (events.ToolProgress("call_1", "f", 1), "  progress   f 1"),
        (events.ToolProgress("call_1", "f", 1.5, 10, "half-way"), "  progress   f 1.5 of 10 half-way"),
        (events.ToolResult("call_1", "f", result=[1]), "  result     f [1]"),
        (events.ToolResult("call_1", "f", error="timed out"), "  result     f timed out"),
        (events.ToolResult("call_1", "f", error=""), "  result     f without a result"),
        (events.ToolResult("call_1", "f"), "  result     f without a result"),
        (events.ToolResult("call_1", "f", result=None), "  result     f null"),
    ],
)
def test_every_other_event_is_one_line(event: events.AnyEvent, line: str) -> None:
    """Label first, then what the event says."""
    assert printed(event) == line + "\n"
