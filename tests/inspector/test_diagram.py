"""The states of a format, and what leads from one to another."""

import pytest

from tokenmill.formats import FORMATS, compile_grammar
from tokenmill.inspector.diagram import diagram, label
from tokenmill.parser import Format, Options
from tokenmill.parser.markers import marker
from tokenmill.systems.autobyteus.autobyteus_xml import AUTOBYTEUS_XML


@pytest.mark.parametrize("format_", FORMATS, ids=lambda format_: format_.name)
def test_the_parser_calls_its_modes_as_the_diagram_does(format_: Format) -> None:
    """So the place of the parser can be shown in it; a call's mode is its header's, too."""
    drawn = {state.name for state in diagram(format_).states}
    names = compile_grammar(Options(format=format_.name)).mode_names
    meant = {name.removesuffix("_header") for name in drawn}
    assert meant <= set(names)
    own = {name for name in names if not name.endswith(("_again", "_text"))} - {"unparsed"}
    assert own <= meant


def test_every_end_of_a_tag_s_content_is_shown() -> None:
    """Wherever in the body it is said."""
    ends = {move.origin: move.labels for move in diagram(AUTOBYTEUS_XML).moves if move.to == "section1"}
    assert "</write_file>" in ends["section1_call0"]


def test_labels_are_short() -> None:
    """White space at the ends goes, many spellings are cut."""
    assert label(marker("<a>\n", "b ")) == "<a>↵ or b"
    assert label(marker("a", "b", "c")) == "a or b …"
    assert label(marker("a", "b", "c", "d", "e")) == "a …"
