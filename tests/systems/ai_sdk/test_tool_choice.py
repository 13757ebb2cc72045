"""What tool_choice has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import named, parse, text_of
from tokenmill.events import ToolCall
from tokenmill.formats import compile_grammar
from tokenmill.parser import Options, read_options

ANSWER = '{"name": "f", "arguments": {}}'


def test_among_several_formats_it_counts_as_the_first() -> None:
    """The whole answer can't be two things."""
    first = parse(compile_grammar(Options(format=["tool_choice", "hermes"])), [ANSWER])
    second = parse(compile_grammar(Options(format=["hermes", "tool_choice"])), [ANSWER])
    assert ([call.name for call in named(first, ToolCall)], text_of(second)) == (["f"], ANSWER)


def test_nothing_is_parsed_where_tools_are_not() -> None:
    """The answer is text then."""
    for key, value in (("parse", "none"), ("parse", "reasoning"), ("tool_choice", "none")):
        compiled = compile_grammar(read_options({"format": "tool_choice", key: value}))
        assert text_of(parse(compiled, [ANSWER])) == ANSWER
