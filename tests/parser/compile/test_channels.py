"""Channels: their modes, and what people call them; headers."""

from typing import Any

import msgspec
import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, reasoning_of, source_of, text_of
from tokenmill.events import ReasoningStart, TextStart, ToolCall
from tokenmill.formats import find_format
from tokenmill.formats.harmony import HARMONY
from tokenmill.limits import Limits
from tokenmill.parser import Channels, Format, Grammar, MessageParser, Options, Route, Section
from tokenmill.parser.bodies import JsonArguments, JsonCall
from tokenmill.parser.compile.channels import compile_channels, route_names
from tokenmill.parser.markers import marker
from tokenmill.parser.modes.call import HEADER_CHARS
from tokenmill.parser.run.rules import TEXT
from tokenmill.parser.spec import Call


def test_a_route_is_called_as_it_is_compiled() -> None:
    """A block, calls that are left to be text, a call by itself, a section of calls."""
    assert route_names(2, "reasoning", 1) == ["reasoning_block"]
    assert HARMONY.channels is not None
    call = HARMONY.channels.routes[0].to
    assert route_names(1, call, 1) == ["text_block"]
    assert route_names(1, call, 2) == ["channel1", "channel1"]
    assert route_names(3, find_format("hermes").sections[0], 2) == ["channel3", "channel3_call0"]


@pytest.mark.parametrize(
    ("options", "modes", "reasons"),
    [({}, 5, 1), ({"parse": "tools"}, 5, 0), ({"parse": "reasoning"}, 4, 1), ({"tool_choice": "none"}, 4, 1)],
)
def test_modes(options: dict[str, Any], modes: int, reasons: int) -> None:
    """A header, a mode for each block, two for a call, one for calls that are not parsed."""
    compiled = compile_channels(Options(**options), find_format("harmony"), Limits(), 7)
    assert compiled is not None
    assert (len(compiled.modes), len(compiled.reasons), compiled.header) == (modes, reasons, 7)
    assert 7 < compiled.reasoning < 7 + modes


def test_without_a_reasoning_channel() -> None:
    """A stream that starts in the reasoning of a format that has none starts in the text."""
    compiled = compile_channels(Options(), find_format("functionary_v32"), Limits(), 2)
    assert compiled is not None
    assert compiled.reasoning == TEXT


@pytest.mark.parametrize(("name", "options"), [("hermes", {}), ("harmony", {"parse": "none"})])
def test_nothing_to_compile(name: str, options: dict[str, Any]) -> None:
    """A format without channels, and one of which nothing is parsed."""
    assert compile_channels(Options(**options), find_format(name), Limits(), 2) is None


# Headers: what is one, how long it is held, where it leads.

TOY = Format(
    name="toy",
    summary="",
    sample="",
    channels=Channels(
        open=marker("<h>", "<h>>"),
        until=marker(":"),
        close=marker("</h>", "</h>>"),
        within=marker("<w>"),
        shape=r"(?:<h>>?)?[a-z]*(?:<w>[a-z]*)*",
        routes=(
            Route(r".*think:", "reasoning"),
            Route(r".*text:", "text"),
            Route(r".*none:", "drop"),
            Route(r".*tools:", Section(open=None, close=None, calls=(Call(open=marker("{"), body=JsonCall()),))),
            Route(r"(?:<h>>?)?(?:<w>)?to(?P<name>[a-z]+):", JsonArguments(optional=True)),
        ),
        reopens=("reasoning",),
    ),
    start="header",
)


def events_of(text: str, **options: Any) -> list[Any]:
    """The events of a text, proven to be the same at every cut and to lose nothing."""
    compiled = Grammar(Options(format="toy", **options), [TOY], Limits(), traced=True)
    whole = merged(parse(compiled, [text]))
    for chunks in all_cuts(text):
        assert merged(parse(compiled, chunks)) == whole
    assert source_of(parse(compiled, [text])) == text
    return parse(grammar(TOY, **options), [text])


@pytest.mark.parametrize(
    ("text", "calls", "out", "reasoning", "codes"),
    [
        ("think:why</h><h>text:so", [], "so", "why", []),
        ("<h>text:so</h>", [], "so", "", []),
        ("hello world", [], "hello world", "", []),
        ("hello: world", [], "hello: world", "", []),
        ("hello <h>text:x", [], "hello x", "", []),
        ("<h>none:x</h>y", [], "y", "", []),
        ("<h>other:x</h>y", [], "<h>other:xy", "", []),
        ("<h>a<w>text:x", [], "x", "", []),
        ("<h>text</h>x", [], "<h>textx", "", []),
        ("<h>te<h>text:x", [], "<h>tex", "", []),
        ("<h>text:a<h>think:b</h>c", [], "a<h>think:bc", "", []),
        ("<h>think:a<h>text:b", [], "b", "a", []),
        ("<h>think:a<h>nothing b</h>c", [], "c", "a<h>nothing b", []),
        ("tof:{}</h>x", ["f"], "x", "", []),
        ("<h>tof:{}<h>tog:</h>", ["f", "g"], "", "", []),
        ("<h>tof:[1]</h>x", [], "<h>tof:[1]</h>x", "", ["malformed-call"]),
        ("<h>tof:{", [], "<h>tof:{", "", ["unfinished-call"]),
        ("<h>tools:x</h>y", [], "<h>tools:xy", "", ["malformed-call"]),
        ('<h>tools:{"name":"f"} {"name":"g"}</h>y', ["f", "g"], "y", "", []),
        ("<h>tools:</h>y", [], "y", "", []),
        ("<h>tex", [], "<h>tex", "", []),
        ("</h>x", [], "x", "", []),
    ],
)
def test_headers(text: str, calls: list[str], out: str, reasoning: str, codes: list[str]) -> None:
    """A header leads where its first pattern says; what is none, or leads nowhere, is text where it stood."""
    events = events_of(text)
    assert [call.name for call in named(events, ToolCall)] == calls
    assert (text_of(events), reasoning_of(events)) == (out, reasoning)
    assert codes_of(events) == codes


