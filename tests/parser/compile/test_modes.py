"""Formats compiled to modes: which layers live, where the stream begins, what people call the modes."""

from typing import Any

import pytest

from tests.support.parsing import grammar, named, parse, reasoning_of, text_of
from tokenmill.events import ToolCall
from tokenmill.formats import compile_grammar, find_format
from tokenmill.limits import Limits
from tokenmill.parser import Call, Format, Grammar, Header, Options, Section
from tokenmill.parser.bodies import JsonArguments
from tokenmill.parser.compile.modes import compile_modes, prefixes, section_names
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Bare


@pytest.mark.parametrize(
    ("options", "modes", "reasoning"),
    [
        ({}, 8, 1),
        ({"parse": "tools"}, 5, 0),
        ({"parse": "reasoning"}, 5, 1),
        ({"parse": "none"}, 2, 0),
        ({"tool_choice": "none"}, 5, 1),
    ],
)
def test_layers(options: dict[str, Any], modes: int, reasoning: int) -> None:
    """Text and what is not parsed are always there; the rest as the options say."""
    compiled = compile_modes(Options(**options), [find_format("hermes")], Limits())
    assert (len(compiled.modes), len(compiled.reasoning)) == (modes, reasoning)


@pytest.mark.parametrize(
    ("options", "reasoning"),
    [
        ({}, False),
        ({"start": "reasoning"}, True),
        ({"start": "reasoning", "parse": "tools"}, False),
        ({"start": "text"}, False),
    ],
)
def test_start(options: dict[str, Any], reasoning: bool) -> None:  # a parameter of the table
    """The stream begins in the reasoning if the options say so and reasoning is parsed at all."""
    compiled = grammar("hermes", **options)
    assert compiled.is_reasoning(compiled.start) is reasoning


def test_only_a_section_is_a_call_in_the_reasoning() -> None:
    """Calls without their section are drafts there, unless the format has no section."""
    draft = "<function=f></function>"
    events = parse(grammar("qwen3_xml", tools=[{"name": "f"}]), [f"<think>{draft}<tool_call>{draft}</tool_call>"])
    assert reasoning_of(events) == draft
    assert len(named(events, ToolCall)) == 1
    assert len(named(parse(grammar("glm_kv"), ["<think>a<tool_call>f</tool_call>"]), ToolCall)) == 1


def test_calls_that_stand_alone() -> None:
    """What is between two of them is text; in a section it would be framing."""
    call = Call(marker("<c>"), JsonArguments(), Header(until=marker(":")))
    texts, kinds = {}, list[Bare](("always", "alone"))
    for bare in kinds:
        format_ = Format(name="own", summary="", sample="", sections=(Section(None, None, (call,), bare=bare),))
        compiled = Grammar(Options(format="own"), [format_], Limits())
        texts[bare] = text_of(parse(compiled, ["a <c>f:{}\n<c>g:{} b"]))
    assert texts == {"always": "a  b", "alone": "a \n b"}


@pytest.mark.parametrize(
    ("options", "called"),
    [({}, True), ({"parse": "none"}, True), ({"parse": "reasoning"}, True), ({"tool_choice": "none"}, False)],
)
def test_sections_that_are_always_read(options: dict[str, Any], called: bool) -> None:
    """Whatever `parse` says; only where there can be no calls they are not."""
    call = Call(marker("<c>"), JsonArguments(), Header(until=marker(":")))
    section = Section(None, None, (call,), bare="alone", layer="always")
    compiled = Grammar(Options(**options), [Format(name="own", summary="", sample="", sections=(section,))], Limits())
    assert any(event.type == "tool-call" for event in parse(compiled, ["<c>f:{}"])) is called


@pytest.mark.parametrize("cut", range(1, 12))
def test_framing_of_a_section_takes_nothing_from_markers_that_begin_like_it(cut: int) -> None:
    """Behind a call a bracket may be framing, or begin what is beyond the section; those of another format, too."""
    compiled = compile_grammar(Options(format=["mistral_json", "apriel"], start="text"))
    before, after = '[TOOL_CALLS]{"name": "f", "arguments": {}}', "[BEGIN FINAL RESPONSE]done"
    events = parse(compiled, [before, after[:cut], after[cut:]])
    assert [call.name for call in named(events, ToolCall)] == ["f"]
    assert text_of(events) == "done"


@pytest.mark.parametrize(
    ("call", "text", "name"),
    [
        (Call(marker("call:"), JsonArguments(), Header(until=marker("|"))), "call:recall:x|{}", "recall:x"),
        (
            Call(marker("<c>"), JsonArguments(), Header(until=marker("|"), pattern=r"(?:<c>)?(?P<name>\w+)")),
            "<c><c>f|{}",
            "f",
        ),
        (Call(marker("<c>"), JsonArguments(), Header(until=marker("|"))), "<c>f<c>g|{}", "g"),
    ],
)
def test_what_a_header_may_hold(call: Call, text: str, name: str) -> None:
    """Its call's opening, if that is in its pattern or may be letters of a name; else the header was none."""
    section = Section(open=None, close=None, calls=(call,), bare="always")
    compiled = grammar(Format(name="own", summary="", sample="", sections=(section,)))
    assert [found.name for found in named(parse(compiled, [text]), ToolCall)] == [name]


def test_a_header_that_ends_in_front_of_a_marker_anyway() -> None:
    """What closes the section ends the header there, and with it the call."""
    events = parse(grammar("qwen3_xml", tools=[{"function": {"name": "f"}}]), ["<function=f</tool_call>"])
    assert [found.name for found in named(events, ToolCall)] == ["f"]


def test_modes_of_several_formats_have_their_format_s_name() -> None:
    """One alone needs none."""
    formats = [find_format("think"), find_format("json_mix")]
    assert prefixes(formats) == {"think": "think.", "json_mix": "json_mix."}
    assert prefixes(formats[:1]) == {"think": ""}
    names = compile_grammar(Options(format=["think", "json_mix"])).mode_names
    assert names[:5] == ["text", "unparsed", "think.reasoning0", "json_mix.section0", "json_mix.section0_call0"]


def test_a_section_has_its_calls_and_what_may_come_again() -> None:
    """In the order in which they are compiled."""
    section = find_format("hermes").sections[0]
    assert list(section_names("section0", section, again=True)) == ["section0", "section0_call0", "section0_again"]


def test_layers_that_are_left_out_shift_no_name() -> None:
    """A section keeps its number, and what is not parsed has none."""
    names = compile_grammar(Options(format="hermes", parse="reasoning")).mode_names
    assert "section0" not in names
    assert "reasoning0" in names
