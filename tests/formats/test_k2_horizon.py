"""What k2_horizon has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, named, parse
from tokenmill.events import ToolCall
from tokenmill.formats.k2_horizon import K2_HORIZON


def test_three_ways_to_write_a_call() -> None:
    """Pairs of tags, JSON, and JSON as OpenAI has it."""
    json = '{"name": "f", "arguments": {"a": "1"}}'
    pairs = "f<ifm|arg_key>a</ifm|arg_key><ifm|arg_value>1</ifm|arg_value>"
    bodies = [pairs, json, f'{{"function": {json}}}']
    text = "".join(f"<ifm|tool_call>{body}</ifm|tool_call>" for body in bodies)
    calls = named(parse(grammar(K2_HORIZON), [f"<ifm|tool_calls>{text}</ifm|tool_calls>"]), ToolCall)
    assert [(call.name, call.arguments) for call in calls] == [("f", {"a": "1"})] * 3
