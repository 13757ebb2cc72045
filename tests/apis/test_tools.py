"""Tools and the choice among them."""

from typing import Any

import pytest

from tests.apis.bodies import CLOCK, SCHEMA, WEATHER, ask, param, refusal
from tokenmill.apis.reading import Node
from tokenmill.apis.tools import allowed

WEATHER_R = {"type": "function", **WEATHER["function"]}  # type: ignore[dict-item] # the value is an object
CLOCK_R = {"type": "function", "name": "clock"}
WEATHER_A = {"name": "weather", "description": "Now", "input_schema": SCHEMA}
CLOCK_A = {"type": "custom", "name": "clock", "input_schema": {}}

DECLARED: dict[str, list[Any]] = {
    "chat": [WEATHER, CLOCK],
    "responses": [WEATHER_R, CLOCK_R],
    "messages": [WEATHER_A, CLOCK_A],
}


@pytest.mark.parametrize(
    ("api", "choice", "expected"),
    [
        ("chat", None, ("auto", "")),
        ("chat", "none", ("none", "")),
        ("chat", "required", ("required", "")),
        ("chat", {"type": "function", "function": {"name": "clock"}}, ("named", "clock")),
        ("responses", "auto", ("auto", "")),
        ("responses", "required", ("required", "")),
        ("responses", {"type": "function", "name": "clock"}, ("named", "clock")),
        ("messages", None, ("auto", "")),
        ("messages", {"type": "auto"}, ("auto", "")),
        ("messages", {"type": "any"}, ("required", "")),
        ("messages", {"type": "none"}, ("none", "")),
        ("messages", {"type": "tool", "name": "clock"}, ("named", "clock")),
    ],
)
def test_every_spelling_of_a_choice(api: str, choice: Any, expected: tuple[str, str]) -> None:
    """All tools stay declared."""
    asked = ask(api, tools=DECLARED[api], tool_choice=choice)
    assert (asked.tool_choice, asked.tool) == expected
    assert [tool["function"]["name"] for tool in asked.tools] == ["weather", "clock"]


@pytest.mark.parametrize(
    ("api", "choice"),
    [
        (
            "chat",
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "clock"}}]},
            },
        ),
        ("responses", {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "clock"}]}),
    ],
)
def test_a_choice_among_some_leaves_the_others_out(api: str, choice: Any) -> None:
    """They are not declared to the model."""
    asked = ask(api, tools=DECLARED[api], tool_choice=choice)
    assert (asked.tool_choice, [tool["function"]["name"] for tool in asked.tools]) == ("required", ["clock"])


class Looked(dict[str, Any]):
    """A tool that counts how often somebody looks at it."""

    times = 0

    def __getitem__(self, name: str) -> Any:
        self.times += 1
        return super().__getitem__(name)


def test_a_choice_among_many_looks_at_each_tool_a_few_times() -> None:
    """Otherwise a body of a megabyte would keep the front busy for half a minute."""
    tools = [Looked(function={"name": f"f{number}"}) for number in range(100)]
    choice = allowed(tools, Node("auto"), [Node("f99")] * 100)
    assert choice["tools"] == [tools[-1]]
    assert max(tool.times for tool in tools) <= 2


@pytest.mark.parametrize(
    ("api", "choice", "place"),
    [
        ("chat", "any", ""),
        ("chat", 3, ""),
        ("chat", {"type": "function", "function": {"name": "rm"}}, ".function.name"),
        ("chat", {"type": "custom", "custom": {"name": "x"}}, ".custom.name"),
        ("chat", {"type": "custom"}, ".custom"),
        ("responses", {"type": "custom", "name": "x"}, ".name"),
        ("chat", {"type": "allowed_tools", "allowed_tools": {"mode": "none", "tools": [CLOCK]}}, ".allowed_tools.mode"),
        ("chat", {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}, ".allowed_tools.tools"),
        ("responses", {"type": "web_search_preview"}, ".type"),
        ("responses", {"type": "function"}, ".name"),
        ("responses", {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "mcp"}]}, ".tools[0].type"),
        ("messages", "auto", ""),
        ("messages", {"type": "tool"}, ".name"),
        ("messages", {"type": "tool", "name": "rm"}, ".name"),
        ("messages", {"type": "required"}, ".type"),
        ("messages", {"type": "auto", "mode": "fast"}, ".mode"),
    ],
)
def test_a_choice_that_can_not_be_kept_is_refused(api: str, choice: Any, place: str) -> None:
    """Where it stands."""
    assert param(api, tools=DECLARED[api], tool_choice=choice) == f"tool_choice{place}"


