"""Calls as objects with one key."""

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse
from tokenmill.events import ArgumentDelta, ToolCall, ToolInputDelta
from tokenmill.parser import Call, Format, Section
from tokenmill.parser.bodies import JsonKeyed
from tokenmill.parser.markers import marker

KEYED = Format(
    name="keyed",
    summary="",
    sample="",
    sections=(Section(marker("[CALLS]"), marker("[END]"), (Call(marker("{"), JsonKeyed()),), framing=(marker(","),)),),
)


def test_the_key_names_the_tool() -> None:
    """Its value is the arguments, sent verbatim; inner keys name nobody."""
    text = '[CALLS]{ "f" : {"a": {"b": [1]}} }, {"g": {}}[END]'
    whole = merged(parse(grammar(KEYED), [text]))
    assert [(call.name, call.arguments) for call in named(whole, ToolCall)] == [("f", {"a": {"b": [1]}}), ("g", {})]
    sources = [event.delta for event in named(parse(grammar(KEYED), [text]), ToolInputDelta)]
    assert sources == ['{"a": {"b": [1]}}', "{}"]
    for chunks in all_cuts(text):
        assert merged(parse(grammar(KEYED), chunks)) == whole


def test_decoded_deltas() -> None:
    """String arguments are decoded as they grow, as in other calls."""
    compiled = grammar(KEYED, content_arguments=["f.a"])
    text = '[CALLS]{"f": {"a": "x\\ny", "b": "z"}}[END]'
    for chunks in all_cuts(text):
        events = parse(compiled, chunks)
        assert "".join(event.delta for event in named(events, ArgumentDelta)) == "x\ny"


@pytest.mark.parametrize(
    "call",
    ['{"f": {}: {"g": {}}}', "{}", '{"f": 1}', '{"f": {}, "g": {}}', '{"f": null}', '{"": {}}', '{"f": {"a": }}'],
)
def test_what_is_no_call(call: str) -> None:
    """One key, and an object behind it."""
    events = parse(grammar(KEYED), [f"[CALLS]{call}[END]"])
    assert named(events, ToolCall) == []
    assert codes_of(events) == ["malformed-call"]
