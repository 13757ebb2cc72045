"""What people call the modes of a grammar; that diagrams call them the same is tested with those."""

from typing import Any

import pytest

from tokenmill.formats import compile_grammar, find_format
from tokenmill.formats.harmony import HARMONY
from tokenmill.limits import Limits
from tokenmill.parser import Options
from tokenmill.parser.compile.channels import compile_channels, prefixes, route_names, section_names
from tokenmill.parser.run.rules import TEXT


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


def test_a_route_is_called_as_it_is_compiled() -> None:
    """A block, calls that are left to be text, a call by itself, a section of calls."""
    assert route_names(2, "reasoning", 1) == ["reasoning_block"]
    assert HARMONY.channels is not None
    call = HARMONY.channels.routes[0].to
    assert route_names(1, call, 1) == ["text_block"]
    assert route_names(1, call, 2) == ["channel1", "channel1"]
    assert route_names(3, find_format("hermes").sections[0], 2) == ["channel3", "channel3_call0"]


def test_layers_that_are_left_out_shift_no_name() -> None:
    """A section keeps its number, and what is not parsed has none."""
    names = compile_grammar(Options(format="hermes", parse="reasoning")).mode_names
    assert "section0" not in names
    assert "reasoning0" in names


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
