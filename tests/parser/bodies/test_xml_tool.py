"""A tool's elements as its source: sent as they come, up to the closing tag outside of raw sections."""

from tests.support.parsing import grammar, named, parse
from tokenmill.events import Error, ToolCall, ToolInputDelta
from tokenmill.parser import Parser


def test_elements_are_passed_on() -> None:
    """As they stand, without the tag around them."""
    parser = Parser.of(grammar("autobyteus_xml"), "identity")
    parser.feed('<tool name="f">')
    sent = [
        [event.delta for event in named(parser.feed(text), ToolInputDelta)]
        for text in ("<s", ">x", "</s></", "Tool", " >")
    ]
    assert sent == [["<s"], [">x"], ["</s>"], [], []]


def test_the_closing_tag_may_stand_in_a_raw_section() -> None:
    """There it is text."""
    text = '<tool name="f"><s><![CDATA[</tool>]]></s></tool>'
    assert [call.arguments for call in named(parse(grammar("autobyteus_xml"), list(text)), ToolCall)] == [
        {"s": "</tool>"}
    ]


def test_a_raw_section_that_does_not_end() -> None:
    """The call does not end, either."""
    (error,) = named(parse(grammar("autobyteus_xml"), ['<tool name="f"><s><![CDATA[</s></tool>']), Error)
    assert error.code == "unfinished-call"
