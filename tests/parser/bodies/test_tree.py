"""Nested elements: read at every cut, sent as they grow where certain to be text, broken where nothing fits."""

from typing import Any

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, text_of
from tokenmill.events import ArgumentDelta, ToolCall, ToolInputDelta
from tokenmill.limits import NAME_CHARS
from tokenmill.parser import Call, Format, Header, MessageParser, Section
from tokenmill.parser.bodies import Tree
from tokenmill.parser.bodies.tree import DEPTH
from tokenmill.parser.markers import marker

FORMAT = Format(
    name="tree",
    summary="",
    sample="",
    sections=(
        Section(
            marker("[calls]"),
            marker("[/calls]"),
            (
                Call(
                    marker("[call "),
                    Tree(marker("["), marker("[/"), marker("[/call]"), "call", tag_end=marker("]")),
                    Header(until=marker("]")),
                ),
            ),
        ),
    ),
)
TOOL = {
    "function": {
        "name": "f",
        "parameters": {
            "properties": {
                "s": {"type": "string"},
                "i": {"type": "integer"},
                "o": {"type": "object", "properties": {"k": {"type": "number"}}},
            }
        },
    }
}


def call_of(body: str) -> str:
    """A call with this body."""
    return f"[calls][call f]{body}[/call][/calls]"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", {}),
        ("[s]x[/s][i] 7 [/i]", {"s": "x", "i": 7}),
        ("[o]\n [k]1.5[/k] [z]1[/z]\n[/o]", {"o": {"k": 1.5, "z": "1"}}),
        ("[s]a [b]c[/b] d[/s]", {"s": "a [b]c[/b] d"}),
        ("[call]x[/call]", {"call": "x"}),
        ("[x][call]y[/call][/x]", {"x": {"call": "y"}}),
        ("[s]x[/s][z]open", {"s": "x"}),
        (" [s]x[/s] stray [i]1[/i]", {"s": "x", "i": 1}),
        ("[s]a[/call]b[/s][i]1[/i]", {"s": "a[/call]b", "i": 1}),
        ("[i]1[/i][s][/z][/call][/s]", {"i": 1, "s": "[/z][/call]"}),
        ("[i]1[/i][o][k]2[/z][/k][/o]", {"i": 1, "o": {"k": "2[/z]"}}),
        ("[i]1[/i][s]a[/ z ]b[/s]", {"i": 1, "s": "a[/ z ]b"}),
        ("[i]1[/i][s]a[b]c[/z]d[/b][/s]", {"i": 1, "s": "a[b]c[/z]d[/b]"}),
        ("[i]1[/i][s][/z][/y][/s][o][/o]", {"i": 1, "s": "[/z][/y]", "o": {}}),
    ],
)
def test_arguments(body: str, expected: dict[str, Any]) -> None:
    """The same at every cut, and what was sent of a text as it grew is the text."""
    text = call_of(body)
    compiled = grammar(FORMAT, tools=[TOOL], content_arguments=["*"])
    whole = merged(parse(compiled, [text]))
    (call,) = [event for event in whole if isinstance(event, ToolCall)]
    assert call.arguments == expected
    streams: dict[tuple[str, str], str] = dict(item for item in whole if isinstance(item, tuple))
    assert streams.get(("source", ""), "") == body
    assert {key: delta for (kind, key), delta in streams.items() if kind == "argument"} == {
        key: value for key, value in expected.items() if isinstance(value, str)
    }
    for chunks in all_cuts(text):
        assert merged(parse(compiled, chunks)) == whole
    unwatched = grammar(FORMAT, tools=[TOOL])
    for chunks in all_cuts(text):
        assert merged(parse(unwatched, chunks)) == merged(parse(unwatched, [text]))


