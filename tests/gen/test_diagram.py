"""State diagrams of formats."""

import re

import pytest

from tokenmill.formats import FORMATS
from tokenmill.formats.glm_kv import GLM_KV
from tokenmill.formats.harmony import HARMONY
from tokenmill.formats.hermes import HERMES
from tokenmill.formats.minimax_m2 import MINIMAX_M2
from tokenmill.formats.plain import PLAIN
from tokenmill.gen.diagram import diagram, escaped
from tokenmill.parser import Format
from tokenmill.systems.autobyteus.autobyteus_xml import AUTOBYTEUS_XML

STATE = re.compile(r'    state "[a-z ]+(?: \((?P<shown>\w+)\))?" as (?P<name>\w+)')
MOVE = re.compile(r"    (?P<one>\w+|\[\*\]) --> (?P<other>\w+)(?: : (?:[^\s#;:<>{}\"]|#\d+;| (?! ))+)?")


@pytest.mark.parametrize("format_", FORMATS, ids=lambda format_: format_.name)
def test_a_diagram_is_whole(format_: Format) -> None:
    """Every line is one that Mermaid reads, every state is declared and can be reached, and the text comes back."""
    first, *lines = diagram(format_).splitlines()
    states = [match["name"] for line in lines if (match := STATE.fullmatch(line))]
    moves = [(match["one"], match["other"]) for line in lines if (match := MOVE.fullmatch(line))]
    assert first == "stateDiagram-v2"
    assert len(lines) == len(states) + len(moves)
    assert len(set(states)) == len(states)
    assert {name for move in moves for name in move} == {"[*]", *states}
    for start, goals in (("[*]", set(states)), *((state, {"text"}) for state in states)):
        reached, waiting = {start}, [start]
        while waiting:
            here = waiting.pop()
            waiting += [other for one, other in moves if one == here and other not in reached]
            reached |= {other for one, other in moves if one == here}
        assert goals <= reached, start


@pytest.mark.parametrize("format_", FORMATS, ids=lambda format_: format_.name)
def test_a_state_has_the_name_that_other_programs_give_it(format_: Format) -> None:
    """`parse --step` and the inspector say `section0_call0`; visible text is `text` everywhere."""
    states = [match for line in diagram(format_).splitlines() if (match := STATE.fullmatch(line))]
    assert {match["name"]: match["shown"] for match in states if match["name"] != "text"} == {
        match["name"]: match["name"] for match in states if match["name"] != "text"
    }


def test_a_diagram_begins_where_an_answer_does() -> None:
    """In the text, the reasoning or a header."""
    starts = [re.findall(r"\[\*\] --> (\w+)", diagram(format_)) for format_ in (PLAIN, MINIMAX_M2, HARMONY)]
    assert starts == [["text"], ["reasoning0"], ["header"]]


def test_a_call_in_the_reasoning_is_drawn_where_it_is_honoured() -> None:
    """Where calls have no section of their own, their own opening leads there."""
    assert "reasoning0 --> section0" in diagram(MINIMAX_M2)
    assert "reasoning0 --> section0_call0_header" in diagram(GLM_KV)
    assert "reasoning0 --> section0" not in diagram(HERMES)


def test_a_call_ends_with_its_marker() -> None:
    """Also where the content of a tag has it, and else with the last bracket of its value."""
    assert "section1_call0 --> section1 : #60;/write_file#62;" in diagram(AUTOBYTEUS_XML)
    assert "section0_call0 --> section0 : its last bracket" in diagram(HERMES)


def test_a_call_without_its_section_is_drawn_where_it_is_one() -> None:
    """And what it takes."""
    assert "text --> section0_call0_header : #60;invoke name= of a declared tool" in diagram(MINIMAX_M2)
    assert "text --> section0_call0" not in diagram(HERMES)


def test_headers_of_channels_have_the_numbers_of_their_routes() -> None:
    """The page has the patterns."""
    drawn = re.findall(r"header --> (\w+) : header (\d)", diagram(HARMONY))
    assert drawn == [("channel1", "1"), ("reasoning_block", "2"), ("text_block", "3")]


def test_labels_hold_nothing_that_mermaid_would_read() -> None:
    """Characters become entities."""
    assert escaped('a;b:c "{}"') == "a#59;b#58;c #34;#123;#125;#34;"
    assert escaped("<a>↵ or b …") == "#60;a#62;#8629; or b …"
