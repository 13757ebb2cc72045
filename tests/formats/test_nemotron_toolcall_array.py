"""What nemotron_toolcall_array has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, parse, reasoning_of


def test_the_stream_begins_in_the_reasoning() -> None:
    """The prompt has opened it."""
    assert reasoning_of(parse(grammar("nemotron_toolcall_array"), ["a</think>b"])) == "a"
