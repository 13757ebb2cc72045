"""The toy format, at every cut and under every cap: what `test_mutants` asks whether a change of the core is noticed.

So it is complete in itself, and quick.
"""

import random
from typing import Any

import pytest

from tests.properties.checks import check, check_every_cut
from tests.properties.soup import Setting, Step, Stream
from tests.properties.toy import OVERLAPPING
from tests.support.parsing import codes_of, merged, named, parse, reasoning_of, text_of
from tokenmill.events import ArgumentDelta, ToolCall
from tokenmill.limits import Limits
from tokenmill.parser import Grammar, MessageParser, Options

PIECES = (
    *("<a>", "<a>b", "</a>", "</a>>", "[[", "[", "[CALLS]", "]", "]]", "[J]", "[X]", "[P ", "[/P]", "[ /P ]", "[/X]"),
    *(
        "[J]f:",
        "[J]g::{",
        "[X]f ",
        "[P k>v[/P]",
        '{"k": "v"}',
        '{"k": [1, "\\n"]}',
        ":",
        " ",
        "{",
        "}",
        "k>",
        "f",
        "\n",
    ),
    *("<", "</", "[CALL", "[/", "text", "é", "😀", '"', "\\"),
)
ANSWERS: tuple[tuple[str, str, str, list[Any], list[str]], ...] = (
    ("<a>why</a>so", "so", "why", [], []),
    ("<a>why</a>>so", "so", "why", [], []),
    ("<a>why<", "", "why<", [], []),
    ("<a><a>why</a>", "", "why", [], []),
    ("x<a>by</a>z", "xyz", "", [], []),
    ("x<a", "x<a", "", [], []),
    ("[[so", "so", "", [], []),
    ("[CALLS]]so", "so", "", [], []),
    ("[ so", "[ so", "", [], ["malformed-call"]),
    ("x[", "x[", "", [], ["unfinished-call"]),
    ('[CALLS][J]f:{"k": 1}]so', "so", "", [("f", {"k": 1})], []),
    ('[J]f::{"k": "\\n"}', '[J]f::{"k": "\\n"}', "", [], ["malformed-call"]),
    ("[J]f:{}[J]g:{}so", "so", "", [("f", {}), ("g", {})], []),
    ("[X]f [P k>v[/P][/X]so", "so", "", [("f", {"k": "v"})], []),
    ("[X]f [P k>a[ / P ][/X]so", "so", "", [("f", {"k": "a"})], []),
    ('[J]f:{"k":}]so', '[J]f:{"k":}]so', "", [], ["malformed-call"]),
    ('[J]f:{"k"', '[J]f:{"k"', "", [], ["unfinished-call"]),
    ("<a>why[CALLS][J]f:{}]so", "so", "why", [("f", {})], []),
)
SETTINGS: tuple[tuple[dict[str, Any], Limits], ...] = (
    ({}, Limits()),
    ({"content_arguments": ["*"]}, Limits(delta_chars=3)),
    ({"content_arguments": ["*"], "min_delta_chars": 2, "start": "reasoning"}, Limits(call_chars=12)),
    ({"text_after_calls": "drop", "on_broken": "drop"}, Limits(message_chars=30)),
    ({"calls_in_reasoning": "ignore", "on_unfinished": "drop"}, Limits(calls=1)),
)


def compiled(options: dict[str, Any], limits: Limits) -> Grammar:
    """The toy under these options, traced."""
    return Grammar(Options(format="overlapping", **options), [OVERLAPPING], limits, traced=True)


@pytest.mark.parametrize(("text", "out", "reasoning", "calls", "errors"), ANSWERS)
def test_answers(text: str, out: str, reasoning: str, calls: list[Any], errors: list[str]) -> None:
    """Each marker does what the format says, also where it is the beginning of another, and at every cut."""
    grammar = compiled({}, Limits())
    events = parse(grammar, [text])
    assert text_of(events) == out
    assert reasoning_of(events) == reasoning
    assert [(call.name, call.arguments) for call in named(events, ToolCall)] == calls
    assert codes_of(events) == errors
    check_every_cut(Setting(grammar, (), ()), Stream((Step("feed", text),), "stop"))


def test_a_suffix_belongs_to_the_markers() -> None:
    """With a suffix the markers are those that have it, and no others."""
    events = parse(compiled({"markers_suffix": "s1"}, Limits()), list("<a:s1>why</a:s1>so<a>"))
    assert (text_of(events), reasoning_of(events)) == ("so<a>", "why")