@pytest.mark.parametrize(
    ("options", "out", "reasoning", "calls"),
    [
        ({}, "so", "why", 1),
        ({"parse": "tools"}, "think:why</h>so", "", 1),
        ({"parse": "reasoning"}, "so<h>tof:{}</h>", "why", 0),
        ({"tool_choice": "none"}, "so<h>tof:{}</h>", "why", 0),
        ({"parse": "none"}, "think:why</h><h>text:so</h><h>tof:{}</h>", "", 0),
        ({"start": "text"}, "think:whyso", "", 1),
        ({"start": "reasoning"}, "so", "think:why", 1),
    ],
)
def test_layers_and_starts(options: dict[str, Any], out: str, reasoning: str, calls: int) -> None:
    """What is not parsed is text with its header and close; a stream starts anywhere."""
    events = events_of("think:why</h><h>text:so</h><h>tof:{}</h>", **options)
    assert (text_of(events), reasoning_of(events)) == (out, reasoning)
    assert len(named(events, ToolCall)) == calls


def test_nothing_is_held_that_can_be_no_header() -> None:
    """What can't be a header any more goes out with the character that shows it."""
    parser = MessageParser.of(grammar(TOY), "identity")
    assert [text_of(parser.feed(chunk)) for chunk in ("hel", "lo", " ", "w", "<h", ">", "x", "!")] == [
        *("", "", "hello ", "w", "", "", "", "<h>x!")
    ]


def test_a_header_is_bounded() -> None:
    """A word without end is no header, and is held no longer than one may be."""
    parser = MessageParser.of(grammar(TOY), "identity")
    parser.feed("<h>" + "x" * (HEADER_CHARS - 3))
    assert parser.memory == HEADER_CHARS
    assert text_of(parser.feed("x")) == "<h>" + "x" * (HEADER_CHARS - 2)
    assert parser.memory == 0


def test_a_cap_inside_a_header() -> None:
    """The message's cap makes one error, and the header comes out as text."""
    events = parse(grammar(TOY, Limits(message_chars=4)), ["<h>text:x"])
    assert (codes_of(events), text_of(events)) == (["limit"], "<h>text:x")


def test_a_header_without_its_opening_counts_where_headers_are_not_quoted() -> None:
    """What is left of one ends a block that a header ends, and is text or reasoning everywhere else."""
    alone = marker(" to", ahead=((r"[a-z]", r"[a-z]{0,8}", ":"),))
    assert TOY.channels is not None
    shape = TOY.channels.shape.replace("?[", "? ?[", 1)
    routes = (*TOY.channels.routes, Route(r" to(?P<name>[a-z]+):", JsonArguments(optional=True)))
    channels = msgspec.structs.replace(TOY.channels, shape=shape, routes=routes, alone=alone)
    toy = msgspec.structs.replace(TOY, channels=channels)
    text = "<h>think:go tof tog:{}</h> tof:{}<h>text:a tof:{}</h>"
    whole = parse(grammar(toy), [text])
    assert [call.name for call in named(whole, ToolCall)] == ["g"]
    assert (reasoning_of(whole), text_of(whole)) == ("go tof", " tof:{}a tof:{}")
    for chunks in all_cuts(text):
        assert merged(parse(grammar(toy), chunks)) == merged(whole)


def test_each_block_is_one() -> None:
    """Blocks of the same kind are not joined."""
    events = parse(grammar(TOY), ["think:a</h><h>think:b</h><h>text:c</h><h>text:d"])
    assert (len(named(events, ReasoningStart)), len(named(events, TextStart))) == (2, 2)


def test_a_header_that_can_be_none_is_given_up_with_the_next_character() -> None:
    """Also if that waits for what follows: else it would come out behind the reasoning that comes in between."""
    unfit = Channels(open=marker("<h>"), until=marker(":"), close=marker("</h>"), shape="[a-z]*", routes=())
    compiled = grammar(Format(name="toy", summary="", sample="", channels=unfit, start="header"))
    parser = MessageParser.of(compiled, "identity")
    fed = [text_of(parser.feed(chunk)) for chunk in ("<h", ">", "<")]
    assert (fed, reasoning_of(parser.reasoning("why"))) == (["", "", "<h>"], "why")
