"""What cohere_action has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import all_cuts, grammar, named, parse, text_of
from tokenmill.events import ToolCall


def test_ids_on_the_wire() -> None:
    """The model numbers its calls."""
    calls = ", ".join(f'{{"tool_call_id": "{n}", "tool_name": "f", "parameters": {{}}}}' for n in range(2))
    events = parse(grammar("cohere_action"), [f"<|START_ACTION|>[{calls}]<|END_ACTION|>"])
    assert [call.id for call in named(events, ToolCall)] == ["0", "1"]


def test_citations_at_every_cut() -> None:
    """Their tags are held until they are whole, their text is not."""
    text = "a <co>b</co: 0:[1,2],1:[3]> c"
    for chunks in all_cuts(text):
        assert text_of(parse(grammar("cohere_action"), chunks)) == "a b c"
