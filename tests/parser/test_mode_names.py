"""What people call the modes of a grammar; that diagrams call them the same is tested with those."""

from tokenmill.formats import compile_grammar, find_format
from tokenmill.formats.harmony import HARMONY
from tokenmill.parser import Options
from tokenmill.parser.mode_names import prefixes, route_names, section_names


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