@pytest.mark.parametrize(("options", "limits"), SETTINGS)
def test_soup(options: dict[str, Any], limits: Limits) -> None:
    """The promises hold for marker soup, cut and saved at random."""
    dice = random.Random(f"{options} {limits}")
    setting = Setting(compiled(options, limits), (), ())
    for _ in range(300):
        text = "".join(dice.choice(PIECES) for _ in range(dice.randint(1, 12)))
        check(setting, Stream((Step("feed", text),), "stop"), dice)


def test_text_behind_calls_can_be_dropped() -> None:
    """Text in front of the first call is kept, text behind it is kept or dropped, as the options say."""
    for policy, out in (("keep", "before after"), ("drop", "before ")):
        grammar = compiled({"text_after_calls": policy}, Limits())
        assert text_of(parse(grammar, list("before [J]f:{}after"))) == out


def test_caps_at_every_size() -> None:
    """A message that is one character longer than its cap has one `limit`; one that is not has none."""
    text = "<a>why</a>so [J]f:{} and"
    for size in range(1, len(text) + 2):
        codes = codes_of(parse(compiled({}, Limits(message_chars=size)), list(text)))
        assert codes.count("limit") == (size < len(text)), size
    call = '[J]f:{"k": "vvvvvvvv"}'
    for size in range(6, len(call) + 2):
        codes = codes_of(parse(compiled({}, Limits(call_chars=size)), [call]))
        assert codes.count("limit") == (size < len(call)), size
    cut = '[J]f:{"k": "vv'
    assert codes_of(parse(compiled({}, Limits(call_chars=len(cut))), [cut])) == ["unfinished-call"]
    for count in range(4):
        events = parse(compiled({}, Limits(calls=count)), ["[J]f:{}[J]f:{}[J]f:{}"])
        assert len(named(events, ToolCall)) == count
        assert codes_of(events) == ["limit"] * (count < 3)


@pytest.mark.parametrize(
    ("text", "sent", "held"),
    [
        *(("x", "x", ""), ("x<", "x", "<"), ("x<a", "x", "<a"), ("x<a>", "x", "<a>"), ("x<a>by", "xy", "")),
        *(("<<", "<", "<"), ("x</", "x", "</"), ("x</b", "x</b", ""), ("a<a<", "a<a", "<"), ("1 < 2", "1 < 2", "")),
        *(
            ("x[", "x", "["),
            ("x[CA", "x", "[CA"),
            ("x[[", "x", ""),
            ("x[[y", "xy", ""),
            ("x]", "x]", ""),
            ("x</a>>", "x>", ""),
        ),
    ],
)
def test_nothing_is_held_that_can_not_become_a_marker(text: str, sent: str, held: str) -> None:
    """Hold-back is exact: held is the longest end of the text that is a proper beginning of a live marker."""
    parser = MessageParser.of(compiled({}, Limits()), "identity")
    assert text_of([event for character in text for event in parser.feed(character)]) == sent
    assert parser.state.held == held


def test_arguments_grow_to_what_they_are() -> None:
    """Decoded deltas joined are the argument, in pieces as small as the chunks."""
    for text in ('[J]f:{"k": "a\\nb\\u00e9c"}', "[X]f [P k>some text[/P][/X]"):
        events = parse(compiled({"content_arguments": ["*"]}, Limits()), list(text))
        deltas = [event.delta for event in named(events, ArgumentDelta)]
        (call,) = named(events, ToolCall)
        assert "".join(deltas) == call.arguments["k"]
        assert len(deltas) > 1


def test_a_call_that_came_decides_the_finish() -> None:
    """The message finishes with `tool-calls` if a call is complete, and with the given reason if none is."""
    grammar = compiled({}, Limits())
    assert [parse(grammar, [text])[-1].reason for text in ("[J]f:{}", "[J]f:{", "so")] == ["tool-calls", "stop", "stop"]


def test_a_saved_parser_goes_on() -> None:
    """Every field of the state is in its bytes: saved at each character, all goes on as if it had not been."""
    text = 'so<a>why</a>[CALLS] [J]f:{"k": "v\\n"} [X]g [P k>v[/P][/X] ]x<a>b</a'
    for options, limits in SETTINGS:
        grammar = compiled(options, limits)
        parser, events = MessageParser.of(grammar, "identity"), []
        for character in text:
            events += parser.feed(character)
            parser = MessageParser.of_state(grammar, parser.encode_state())
        assert merged(events + parser.finish()) == merged(parse(grammar, [text]))
