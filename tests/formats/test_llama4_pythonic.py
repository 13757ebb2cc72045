"""What llama4_pythonic has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, named, parse, text_of
from tokenmill.events import ToolCall


def test_tokens_are_framing() -> None:
    """They belong to the call, with and without a list between them."""
    for text in ("<|python_start|>[f(a=1)]<|python_end|>", "<|python_start|>f(a=1)<|python_end|>", "[f(a=1)]"):
        events = parse(grammar("llama4_pythonic"), list(text))
        assert [call.arguments for call in named(events, ToolCall)] == [{"a": 1}]
        assert text_of(events) == ""
