"""Tools in groups, as Codex declares them."""

import json
from typing import Any

import pytest

from tests.apis.bodies import SCHEMA, ask, refusal
from tokenmill.apis.ask import Ask
from tokenmill.apis.namespaces import declared_namespaces, one_name, told_apart
from tokenmill.dialects.json_text import json_bytes

LOOKUP = {"type": "function", "name": "lookup", "description": "A word", "strict": False, "parameters": SCHEMA}
WORDS = {"type": "namespace", "name": "mcp__words", "description": "Tools of words.", "tools": [LOOKUP]}
SHELL = {"type": "function", "name": "shell"}
CALL = {"type": "function_call", "call_id": "k", "name": "lookup", "namespace": "mcp__words", "arguments": "{}"}
ONE = "mcp__words__lookup"
KNOWN = {ONE: ("mcp__words", "lookup")}
MORE = KNOWN | {"mcp__words__more": ("mcp__words", "more")}


def asked(*tools: Any, **changes: Any) -> Ask:
    """A request with these tools."""
    return ask("responses", **{"tools": list(tools), "tool_choice": None, **changes})


def test_a_model_has_one_name_for_the_tool_of_a_namespace() -> None:
    """Among tools that have no namespace, which stay as they are."""
    found = asked(SHELL, WORDS)
    assert [tool["function"]["name"] for tool in found.tools] == ["shell", ONE]
    described = {"name": ONE, "description": "A word", "parameters": SCHEMA, "strict": False}
    assert found.tools[1] == {"type": "function", "function": described}
    assert found.namespaces == KNOWN
    assert asked(SHELL).namespaces == {}


@pytest.mark.parametrize("namespace", ["mcp__words", "mcp__words__"])
def test_a_namespace_may_end_with_what_joins_it(namespace: str) -> None:
    """Older versions of Codex end each with it."""
    assert one_name(namespace, "lookup") == ONE
    assert asked(WORDS | {"name": namespace}).namespaces == {ONE: (namespace, "lookup")}


@pytest.mark.parametrize("other", [{"type": "function", "name": ONE}, WORDS, WORDS | {"name": "mcp__words__"}])
def test_two_tools_of_one_name_are_refused(other: Any) -> None:
    """Nobody could tell which of them is called."""
    refused = refusal("responses", tools=[WORDS, other], tool_choice=None)
    assert (refused.param, ONE in str(refused)) == ("tools", True)


def test_a_call_that_is_sent_back_is_named_as_the_model_called_it() -> None:
    """Else it would learn from its own history to call tools that it does not have."""
    shell = {"type": "function_call", "call_id": "s", "name": "shell", "arguments": "{}"}
    found = asked(WORDS, input=["Hi", CALL, shell][1:]).messages[-1]["tool_calls"]
    assert [call["function"]["name"] for call in found] == [ONE, "shell"]


@pytest.mark.parametrize(
    ("changed", "place"),
    [({"namespace": 3}, "input[0].namespace"), ({"name": 3}, "input[0].n"), ({"type": "message"}, "input[0].")],
)
def test_what_is_no_call_of_a_namespace_is_refused(changed: Any, place: str) -> None:
    """By its place."""
    assert refusal("responses", input=[CALL | changed]).param.startswith(place)


def test_an_empty_namespace_is_none() -> None:
    """A call that is sent back with one is of a tool without."""
    found = asked(SHELL, input=[CALL | {"namespace": ""}]).messages[-1]["tool_calls"]
    assert found[0]["function"]["name"] == "lookup"


OF_BOTH = [WORDS, WORDS | {"name": "other"}]
CHOICE = {"type": "function", "name": "lookup"}


