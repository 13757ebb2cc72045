"""What morph_xml has of its own; its cases are run by the conformance suite."""

import pytest

from tests.support.parsing import grammar, named, parse, text_of
from tokenmill.events import ToolCall
from tokenmill.limits import NAME_CHARS


def calls(names: list[str], text: str) -> tuple[list[str], str]:
    """Names of the calls that are found, and the text around them."""
    events = parse(grammar("morph_xml", tools=[{"function": {"name": name}} for name in names]), list(text))
    return [call.name for call in named(events, ToolCall)], text_of(events)


def test_the_earliest_tag_of_a_tool_wins() -> None:
    """Exactly the name, also where one begins with another or has characters of patterns."""
    text = "<get_all></get_all><get></get><a.b/><aXb/> <get_a>"
    assert calls(["get", "get_all", "a.b"], text) == (["get_all", "get", "a.b"], "<aXb/> <get_a>")


@pytest.mark.parametrize("name", ["", "a b", "a>b", "a<b", "n" * (NAME_CHARS + 1)])
def test_a_name_that_can_be_no_tag_is_none(name: str) -> None:
    """Other tools are still found."""
    assert calls([name, "ok"], f"<{name}></{name}><ok/>") == (["ok"], f"<{name}></{name}>")


def test_long_names_and_many_tools() -> None:
    """As long and as many as are allowed."""
    names = [f"{'n' * (NAME_CHARS - 3)}{number:03}" for number in range(100)]
    assert calls(names, f"<{names[7]}/>") == ([names[7]], "")
