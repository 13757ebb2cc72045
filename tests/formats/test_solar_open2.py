"""What solar_open2 has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, parse, text_of


def test_tokens_of_the_first_model_are_text() -> None:
    """The two share no token."""
    text = "<|tool_calls|><|tool_call:begin|>0<|tool_call:name|>f<|tool_call:args|>{}<|tool_call:end"
    assert text_of(parse(grammar("solar_open2"), [text])) == text