@pytest.mark.parametrize(
    "body", ["[s]x[/t]", "[n]x[/n][/t]", "[/s]", "[]x[/]", "[" + "k" * (NAME_CHARS + 1), "[n]" * (DEPTH + 1)]
)
def test_what_fits_nothing_breaks_the_call(body: str) -> None:
    """A closing of nothing, no name, one too long, elements too deep: the source is text, wherever it is cut."""
    events = parse(grammar(FORMAT), [call_of(body)])
    assert (codes_of(events), text_of(events)) == (["malformed-call"], call_of(body))
    text = call_of(body)
    for size in range(1, 16):
        chunks = [text[at : at + size] for at in range(0, len(text), size)]
        assert merged(parse(grammar(FORMAT), chunks)) == merged(events)


@pytest.mark.parametrize(
    "body",
    [
        "[i]1[/i][o][k]a[/o]",
        "[i]1[/i][o][k]1[/k]",
        "[i]1[/i][s]a[b]c[/b]d",
        "[i]1[/i][s]a[b]c",
        "[i]1[/i][s]a[/z]",
        "[i]1[/i][s]a[/z]b",
        "[i]1[/i][s]a[/call]b",
    ],
)
def test_markup_in_what_is_not_closed_breaks_the_call(body: str) -> None:
    """The end of the call may be part of it, as other markup in it was: better no call than half of one."""
    for wanted in ([], ["*"]):
        compiled = grammar(FORMAT, tools=[TOOL], content_arguments=wanted)
        for chunks in ([call_of(body)], list(call_of(body))):
            events = parse(compiled, chunks)
            assert (codes_of(events), text_of(events)) == (["malformed-call"], call_of(body))


@pytest.mark.parametrize("ending", ["[/calls]", "[calls]", "[call f][/call][/calls]"])
def test_what_surrounds_a_call_ends_it(ending: str) -> None:
    """A missing end behind complete elements is made good by what follows."""
    events = parse(grammar(FORMAT), ["[calls][call f][s]x[/s]" + ending])
    assert named(events, ToolCall)[0].arguments == {"s": "x"}


def test_what_was_sent_of_an_open_element_is_not_taken_back() -> None:
    """Who was told of its text finds it in the arguments; elsewhere what is left open is left out."""
    text = call_of("[i]1[/i][s]open")
    for wanted, more in ((["*"], {"s": "open"}), ([], {})):
        compiled = grammar(FORMAT, tools=[TOOL], content_arguments=wanted)
        for chunks in ([text], list(text)):
            events = parse(compiled, chunks)
            assert named(events, ToolCall)[0].arguments == {"i": 1, **more}
            assert "".join(event.delta for event in named(events, ArgumentDelta)) == "".join(more.values())


@pytest.mark.parametrize("wanted", [[], ["*"]])
@pytest.mark.parametrize("body", ["[i]1[/i][s]say [/call] twice[/s]", "[i]1[/i][o][k]2[/k][/call][/o]"])
def test_an_answer_that_is_cut_off_in_an_element(body: str, wanted: list[str]) -> None:
    """The end of the call may be text of the element there: the model had not come to its end."""
    text = call_of(body)
    compiled = grammar(FORMAT, tools=[TOOL], content_arguments=wanted)
    whole = named(parse(compiled, [text]), ToolCall)
    for at in range(len(text)):
        events = parse(compiled, [text[:at]], "length")
        assert named(events, ToolCall) in ([], whole)
    half = text[: text.index("[/call]") + len("[/call]")]
    for chunks in ([half], list(half)):
        assert codes_of(parse(compiled, chunks, "length")) == ["unfinished-call"]


def test_text_is_sent_at_once() -> None:
    """Content passes with its chunk; only what may be a marker waits."""
    parser = MessageParser.of(grammar(FORMAT, tools=[TOOL], content_arguments=["f.s"]), "identity")
    parser.feed("[calls][call f][s]")
    deltas = []
    for text in ("a", "[", "b]", "c", "[/b]", "[/"):
        events = parser.feed(text)
        deltas.append("".join(event.delta for event in named(events, ArgumentDelta)))
        assert len(named(events, ToolInputDelta)) <= 2
    assert deltas == ["a", "", "[b]", "c", "[/b]", ""]
