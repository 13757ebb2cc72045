"""What seed_oss has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, named, parse
from tokenmill.events import ToolCall
from tokenmill.formats import find_format
from tokenmill.formats.seed_oss import SEED_OSS


def test_names_of_other_servers() -> None:
    """The name under which other servers know it."""
    assert find_format("seed") is SEED_OSS


def test_layout_is_taken_from_both_sides_or_none() -> None:
    """Models write values with and without new lines around them."""
    text = "<function=f><parameter=a>\nx\n</parameter><parameter=b>x\n</parameter></function>"
    (call,) = named(parse(grammar("seed_oss"), [f"<seed:tool_call>{text}</seed:tool_call>"]), ToolCall)
    assert call.arguments == {"a": "x", "b": "x\n"}
