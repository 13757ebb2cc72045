"""The data of a format for readers."""

import string

import pytest

from tokenmill.formats import FORMATS
from tokenmill.formats.qwen3_xml import QWEN3_XML
from tokenmill.gen.parts import Part, parts, spelled
from tokenmill.parser import Format
from tokenmill.parser.markers import OVER, Marker, ahead, marker
from tokenmill.systems.autobyteus.autobyteus_xml import AUTOBYTEUS_XML


def found(format_: Format, where: str, name: str) -> list[Part]:
    return [part for part in parts(format_) if (part.where, part.name) == (where, name)]


def test_every_part_says_where_it_stands_and_what_it_means() -> None:
    """The meaning is the docstring of the field, without what it says of a missing value."""
    assert found(QWEN3_XML, "section, call, header", "until") == [
        Part("section, call, header", "until", marker(">"), "Ends the header and belongs to it.")
    ]
    assert found(QWEN3_XML, "section", "open") == [
        Part("section", "open", marker("<tool_call>"), "Begins it; a call must follow.")
    ]


def test_bodies_are_named_by_their_kind() -> None:
    """With the first line of what the kind is."""
    assert found(QWEN3_XML, "section, call", "body") == [Part("section, call", "body", "Params", "Tagged parameters.")]


def test_what_stands_in_a_mapping_is_named_by_its_key() -> None:
    """As the contents of a tag, by the tool."""
    where = "section 2, call 1, body, content write_file"
    assert found(AUTOBYTEUS_XML, where, "argument") == [
        Part(where, "argument", "content", "Name of the argument that the text is.")
    ]


def test_what_is_as_usual_is_left_out() -> None:
    """A page shows what makes the format different."""
    assert [part.value for part in found(QWEN3_XML, "", "calls_in_reasoning")] == ["honour"]
    assert found(QWEN3_XML, "", "unknown_tool") == []
    assert found(QWEN3_XML, "section, call, body", "wire_types") == []


@pytest.mark.parametrize("format_", FORMATS, ids=lambda format_: format_.name)
def test_no_marker_is_forgotten(format_: Format) -> None:
    """As many as there are in the data, however deep; those of escapes in a value, too."""
    assert sum(isinstance(part.value, Marker) for part in parts(format_)) == repr(format_).count("Marker(")


def test_a_marker_is_shown_with_all_spellings_and_what_else_it_takes() -> None:
    """New lines and backticks are seen as they are; of a whole alphabet the ends are enough."""
    assert spelled(marker("<a>", "<a>\n", "\\n", "```", "x ")) == r"`<a>` `<a>\n` `\\n` ```` ``` ```` `x\x20`"
    assert spelled(marker("<a>", spaces=True, inner="[0-9]")) == "`<a>`; white space inside; with `[0-9]` inside"
    assert spelled(marker("[", ahead=(ahead("{"),))) == "`[`; if what follows begins a call"
    assert spelled(marker("[", ahead=(("]",), (r"\Z",)))) == "`[`; if nothing but its end follows"
    assert spelled(marker("<a>", ahead=(OVER,))) == "`<a>`; at the end of the answer"
    assert spelled(marker(*string.ascii_letters)) == "`a` … `Z`"
