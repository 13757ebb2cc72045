"""What hunyuan_a13b has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, named, parse, reasoning_of, text_of
from tokenmill.events import ToolCall


def test_a_call_inside_the_reasoning_is_a_draft() -> None:
    """It is not carried out."""
    text = '<think>\n<tool_calls>[{"name": "f", "arguments": {}}]</tool_calls>\n</think>\nx'
    assert named(parse(grammar("hunyuan_a13b"), [text]), ToolCall) == []


def test_layout_of_the_tags() -> None:
    """New lines inside the tags of reasoning and answer belong to them."""
    events = parse(grammar("hunyuan_a13b"), ["<think>\na\n</think>\n<answer>\nb\n</answer>"])
    assert (reasoning_of(events), text_of(events)) == ("a", "b")
