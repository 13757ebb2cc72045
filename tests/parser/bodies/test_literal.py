"""Bare keys and strings between marks: values by their schema, deltas only where they are certain, bounds."""

from typing import Any

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, text_of
from tokenmill.events import ArgumentDelta, ToolCall
from tokenmill.limits import JSON_DEPTH, NAME_CHARS
from tokenmill.parser.bodies.literal import Action, Advance, LiteralScan, advance, literal_scan
from tokenmill.parser.markers import marker
from tokenmill.parser.run.run import Verdict

SCAN = LiteralScan(marker("<q>"), (marker("<end>"),), loose=False)
LOOSE = LiteralScan(marker("<q>"), (marker("<end>"),), loose=True)

VALUE, KEY, STRING = (False, False), (False, True), (True, False)


def said(text: str, done: Advance) -> list[tuple[Action, str]]:
    """Each action with its stretch of the text."""
    return [(action, text[begin:end]) for action, begin, end in done.actions]


@pytest.mark.parametrize(
    ("text", "before", "after", "actions"),
    [
        ("1,k", ("{", *VALUE), ("{", *KEY, 3), [(Action.KEY, ","), (Action.NAME, "k")]),
        ("ey:1", ("{", *KEY), ("{", *VALUE, 4), [(Action.NAME, "ey"), (Action.NAMED, ":")]),
        ("<q>x", ("{", *VALUE), ("{", *STRING, 4), [(Action.BEGIN, "<q>"), (Action.TEXT, "x")]),
        ("<q>x", ("{[", *VALUE), ("{[", *STRING, 4), []),
        ("x}<q>,<", ("{[", *STRING), ("{[", *VALUE, 6), []),
        ("1],2", ("{[", *VALUE), ("{", *KEY, 4), [(Action.KEY, ","), (Action.NAME, "2")]),
        ("[{a:1", ("{", *VALUE), ("{[{", *VALUE, 5), []),
    ],
)
def test_what_is_open(
    text: str, before: tuple[str, bool, bool], after: tuple[str, bool, bool, int], actions: list[tuple[Action, str]]
) -> None:
    """Brackets nest outside of strings; keys and commas count in the outermost brackets; half a mark waits."""
    done = advance(SCAN, text, *before)
    assert (done.stack, done.quoted, done.naming, done.read) == after
    assert (said(text, done), done.verdict, done.end) == (actions, Verdict.MORE, -1)


@pytest.mark.parametrize(
    ("text", "before", "after", "actions"),
    [
        (
            "x<q>k:1",
            ("{", *STRING),
            ("{", *VALUE, 7),
            [
                (Action.TEXT, "x"),
                (Action.END, "<q>"),
                (Action.KEY, "<q>"),
                (Action.NAME, "k"),
                (Action.NAMED, ":"),
            ],
        ),
        ("x<q>k", ("{", *STRING), ("{", *STRING, 1), [(Action.TEXT, "x")]),
        (
            "<q>,k",
            ("{", *STRING),
            ("{", *KEY, 5),
            [(Action.END, "<q>"), (Action.KEY, "<q>"), (Action.KEY, ","), (Action.NAME, "k")],
        ),
        ("<q>x<q>,", ("{[", *VALUE), ("{[", *VALUE, 8), []),
        ("k<q>:", ("{", True, True), ("{", *VALUE, 5), [(Action.NAME, "k"), (Action.NAMED, ":")]),
    ],
)
def test_a_string_may_end_its_value(
    text: str, before: tuple[str, bool, bool], after: tuple[str, bool, bool, int], actions: list[tuple[Action, str]]
) -> None:
    """Where commas may be missing, a key is next behind a value of the outermost brackets."""
    done = advance(LOOSE, text, *before)
    assert (done.stack, done.quoted, done.naming, done.read) == after
    assert said(text, done) == actions


@pytest.mark.parametrize(
    ("text", "before", "verdict", "read", "end"),
    [
        ("1}x", ("{", *VALUE), Verdict.DONE, 2, 1),
        ("]", ("{", *VALUE), Verdict.FAILED, 1, -1),
        ("<end>", ("{", *VALUE), Verdict.DONE, 0, 0),
        ("<end>", ("{[", *VALUE), Verdict.FAILED, 0, 0),
        ("{", ("{", *KEY), Verdict.FAILED, 1, -1),
        ("<q>x", ("{", *STRING), Verdict.FAILED, 3, -1),
    ],
)
def test_what_ends_a_call(text: str, before: tuple[str, bool, bool], verdict: Verdict, read: int, end: int) -> None:
    """Its bracket and what surrounds it, where nothing else is open; what can't stand here breaks it."""
    done = advance(SCAN, text, *before)
    assert (done.verdict, done.read, done.end) == (verdict, read, end)


def test_one_scan_for_all_messages() -> None:
    """The same marks are the same scan, so what was found is remembered across messages."""
    marks = (marker("<q>"), (marker("<end>"),))
    assert literal_scan(*marks, loose=True) is literal_scan(*marks, loose=True)


def test_what_passes_inside() -> None:
    """Keys and commas mean nothing inside of inner brackets; a bracket or the beginning of a mark does."""
    assert SCAN.passes("a:1,b", "{{")
    assert not SCAN.passes("a:1,b", "{")
    assert not any(SCAN.passes(text, "{{") for text in ("[", "}", "a<"))


TOOL = {
    "function": {
        "name": "f",
        "parameters": {
            "properties": {
                "s": {"type": "string"},
                "n": {"type": ["string", "null"]},
                "i": {"type": "integer"},
                "o": {"type": "object"},
            }
        },
    }
}


