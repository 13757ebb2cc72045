"""What json_mix has of its own; its cases are run by the conformance suite."""

import pytest

from tests.support.parsing import codes_of, grammar, named, parse, text_of
from tokenmill.errors import BadOpen
from tokenmill.events import ArgumentDelta, ToolCall
from tokenmill.formats import compile_grammar
from tokenmill.parser import read_options


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"start_tag": "<call>"}, '<call>{"name":"f"}</tool_call>'),
        ({"end_tag": "</call>"}, '<tool_call>{"name":"f"}</call>'),
        ({"start_tag": "```call\n", "end_tag": "```"}, '```call\n{"name":"f"}\n```'),
        ({"start_tag": "«", "end_tag": "»"}, '«{"name":"f"}»'),
    ],
)
def test_tags_are_options(options: dict[str, str], text: str) -> None:
    """Either or both; others are text then."""
    events = parse(compile_grammar(read_options({"format": "json_mix", **options})), ["a", *text, "b"])
    assert [call.name for call in named(events, ToolCall)] == ["f"]
    assert text_of(events) == "ab"


@pytest.mark.parametrize("option", ["start_tag", "end_tag"])
def test_an_empty_tag_is_refused(option: str) -> None:
    """It would be found everywhere."""
    with pytest.raises(BadOpen, match=option):
        compile_grammar(read_options({"format": "json_mix", option: ""}))


def test_what_the_tool_may_change_or_refuse_does_not_grow() -> None:
    """Only text that will be in the arguments as it stands is sent before the call is complete."""
    properties = {"a": {"type": "string"}, "n": {"type": "integer"}, "e": {"enum": ["one two"]}}
    tools = [{"function": {"name": "f", "parameters": {"type": "object", "properties": properties}}}]
    text = '<tool_call>{"name":"f","arguments":{"a":"x","n":"7","e":"onetwo","z":"y"}}</tool_call>'
    events = parse(grammar("json_mix", tools=tools, content_arguments=["*"]), list(text))
    (call,) = named(events, ToolCall)
    grown = [(event.argument, event.delta) for event in named(events, ArgumentDelta)]
    assert grown[0] == ("a", "x")
    assert dict(grown) == {key: value for key, value in call.arguments.items() if isinstance(value, str)}
    assert call.arguments["n"] == 7


def test_what_the_format_is_not() -> None:
    """Bare JSON, tags of results and a closing tag alone are text."""
    text = '{"name":"f","arguments":{}} <tool_response>{}</tool_response> </tool_call>'
    events = parse(grammar("json_mix"), [text])
    assert (text_of(events), codes_of(events)) == (text, [])
