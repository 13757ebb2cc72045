"""What bare_json has of its own; its cases are run by the conformance suite."""

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, text_of
from tokenmill.events import TextStart, ToolCall, ToolInputDelta, ToolInputStart
from tokenmill.limits import Limits
from tokenmill.parser import MessageParser
from tokenmill.systems.gamecode.bare_json import OPEN_CHARS

CALL = '{"tool": "f", "params": {"a": "}x\\"{"}, "id": 1}'


def test_the_source_of_a_call_is_all_of_it() -> None:
    """Verbatim, from the first bracket to the last, whenever the name and the parameters come."""
    compiled = grammar("bare_json")
    for call in (CALL, '{"id":1,"params":[1,"\\n"],"tool":"f"}'):
        for chunks in all_cuts(f"a {call} b"):
            events = parse(compiled, chunks)
            assert "".join(delta.delta for delta in named(events, ToolInputDelta)) == call
            assert [start.encoding for start in named(events, ToolInputStart)] == ["text"]
            assert text_of(events) == "a  b"


def test_it_is_a_call_from_where_both_keys_are_known() -> None:
    """And is told of from then on."""
    parser = MessageParser.of(grammar("bare_json"), "identity")
    assert named(parser.feed('{"tool": "f", "params"'), ToolInputStart) == []
    assert [event.type for event in parser.feed(': {"a": "x')] == ["tool-input-start", "tool-input-delta"]
    assert [event.delta for event in named(parser.feed("yz"), ToolInputDelta)] == ["yz"]
    assert [event.type for event in parser.feed('"}}')] == ["tool-input-delta", "tool-input-end", "tool-call"]


@pytest.mark.parametrize(
    ("lead", "released"),
    [("{", " k"), ('{"a"', " b"), ('{"a": 1', " b"), ('{"tool"', ": 1"), ('{"tool": "f"', "}"), ('{"tool": "', ' "')],
)
def test_prose_is_let_go_at_the_first_character_that_does_not_fit(lead: str, released: str) -> None:
    """Until then it may become a call."""
    parser = MessageParser.of(grammar("bare_json"), "identity")
    assert text_of(parser.feed(lead)) == ""
    assert text_of(parser.feed(released)) == lead + released


@pytest.mark.parametrize("size", [1_000, 100_000])
def test_an_object_is_not_held_back_for_ever(size: int) -> None:
    """Above a cap that only counts as long as it is no call; it falls on the same character whatever the chunks."""
    junk = '{"a": "' + "x" * 2 * OPEN_CHARS
    parser = MessageParser.of(grammar("bare_json"), "identity")
    held = [len(text_of(parser.feed(junk[at : at + size]))) for at in range(0, len(junk), size)]
    assert sum(held) == len(junk)
    late = '{"params": "' + "x" * OPEN_CHARS + '", "tool": "f"}'
    assert named(parse(grammar("bare_json"), [late]), ToolCall) == []
    begun = '{"tool": "f", "params": {"a": "' + "x" * 2 * OPEN_CHARS + '"}}'
    for chunks in ([begun], [begun[at : at + size] for at in range(0, len(begun), size)]):
        (call,) = named(parse(grammar("bare_json"), chunks), ToolCall)
        assert len(call.arguments["a"]) == 2 * OPEN_CHARS


def test_a_call_has_the_cap_of_every_call() -> None:
    """Behind it all is text."""
    events = parse(grammar("bare_json", Limits(call_chars=40)), [CALL])
    assert (codes_of(events), text_of(events)) == (["limit"], CALL)


def test_a_tool_that_comes_twice() -> None:
    """Which of them is meant can't be told."""
    early = parse(grammar("bare_json"), ['{"tool":"f","tool":"g","params":{}}'])
    assert (named(early, ToolCall), codes_of(early)) == ([], [])
    late = parse(grammar("bare_json"), ['{"tool":"f","params":{},"tool":"g"}'])
    assert (named(late, ToolCall), codes_of(late)) == ([], ["malformed-call"])


def test_every_cut_gives_the_same() -> None:
    """Of a text with all kinds of objects in it."""
    text = f'x {{"a": {{}}, "b": [1e5, tru]}} {CALL}{CALL} {{"tool": "q", "par'
    whole = merged(parse(grammar("bare_json"), [text]))
    for chunks in all_cuts(text):
        assert merged(parse(grammar("bare_json"), chunks)) == whole


def test_white_space_between_calls_is_text() -> None:
    """Each call stands alone; a line break between two is a block of text."""
    call = '{"tool": "f", "params": {}}'
    events = parse(grammar("bare_json"), [f"{call}\n{call} \n"])
    assert len(named(events, ToolCall)) == 2
    assert len(named(events, TextStart)) == 2
    assert text_of(events) == "\n \n"
