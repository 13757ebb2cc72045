"""What gigachat35 has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, named, parse
from tokenmill.events import ToolCall
from tokenmill.formats.gigachat35 import GIGACHAT35


def test_no_call_is_lost_without_the_section() -> None:
    """Its tags say enough by themselves."""
    (call,) = named(parse(grammar(GIGACHAT35), ['<｜GCML｜invoke name="f"/>']), ToolCall)
    assert (call.name, call.arguments) == ("f", {})
