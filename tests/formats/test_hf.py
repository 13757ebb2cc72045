"""What hf has of its own; its cases are run by the conformance suite."""

import pytest

from tests.support.parsing import named, parse
from tokenmill.errors import BadOpen
from tokenmill.events import ToolCall
from tokenmill.formats import compile_grammar
from tokenmill.parser import read_options


def test_the_template_is_an_option_of_the_message() -> None:
    """Two messages may have two."""
    calls = []
    for tag in ("a", "b"):
        fields = {"tool_calls": {"open": f"<{tag}>", "close": f"</{tag}>", "content": "json"}}
        grammar = compile_grammar(read_options({"format": "hf", "response_template": {"fields": fields}}))
        calls += named(parse(grammar, [f'<{tag}>{{"name": "{tag}", "arguments": {{}}}}</{tag}>']), ToolCall)
    assert [call.name for call in calls] == ["a", "b"]


def test_a_template_that_can_not_be_read_refuses_the_message() -> None:
    """With the option's name and the field's."""
    template = {"fields": {"tool_calls": {"open_pattern": ".*", "content": "json"}}}
    with pytest.raises(BadOpen, match="option 'response_template': field 'tool_calls': the pattern"):
        compile_grammar(read_options({"format": "hf", "response_template": template}))
