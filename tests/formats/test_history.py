"""Calls and results as a history shows them to a model."""

from collections.abc import Mapping
from string import Template
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.parsing import grammar, named, parse, text_of
from tokenmill.errors import BadOpen
from tokenmill.events import ToolCall
from tokenmill.formats import FORMATS, find_format
from tokenmill.formats.history import begin_call, format_call, format_result
from tokenmill.formats.notations import Json
from tokenmill.parser.spec import Format, History

SILENT = {"plain", "granite_prose_think", "kimi_think", "think", "think_append"}
"""Formats in which a model writes no calls."""

CALLING = [pytest.param(format_, id=format_.name) for format_ in FORMATS if format_.name not in SILENT]

TOOL = {
    "type": "function",
    "function": {
        "name": "tool_1",
        "parameters": {
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "count": {"type": "integer"},
                "size": {"type": "number"},
                "flag": {"type": "boolean"},
                "names": {"type": "array", "items": {"type": "string"}},
                "box": {"type": "object", "properties": {"k": {"type": "string"}, "n": {"type": "integer"}}},
            },
        },
    },
}

words = st.text("abcäé😀Z0 \"'{}:,.!?-_()", min_size=1, max_size=12).filter(
    lambda text: text == text.strip() and any(sign.isalpha() for sign in text) and text.lower() != "null"
)
names = st.text("abcxyz", min_size=2, max_size=6)
argument_sets = st.fixed_dictionaries(
    {},
    optional={
        "text": words,
        "count": st.integers(-(2**40), 2**40),
        "size": st.sampled_from([0.5, -2.25, 1e21]),
        "flag": st.booleans(),
        "names": st.lists(names, min_size=1, max_size=3),
        "box": st.fixed_dictionaries({"k": names, "n": st.integers(0, 99)}),
    },
).filter(bool)


@pytest.mark.parametrize("format_", CALLING)
@settings(max_examples=25)
@given(arguments=argument_sets)
def test_what_is_written_is_read_as_the_same_call(format_: Format, arguments: Mapping[str, Any]) -> None:
    """In every format that has calls, with nothing left over."""
    written = format_call(format_, "tool_1", arguments, "abcdefghi")
    events = parse(grammar(format_.name, tools=[TOOL], start="text"), [written])
    assert [(call.name, call.arguments) for call in named(events, ToolCall)] == [("tool_1", arguments)]
    assert text_of(events).strip() == ""


@pytest.mark.parametrize("format_", CALLING)
def test_a_call_begins_as_it_is_written(format_: Format) -> None:
    """Of one tool, or of any: a model that goes on from there has to call it."""
    written = format_call(format_, "tool_1", {"text": "sun"}, "call_0")
    for name in ("tool_1", ""):
        begun = begin_call(format_, name)
        assert begun
        assert written.startswith(begun)
        assert ("tool_1" in begun) == bool(name)


@pytest.mark.parametrize("format_", CALLING)
@pytest.mark.parametrize(("result", "said"), [("sunny", "sunny"), ({"a": [1, None]}, '{"a": [1, null]}'), (3, "3")])
def test_a_result_says_what_the_tool_answered(format_: Format, result: Any, said: str) -> None:
    """Text as it stands, anything else as JSON."""
    written = format_result(format_, "tool_1", result, "abcdefghi")
    assert said in written
    assert "$" not in written


@pytest.mark.parametrize("name", sorted(SILENT))
def test_a_format_without_calls_has_none_to_write(name: str) -> None:
    """Whoever asks is told which format it is."""
    with pytest.raises(BadOpen, match=name):
        format_call(find_format(name), "f", {})
    with pytest.raises(BadOpen, match=name):
        format_result(find_format(name), "f", "x")


def test_every_format_with_calls_has_a_history() -> None:
    """No format is forgotten, and those without calls have none."""
    assert {format_.name for format_ in FORMATS if format_.history is None} == SILENT


PLACES = {"call": {"name", "quoted", "id", "arguments"}, "result": {"name", "quoted", "id", "result", "json"}}


@pytest.mark.parametrize("format_", [each for each in FORMATS if each.history], ids=lambda format_: format_.name)
def test_templates_have_known_places_only(format_: Format) -> None:
    """And a call has its name and its arguments, a result the result."""
    assert format_.history is not None
    call = set(Template(format_.history.call).get_identifiers())
    result = set(Template(format_.history.result).get_identifiers())
    assert call <= PLACES["call"]
    assert result <= PLACES["result"]
    assert "arguments" in call
    assert {"name", "quoted"} & call
    assert {"result", "json"} & result


def test_a_format_of_ones_own_brings_its_own_templates() -> None:
    """Each its own."""
    own = Format("own", "", "", history=History("[$name $arguments #$id]", "($json)", Json()))
    assert format_call(own, "f", {"a": "$name"}, "7") == '[f {"a": "$name"} #7]'
    assert format_result(own, "f", "x") == '("x")'


@pytest.mark.parametrize("call", ["{$arguments} of $name", "all of $arguments", "nothing"])
def test_a_call_that_does_not_say_first_which_it_is_can_not_be_begun(call: str) -> None:
    """What was put before the model would leave it every choice."""
    with pytest.raises(BadOpen, match="does not name the tool"):
        begin_call(Format("own", "", "", history=History(call, "", Json())), "f")


@pytest.mark.parametrize(
    ("name", "call", "result"),
    [
        (
            "json_mix",
            '<tool_call>{"name":"f","arguments":{"a": 1}}</tool_call>',
            '<tool_response>{"toolName":"f","result":"ok"}</tool_response>',
        ),
        (
            "hermes",
            '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
            "<tool_response>\nok\n</tool_response>",
        ),
        (
            "qwen3_xml",
            "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
            "<tool_response>\nok\n</tool_response>",
        ),
        ("pythonic", "[f(a=1)]", "ok"),
    ],
)
def test_as_the_models_write_it(name: str, call: str, result: str) -> None:
    """To the character."""
    assert format_call(find_format(name), "f", {"a": 1}) == call
    assert format_result(find_format(name), "f", "ok") == result