@pytest.mark.parametrize(
    ("api", "choice"), [("chat", "required"), ("responses", "required"), ("messages", {"type": "any"})]
)
def test_a_call_without_tools_can_not_be_had(api: str, choice: Any) -> None:
    """Whether the list is empty or absent."""
    nothing: list[Any] = [[], None]
    for tools in nothing:
        assert "no tools are declared" in str(refusal(api, tools=tools, tool_choice=choice))


@pytest.mark.parametrize(
    ("api", "choice", "expected"),
    [("chat", "none", "none"), ("responses", "auto", "auto"), ("messages", {"type": "none"}, "none")],
)
def test_any_other_choice_needs_no_tools(api: str, choice: Any, expected: str) -> None:
    """Some clients always send one."""
    assert ask(api, tools=[], tool_choice=choice).tool_choice == expected


@pytest.mark.parametrize("api", DECLARED)
def test_tools_are_openais(api: str) -> None:
    """Each under `function`, whatever the API."""
    weather, clock = ask(api, tools=DECLARED[api], tool_choice=None).tools
    assert weather == WEATHER
    assert clock["function"]["name"] == "clock"


@pytest.mark.parametrize(
    ("api", "tool", "place"),
    [
        ("chat", {"type": "mcp", "mcp": {"name": "x"}}, ".type"),
        ("chat", {"type": "function"}, ".function"),
        ("chat", {"type": "custom", "name": "x"}, ".custom"),
        ("chat", {"type": "custom", "custom": {"name": "x", "parameters": {}}}, ".custom.parameters"),
        ("chat", {"type": "custom", "custom": {"name": "x", "format": {"type": "json"}}}, ".custom.format.type"),
        ("chat", {"type": "custom", "custom": {"name": "x", "format": {"type": "grammar"}}}, ".custom.format.grammar"),
        ("chat", {"type": "function", "function": {"name": ""}}, ".function.name"),
        ("chat", {"type": "function", "function": {"name": "x" * 300}}, ".function.name"),
        ("chat", {"type": "function", "function": {"name": "x", "parameters": []}}, ".function.parameters"),
        ("chat", {"type": "function", "function": {"name": "x", "strict": 1}}, ".function.strict"),
        ("chat", 3, ""),
        ("responses", {"type": "web_search"}, ".type"),
        ("responses", {"type": "custom", "name": "x", "parameters": {}}, ".parameters"),
        ("responses", {"type": "custom", "name": "x", "format": {"type": "grammar"}}, ".format.syntax"),
        ("responses", {"type": "custom", "name": "x", "defer_loading": True}, ".defer_loading"),
        ("responses", {"type": "function", "name": "x", "defer_loading": True}, ".defer_loading"),
        ("responses", {"type": "function", "name": "x", "examples": []}, ".examples"),
        ("responses", {"type": "function", "name": "x", "allowed_callers": ["programmatic"]}, ".allowed_callers[0]"),
        ("messages", {"type": "bash_20250124", "name": "bash"}, ".type"),
        ("messages", {"name": "x"}, ".input_schema"),
        ("messages", {"name": "x", "input_schema": {}, "defer_loading": True}, ".defer_loading"),
        ("messages", {"name": "x", "input_schema": {}, "allowed_callers": ["code"]}, ".allowed_callers[0]"),
        ("messages", {"name": "x", "input_schema": {}, "examples": []}, ".examples"),
        ("responses", {"type": "namespace", "name": "x", "tools": [{"type": "mcp", "name": "y"}]}, ".tools[0].type"),
        ("responses", {"type": "namespace", "name": "x", "tools": [3]}, ".tools[0]"),
        ("responses", {"type": "namespace", "name": "x"}, ".tools"),
        ("responses", {"type": "namespace", "tools": []}, ".name"),
        ("responses", {"type": "namespace", "name": "x", "tools": [], "defer_loading": True}, ".defer_loading"),
    ],
)
def test_a_tool_that_nobody_runs_is_refused(api: str, tool: Any, place: str) -> None:
    """As is one that is declared wrongly."""
    assert param(api, tools=[tool], tool_choice=None) == f"tools[0]{place}"


