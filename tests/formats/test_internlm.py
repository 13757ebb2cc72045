"""What internlm has of its own; its cases are run by the conformance suite."""

import pytest

from tests.support.parsing import grammar, named, parse
from tokenmill.events import ToolCall


@pytest.mark.parametrize("between", ["", " ", "\n"])
def test_spellings_of_the_opening(between: str) -> None:
    """The two tokens may be parted."""
    text = f'<|action_start|>{between}<|plugin|>{{"name": "f", "parameters": {{}}}}<|action_end|>'
    assert [call.name for call in named(parse(grammar("internlm"), [text]), ToolCall)] == ["f"]