@pytest.mark.parametrize(
    ("tools", "said", "tool"),
    [
        ([WORDS], {}, ONE),
        ([WORDS], {"namespace": None}, ONE),
        ([WORDS], {"namespace": "mcp__words"}, ONE),
        ([WORDS], {"name": ONE}, ONE),
        ([WORDS, LOOKUP], {}, "lookup"),
        ([WORDS, LOOKUP], {"namespace": ""}, "lookup"),
        (OF_BOTH, {"namespace": "other"}, "other__lookup"),
    ],
)
def test_a_choice_is_named_as_the_model_calls_it(tools: list[Any], said: Any, tool: str) -> None:
    """With its namespace, without it where one alone has the tool, or by the one name; alone or among those allowed."""
    found = asked(*tools, tool_choice=CHOICE | said)
    assert (found.tool_choice, found.tool) == ("named", tool)
    listed = {"type": "allowed_tools", "mode": "required", "tools": [CHOICE | said]}
    allowed = asked(*tools, tool_choice=listed)
    assert [each["function"]["name"] for each in allowed.tools] == [tool]


@pytest.mark.parametrize(
    ("said", "place"), [({}, "name"), ({"namespace": "third"}, "name"), ({"namespace": 3}, "namespace")]
)
def test_a_choice_of_no_single_tool_is_refused(said: Any, place: str) -> None:
    """By its place."""
    refused = refusal("responses", tools=OF_BOTH, tool_choice=CHOICE | said)
    assert refused.param == f"tool_choice.{place}"


PATCH = {"type": "custom", "name": "patch", "description": "Edits"}
PATCHED = {"type": "custom_tool_call", "call_id": "k", "name": "patch", "namespace": "mcp__words", "input": "a"}


def test_a_tool_of_a_namespace_may_take_a_text() -> None:
    """Declared, chosen, called and sent back as the others."""
    names = {"mcp__words__patch": ("mcp__words", "patch")}
    found = asked(WORDS | {"tools": [PATCH]}, tool_choice={"type": "custom", "name": "patch"}, input=[PATCHED])
    assert (found.custom_tools, found.namespaces, found.tool) == ([*names], names, *names)
    assert found.messages[-1]["tool_calls"][0]["function"]["name"] == "mcp__words__patch"
    call = {"type": "custom_tool_call", "input": "a"}
    said = {"type": "response.output_item.done", "item": call | {"name": "mcp__words__patch"}}
    told = call | {"name": "patch", "namespace": "mcp__words"}
    assert json.loads(told_apart(json_bytes(said), names))["item"] == told


def payloads(**named: str) -> list[dict[str, Any]]:
    """Each kind that names a call, with another call beside it."""
    call, other = {"type": "function_call", "arguments": "{}", **named}, {"type": "function_call", "name": "shell"}
    return [
        {"type": "response.output_item.added", "item": call},
        {"type": "response.function_call_arguments.done", "arguments": "{}", **named},
        {"type": "response.completed", "response": {"output": [other, call]}},
        {"id": "resp_1", "output": [call, other]},
    ]


def test_a_client_is_told_both_names() -> None:
    """In an item, in a whole response, and in one within an event; other calls stay as they are."""
    told = [json.loads(told_apart(json_bytes(said), KNOWN)) for said in payloads(name=ONE)]
    assert told == payloads(name="lookup", namespace="mcp__words")


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ({"tools": [SHELL, WORDS]}, KNOWN),
        ({"tools": [SHELL | {"tools": None}, WORDS | {"tools": [LOOKUP, LOOKUP | {"name": "more"}]}]}, MORE),
        ({"tools": [SHELL], "input": [CALL]}, {}),
        ({"tools": None, "input": "a namespace"}, {}),
        ({"tools": [{"type": "namespace"}]}, {}),
        ({"tools": [{"type": "namespace", "name": 3}]}, {}),
    ],
)
def test_the_names_can_be_read_of_a_body_alone(body: Any, names: Any) -> None:
    """As quickly as every front needs it, which reads all requests."""
    assert declared_namespaces(json_bytes(body)) == names


@pytest.mark.parametrize(
    "said", [{"type": "response.output_text.delta", "delta": '"name":"x"'}, {"type": "error", "message": ONE}]
)
def test_what_names_no_call_stays_as_it_is(said: Any) -> None:
    """To the byte."""
    payload = json_bytes(said)
    assert told_apart(payload, KNOWN) is payload
