"""What muse has of its own; its cases are run by the conformance suite."""

import pytest

from tests.support.parsing import grammar, named, parse
from tokenmill.events import ToolCall


@pytest.mark.parametrize(
    ("declared", "written", "name"),
    [
        ("f", "f", "f"),
        ("f", "f.f", "f"),
        ("f", "a.f", "a.f"),
        ("f", "f.f.f", "f.f.f"),
        ("f", "ff.f", "ff.f"),
        ("a.f", "a.f.a.f", "a.f"),
        ("f.f", "f.f", "f.f"),
        ("f f.f", "f.f", "f.f"),
        ("g", "f.f", "f.f"),
        ("", "f.f", "f.f"),
    ],
)
def test_a_tool_named_twice_is_named_once(declared: str, written: str, name: str) -> None:
    """Only the same name before and behind the dot is a doubled one, and only if that is the one that is declared."""
    tools = [{"function": {"name": tool}} for tool in declared.split()]
    text = f' to=f<|message|><atem:invoke name="{written}"></atem:invoke>'
    assert [call.name for call in named(parse(grammar("muse", tools=tools), [text]), ToolCall)] == [name]