LARK = {"syntax": "lark", "definition": "start: /a+/"}
TEXTS: dict[str, Any] = {
    "chat": {"type": "custom", "custom": {"name": "patch", "description": "Edits", "format": {"type": "text"}}},
    "responses": {"type": "custom", "name": "patch", "description": "Edits", "format": {"type": "text"}},
}
GRAMMARS: dict[str, Any] = {
    "chat": {"type": "custom", "custom": {"name": "patch", "format": {"type": "grammar", "grammar": LARK}}},
    "responses": {"type": "custom", "name": "patch", "format": {"type": "grammar", **LARK}},
}


@pytest.mark.parametrize("api", TEXTS)
def test_a_tool_that_takes_a_text_is_a_function_with_one_argument(api: str) -> None:
    """As every model knows to call it; who answers knows it by its name."""
    asked = ask(api, tools=[*DECLARED[api], TEXTS[api]], tool_choice=None)
    assert asked.custom_tools == ["patch"]
    *_, tool = asked.tools
    assert (tool["type"], tool["function"]["name"], tool["function"]["description"]) == ("function", "patch", "Edits")
    schema = tool["function"]["parameters"]
    assert (schema["properties"], schema["required"]) == ({"input": {"type": "string"}}, ["input"])
    assert ask(api, tools=DECLARED[api], tool_choice=None).custom_tools == []


@pytest.mark.parametrize("api", GRAMMARS)
def test_a_grammar_is_told_to_the_model(api: str) -> None:
    """Word for word; nothing else can follow it here."""
    (tool,) = ask(api, tools=[GRAMMARS[api]], tool_choice=None).tools
    assert tool["function"]["description"] == "`input` must match this Lark grammar:\nstart: /a+/"


@pytest.mark.parametrize(
    ("api", "named"),
    [("chat", {"type": "custom", "custom": {"name": "patch"}}), ("responses", {"type": "custom", "name": "patch"})],
)
def test_a_tool_that_takes_a_text_can_be_chosen(api: str, named: Any) -> None:
    """Alone, or among those that are allowed."""
    tools = [*DECLARED[api], TEXTS[api]]
    asked = ask(api, tools=tools, tool_choice=named)
    assert (asked.tool_choice, asked.tool) == ("named", "patch")
    listed = {"mode": "auto", "tools": [named]}
    allowing = {"type": "allowed_tools", **({"allowed_tools": listed} if api == "chat" else listed)}
    asked = ask(api, tools=tools, tool_choice=allowing)
    assert ([tool["function"]["name"] for tool in asked.tools], asked.custom_tools) == (["patch"], ["patch"])


@pytest.mark.parametrize("api", ["responses", "messages"])
def test_a_tool_may_say_what_holds_for_all(api: str) -> None:
    """That it is in the prompt, and that the model calls it."""
    said = {"defer_loading": False, "allowed_callers": ["direct"]}
    declared = ask(api, tools=[tool | said for tool in DECLARED[api]], tool_choice=None).tools
    assert declared == ask(api, tools=DECLARED[api], tool_choice=None).tools


def test_members_that_servers_know_stay_in_a_chat() -> None:
    """They speak the same API."""
    tool = {**WEATHER, "cache_control": {"type": "ephemeral"}, "x": None}
    assert ask("chat", tools=[tool], tool_choice=None).tools == [{**WEATHER, "cache_control": {"type": "ephemeral"}}]
