"""What minicpm5_xml has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, named
from tokenmill.events import ArgumentDelta
from tokenmill.formats import find_format
from tokenmill.formats.minicpm5_xml import MINICPM5_XML
from tokenmill.parser import MessageParser


def test_names_of_other_servers() -> None:
    """The names under which other servers know it."""
    assert find_format("minicpm5") is MINICPM5_XML


def test_half_an_escape_waits() -> None:
    """A character is sent when it is known which it is."""
    parser = MessageParser.of(grammar("minicpm5_xml", content_arguments=["*"]), "identity")
    parser.feed('<function name="f"><param name="a">')
    deltas = [[event.delta for event in named(parser.feed(text), ArgumentDelta)] for text in ("a&", "l", "t;", "&x")]
    assert deltas == [["a"], [], ["<"], ["&x"]]
