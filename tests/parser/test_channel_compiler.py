"""Channels compiled to modes: numbers, and which of them are reasoning."""

from typing import Any

import pytest

from tokenmill.formats import find_format
from tokenmill.limits import Limits
from tokenmill.parser import Options
from tokenmill.parser.channel_compiler import compile_channels
from tokenmill.parser.rules import TEXT


@pytest.mark.parametrize(
    ("options", "modes", "reasons"),
    [({}, 5, 1), ({"parse": "tools"}, 5, 0), ({"parse": "reasoning"}, 4, 1), ({"tool_choice": "none"}, 4, 1)],
)
def test_modes(options: dict[str, Any], modes: int, reasons: int) -> None:
    """A header, a mode for each block, two for a call, one for calls that are not parsed."""
    compiled = compile_channels(Options(**options), find_format("harmony"), Limits(), 7)
    assert compiled is not None
    assert (len(compiled.modes), len(compiled.reasons), compiled.header) == (modes, reasons, 7)
    assert 7 < compiled.reasoning < 7 + modes


def test_without_a_reasoning_channel() -> None:
    """A stream that starts in the reasoning of a format that has none starts in the text."""
    compiled = compile_channels(Options(), find_format("functionary_v32"), Limits(), 2)
    assert compiled is not None
    assert compiled.reasoning == TEXT


@pytest.mark.parametrize(("name", "options"), [("hermes", {}), ("harmony", {"parse": "none"})])
def test_nothing_to_compile(name: str, options: dict[str, Any]) -> None:
    """A format without channels, and one of which nothing is parsed."""
    assert compile_channels(Options(**options), find_format(name), Limits(), 2) is None