def call(arguments: str, format_name: str = "functiongemma") -> str:
    """A call of `f` with `'` for the mark."""
    opening, closing, mark = {
        "functiongemma": ("<start_function_call>", "<end_function_call>", "<escape>"),
        "gemma4": ("<|tool_call>", "<tool_call|>", '<|"|>'),
    }[format_name]
    return f"{opening}call:f{{{arguments}}}{closing}".replace("'", mark)


@pytest.mark.parametrize(
    ("arguments", "expected", "grown"),
    [
        ("s:'x'", {"s": "x"}, {"s": "x"}),
        ("s:'null'", {"s": "null"}, {"s": "null"}),
        ("n:'null'", {"n": None}, {}),
        ("n:'NULLABLE'", {"n": "NULLABLE"}, {"n": "NULLABLE"}),
        ("n:'nul'", {"n": "nul"}, {"n": "nul"}),
        ("n:''", {"n": ""}, {}),
        ("i:'5'", {"i": 5}, {}),
        ("i:'x'", {"i": "x"}, {"i": "x"}),
        ("s:x y", {"s": "x y"}, {"s": "x y"}),
        ("o:{s:'x'},s:'y'", {"o": {"s": "x"}, "s": "y"}, {"s": "y"}),
        ("u:'5'", {"u": 5}, {}),
        ("\"s\" : 'x','\"n\"':'y'", {"s": "x", "n": "y"}, {"s": "x", "n": "y"}),
        ('s:"x",i:"5"', {"s": "x", "i": "5"}, {"s": "x", "i": "5"}),
        ("s:'x'n:'y'i:'5'", {"s": "x", "n": "y", "i": 5}, {"s": "x", "n": "y"}),
        ("", {}, {}),
    ],
)
def test_typed_strings(arguments: str, expected: dict[str, Any], grown: dict[str, str]) -> None:
    """Deltas are those of the final value, wherever it is cut; what may become another type waits for its end."""
    text = call(arguments)
    compiled = grammar("functiongemma", tools=[TOOL], content_arguments=["*"])
    whole = merged(parse(compiled, [text]))
    assert [event.arguments for event in whole if isinstance(event, ToolCall)] == [expected]
    assert {item[0][1]: item[1] for item in whole if isinstance(item, tuple) and item[0][0] == "argument"} == {
        key: value for key, value in grown.items() if value
    }
    for chunks in all_cuts(text):
        assert merged(parse(compiled, chunks)) == whole


def test_deltas_may_wait_for_a_size() -> None:
    """`min_delta_chars` holds text back; the end of the string sends what is left."""
    events = parse(
        grammar("gemma4", content_arguments=["*"], min_delta_chars=4), list(call("s:'abcdefghij'", "gemma4"))
    )
    assert [event.delta for event in named(events, ArgumentDelta)] == ["abcd", "efgh", "ij"]


@pytest.mark.parametrize("bad", ["k" * (NAME_CHARS + 1), "a:" + "[" * JSON_DEPTH, "a:{b]", "{", "a b,c:1", "a:'x''y'"])
def test_what_is_no_call(bad: str) -> None:
    """Keys and nesting have a bound, brackets match, values have a form; otherwise the source comes out as text."""
    text = call(bad, "gemma4")
    whole = parse(grammar("gemma4"), [text])
    assert codes_of(whole) == ["malformed-call"]
    assert text_of(whole) == text
    assert merged(parse(grammar("gemma4"), list(text))) == merged(whole)


def test_nesting_on_the_short_path() -> None:
    """A chunk that leaves a list and enters another is not skipped."""
    events = parse(
        grammar("gemma4"), [*("<|tool_call>call:f{a:[[1", "],[", "2]],b:[", "3", "],c", ":[4]}<tool_call|>")]
    )
    assert named(events, ToolCall)[0].arguments == {"a": [[1], [2]], "b": [3], "c": [4]}


def test_names_at_their_bound() -> None:
    """A key of the most characters is one, and a character more breaks the call, however its chunks come."""
    for chars, code in ((NAME_CHARS, []), (NAME_CHARS + 1, ["malformed-call"])):
        text = call(f"{'k' * chars}:1,b:2")
        for size in (1, 3, 7, len(text)):
            chunks = [text[at : at + size] for at in range(0, len(text), size)]
            assert codes_of(parse(grammar("functiongemma"), chunks))[:1] == code


@pytest.mark.parametrize("format_name", ["functiongemma", "gemma4"])
@pytest.mark.parametrize("reason", ["length", "cancelled"])
def test_what_is_cut_off_is_unfinished(format_name: str, reason: str) -> None:
    """Wherever that is: the end of an answer that was cut off closes no string, and breaks no call."""
    text = call("path:'/a',content:['b','c d']", format_name)
    ends = [parse(grammar(format_name), [text[:at]], reason) for at in range(text.index("{"), len(text))]
    assert {code for events in ends for code in codes_of(events)} <= {"unfinished-call"}
    whole = [named(events, ToolCall)[0].arguments for events in ends if named(events, ToolCall)]
    assert all(arguments == {"path": "/a", "content": ["b", "c d"]} for arguments in whole)
    half = call("path:'/a',content:'quotes are '", format_name).replace("}", "")
    assert named(parse(grammar(format_name), [half], reason), ToolCall) == []
    assert len(named(parse(grammar(format_name), [half]), ToolCall)) == 1
