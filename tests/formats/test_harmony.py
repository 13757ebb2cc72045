"""What harmony has of its own; its cases are run by the conformance suite."""

import pytest

from tests.support.parsing import grammar, named, parse, reasoning_of, text_of
from tokenmill.events import TextStart, ToolCall

BODY = "<|message|>{}<|call|>"


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("<|channel|>commentary to=functions.f", "f"),
        ("<|channel|>commentary to=functions.f <|constrain|>json", "f"),
        ("<|channel|>commentary to=functions.f json", "f"),
        ("<|channel|>analysis to=python", "python"),
        ("<|start|>assistant to=functions.f<|channel|>commentary", "f"),
        (" to=functions.f<|channel|>commentary", "f"),
        ("<|channel|>commentaryto=functions.f", "f"),
        ("<|channel|><|channel|>commentary?? to=functions.f?", "f"),
    ],
)
def test_recipients(header: str, name: str) -> None:
    """A recipient is a tool wherever it stands."""
    assert [call.name for call in named(parse(grammar("harmony"), [header + BODY]), ToolCall)] == [name]


@pytest.mark.parametrize(
    ("header", "reasoning"),
    [
        ("<|channel|>analysis", True),
        ("<|channel|>final", False),
        ("<|channel|>commentary", False),
        ("<|channel|>commentary to=assistant<|channel|>analysis", True),
        ("<|channel|>analysis<|channel|>final", False),
        ("<|start|>assistant", False),
    ],
)
def test_blocks(header: str, reasoning: bool) -> None:
    """Without a recipient the last channel says what a block is; only `analysis` is reasoning."""
    events = parse(grammar("harmony"), [header + "<|message|>x<|end|>"])
    assert (reasoning_of(events), text_of(events)) == (("x", "") if reasoning else ("", "x"))


def test_every_block_is_one_of_its_own() -> None:
    """A comment and the answer are two blocks of text."""
    text = "<|channel|>commentary<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b"
    assert len(named(parse(grammar("harmony"), [text]), TextStart)) == 2
