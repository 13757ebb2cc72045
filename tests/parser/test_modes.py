"""Sections: what may stand in them, and what becomes of what may not."""

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, source_of, text_of, traced
from tokenmill.events import ToolCall
from tokenmill.parser.modes import FRAMING_CHARS

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


OPEN, CLOSE = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"


def kimi_call(number: int, arguments: str) -> str:
    return f"<|tool_call_begin|>functions.f:{number}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>"


BROKEN, CUT, LIST = kimi_call(1, "oops"), kimi_call(1, "{oops"), kimi_call(2, "[]")


@pytest.mark.parametrize(
    ("before", "out"),
    [
        (f"{OPEN}{BROKEN}", f"{OPEN}{BROKEN}"),
        (f"{OPEN} {CUT} and {LIST} so\n", f"{OPEN} {CUT} and {LIST} so\n"),
        (f"{OPEN}{BROKEN}{CLOSE} a {OPEN}", f"{OPEN}{BROKEN}{CLOSE} a "),
    ],
)
def test_no_call_is_lost_with_a_broken_one_of_its_section(before: str, out: str) -> None:
    """What stands between them is text, whatever it is, and the section goes on at its next call."""
    text = f"{before}{kimi_call(3, '{}')}{CLOSE}x"
    events = parse(grammar("kimi_k2"), [text])
    assert [call.id for call in named(events, ToolCall)] == ["functions.f:3"]
    assert text_of(events) == f"{out}x"
    assert source_of(parse(traced("kimi_k2"), [text])) == text
    for chunks in all_cuts(text):
        assert merged(parse(grammar("kimi_k2"), chunks)) == merged(events)


def test_what_follows_a_broken_call_can_be_dropped_with_it() -> None:
    """Up to the next call or the end of the section."""
    text = f"a{OPEN}{kimi_call(1, 'oops')} b {kimi_call(2, '{}')}{CLOSE}c"
    assert text_of(parse(grammar("kimi_k2", on_broken="drop"), [text])) == "ac"
