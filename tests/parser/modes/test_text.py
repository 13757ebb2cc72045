"""Sections: what may stand in them, and what becomes of what may not. Labels with which regions begin."""

import pytest

from tests.support.parsing import (
    all_cuts,
    codes_of,
    grammar,
    merged,
    named,
    parse,
    reasoning_of,
    source_of,
    text_of,
    traced,
)
from tokenmill.events import ToolCall
from tokenmill.parser import Format, MessageParser
from tokenmill.parser.markers import literal, marker
from tokenmill.parser.modes.text import FRAMING_CHARS
from tokenmill.parser.spec import Region

CALL = '{"name":"f"}'


@pytest.mark.parametrize(
    ("text", "calls", "out", "codes"),
    [
        (f"<tool_call> [ {CALL} , {CALL} ] </tool_call>x", 2, "x", []),
        (f"<tool_call>{CALL} and so on</tool_call>x", 1, " and so on</tool_call>x", []),
        (f"<tool_call>{CALL}\n</tool_call>\n<tool_call>{CALL}</tool_call>", 2, "\n", []),
        (f"<tool_call><tool_call>{CALL}</tool_call>", 1, "<tool_call>", ["malformed-call"]),
        (f"<tool_call>{CALL}<tool_call>", 1, "<tool_call>", ["unfinished-call"]),
        ("<tool_call>\n", 0, "<tool_call>\n", ["unfinished-call"]),
        (f"<tool_call>{CALL}\n", 1, "", []),
        ("a<tool_call>[]\n</tool_call>b", 0, "ab", []),
    ],
)
def test_sections(text: str, calls: int, out: str, codes: list[str]) -> None:
    """Framing between calls is swallowed, everything else is text; at every cut, and not a character is lost."""
    whole = merged(parse(grammar("hermes"), [text]))
    assert (sum(getattr(event, "type", "") == "tool-call" for event in whole), text_of(whole)) == (calls, out)
    assert codes_of(whole) == codes
    assert source_of(parse(traced("hermes"), [text])) == text
    for chunks in all_cuts(text):
        assert merged(parse(grammar("hermes"), chunks)) == whole


def test_framing_is_bounded() -> None:
    """Commas without end are no list."""
    text = "<tool_call>" + "," * (FRAMING_CHARS + 10) + CALL
    events = parse(grammar("hermes"), [text])
    assert text_of(events) == text
    assert codes_of(events) == ["malformed-call"]
    assert merged(events) == merged(parse(grammar("hermes"), list(text)))


def test_failed_source_stays_where_it_stood() -> None:
    """An opening that leads nowhere inside the reasoning is reasoning."""
    events = parse(grammar("hermes", calls_in_reasoning="honour"), ["<think>a<tool_call>b</think>c"])
    assert [event.delta for event in events if event.type == "reasoning-delta"] == ["a", "<tool_call>", "b"]
    assert text_of(events) == "c"
    assert len(named(events, type(events[0]))) == 1


OPEN, CLOSE = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"


def call(name: str, arguments: str = "{}") -> str:
    return f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{arguments}<｜tool▁call▁end｜>"


BROKEN, NAMELESS, CUT = call("f", "oops"), call(""), call("f", "{oops")


@pytest.mark.parametrize(
    ("before", "out", "codes"),
    [
        (f"{OPEN}{BROKEN}", f"{OPEN}{BROKEN}", ["malformed-call"]),
        (f"{OPEN} {CUT} and {NAMELESS} so\n", f"{OPEN} {CUT} and {NAMELESS} so\n", ["malformed-call"] * 2),
        (f"{OPEN}{BROKEN}{CLOSE} a {OPEN}", f"{OPEN}{BROKEN}{CLOSE} a ", ["malformed-call"]),
        (f"{OPEN} so: ", f"{OPEN} so: ", ["malformed-call"]),
        (f"{OPEN}{call('f')} and\n", " and\n", []),
    ],
)
def test_no_call_is_lost_with_what_stands_in_front_of_it(before: str, out: str, codes: list[str]) -> None:
    """A broken call, or text where none should be: the section goes on at its next call."""
    text = f"{before}{call('g')}{CLOSE}x"
    events = parse(grammar("deepseek_v31"), [text])
    assert [event.name for event in named(events, ToolCall)][-1:] == ["g"]
    assert (text_of(events), codes_of(events)) == (f"{out}x", codes)
    assert source_of(parse(traced("deepseek_v31"), [text])) == text
    for chunks in all_cuts(text):
        assert merged(parse(grammar("deepseek_v31"), chunks)) == merged(events)


@pytest.mark.parametrize(
    ("text", "reasoning", "out"),
    [
        (f"<think>a {OPEN} b</think>c", f"a {OPEN} b", "c"),
        (f"<think>a {OPEN}{NAMELESS}</think>c", f"a {OPEN}{NAMELESS}", "c"),
        (f"a {OPEN} b <think>c</think>", "c", f"a {OPEN} b "),
    ],
)
def test_a_section_that_holds_no_call_ends_with_what_it_stands_in(text: str, reasoning: str, out: str) -> None:
    """Its opening may be quoted: markers beyond it count all the same."""
    events = parse(grammar("deepseek_v31", calls_in_reasoning="honour"), [text])
    assert (reasoning_of(events), text_of(events)) == (reasoning, out)
    for chunks in all_cuts(text):
        assert merged(parse(grammar("deepseek_v31", calls_in_reasoning="honour"), chunks)) == merged(events)


def test_what_stands_in_front_of_a_call_can_be_dropped_with_a_broken_one() -> None:
    """Up to the next call or the end of the section."""
    text = f"a{OPEN}{BROKEN} b {call('g')}{CLOSE}c"
    assert text_of(parse(grammar("deepseek_v31", on_broken="drop"), [text])) == "ac"


# The label with which a region begins.

LABELLED = Format(
    name="labelled",
    summary="",
    sample="",
    regions=(
        Region(marker("<r>"), marker("</r>"), label=(marker("why:"), marker("why", ahead=[literal("</r>"), [r"\Z"]]))),
    ),
    start="reasoning",
)


@pytest.mark.parametrize(
    ("text", "reasoning", "out"),
    [
        ("why:so</r>x", "so", "x"),
        ("why</r>x", "", "x"),
        ("why", "", ""),
        ("why not</r>x", "why not", "x"),
        ("wh", "wh", ""),
        ("so why:</r>x", "so why:", "x"),
        ("why:why:</r>why:", "why:", "why:"),
        ("<r>so</r>x", "so", "x"),
        ("</r>x", "", "x"),
    ],
)
def test_labels(text: str, reasoning: str, out: str) -> None:
    """Only the first characters can be one, wherever they are cut."""
    compiled = grammar(LABELLED)
    events = parse(compiled, [text])
    assert (reasoning_of(events), text_of(events)) == (reasoning, out)
    for chunks in all_cuts(text):
        assert merged(parse(compiled, chunks)) == merged(events)


def test_nothing_waits_but_a_label() -> None:
    """The first character that does not fit sends what was held."""
    parser = MessageParser.of(grammar(LABELLED), "identity")
    assert [reasoning_of(parser.feed(chunk)) for chunk in ("wh", "y", "s", "o")] == ["", "", "whys", "o"]


def test_text_has_no_label() -> None:
    """A stream that begins outside of the region is read as ever."""
    assert text_of(parse(grammar(LABELLED, start="text"), ["why:so"])) == "why:so"
