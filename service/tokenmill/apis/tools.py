"""Tools, and which of them may be called, however an API spells it; in the neutral shape of `Ask`.

Tools that must not be called are removed only by a list of those that may (`allowed_tools`). With `none`, and where one
tool is named, all stay declared: the choice restricts the answer, and an unchanged prompt stays cached.
"""

from collections.abc import Sequence
from typing import Any, TypedDict

from tokenmill.apis.ask import BadAsk, Json, ToolChoice
from tokenmill.apis.reading import Node, shown
from tokenmill.dialects.custom_tools import INPUT, arguments_of
from tokenmill.limits import NAME_CHARS

WORDS: dict[str, ToolChoice] = {"none": "none", "auto": "auto", "required": "required"}


class Choice(TypedDict, total=False):
    """The fields of `Ask` that hold the choice."""

    tools: list[Json]
    tool_choice: ToolChoice
    tool: str


def name_of(node: Node) -> str:
    """Return the name of a tool."""
    name = node.filled()
    if len(name) > NAME_CHARS:
        raise node.bad(f"is longer than {NAME_CHARS} characters.")
    return name


def function(node: Node, schema: str = "parameters") -> Json:
    """Return the members of a declared function; the schema of its arguments is under `schema`."""
    found: Json = {"name": name_of(node.need("name"))}
    if (description := node.maybe("description", Node.text)) is not None:
        found["description"] = description
    if (parameters := node.maybe(schema, Node.object)) is not None:
        found["parameters"] = parameters
    if (strict := node.maybe("strict", Node.flag)) is not None:
        found["strict"] = strict
    return found


CALLED = ("allowed_callers", "defer_loading")
"""Members of a tool that define when it is in the prompt, and which callers it has."""


def check_called(node: Node) -> None:
    """Refuse a tool that is not in the prompt from the beginning, or that others than the model may call."""
    if node.at("defer_loading").value:
        raise node.at("defer_loading").bad("is not supported: all tools are in the prompt.", "unsupported_parameter")
    node.maybe("allowed_callers", lambda callers: [each.word("direct") for each in callers.items()])


FUNCTION = "function"
CUSTOM = "custom"
"""The type of a tool that takes a text."""

TYPES = (FUNCTION, CUSTOM)
"""Types of tools that a client runs. A tool's name is within a member of this name in chat completions."""


def custom(node: Node, *, within: bool) -> Json:
    """Return the members of the function that stands for a custom tool: its only argument is the text.

    `within`: the members of the text's format are in an object of its type, as in chat completions. A model gets a
    grammar as part of the description; nothing makes it follow that.
    """
    described = node.maybe("description", Node.text), node.maybe("format", lambda each: _grammar(each, within=within))
    description = "\n\n".join(filter(None, described))
    name = name_of(node.need("name"))
    return {"name": name, **({"description": description} if description else {}), "parameters": _TEXT}


_TEXT: Json = {
    "type": "object",
    "properties": {INPUT: {"type": "string"}},
    "required": [INPUT],
    "additionalProperties": False,
}


def _grammar(node: Node, *, within: bool) -> str:
    """Return what tells a model of the grammar of a text; empty if it has none."""
    if node.need("type").word("text", "grammar") == "text":
        return ""
    grammar = node.need("grammar") if within else node
    syntax = grammar.need("syntax").word("lark", "regex")
    return f"`{INPUT}` must match this {_SYNTAXES[syntax]}:\n{grammar.need('definition').filled()}"


_SYNTAXES = {"lark": "Lark grammar", "regex": "regular expression"}


def flat_tool(node: Node) -> Json:
    """Return a tool as Responses spells it."""
    kind = node.need("type")
    if kind.value not in TYPES:
        raise foreign_tool(kind)
    check_called(node)
    if kind.value == CUSTOM:
        node.only("type", "name", "description", "format", *CALLED)
        return {"type": CUSTOM, "function": custom(node, within=False)}
    node.only("type", "name", "description", "parameters", "strict", *CALLED)
    return {"type": FUNCTION, "function": function(node)}


def foreign_tool(node: Node) -> BadAsk:
    """Return the refusal of a tool that a server would have to run."""
    told = f"can't be {shown(node.text())}: nothing runs it here. Declare a function, and answer its calls."
    return node.bad(told, "unsupported_value")


def named(tools: Sequence[Json], node: Node) -> Choice:
    """Return the choice of one tool by its name."""
    return {"tool_choice": "named", "tool": _declared(_names(tools), node)}


def worded(tools: Sequence[Json], choice: ToolChoice, node: Node) -> Choice:
    """Return the choice of none, any or at least one."""
    if choice == "required" and not tools:
        raise node.bad("asks for a call, but no tools are declared in `tools`.")
    return {"tool_choice": choice}


def allowed(tools: Sequence[Json], mode: Node, names: Sequence[Node]) -> Choice:
    """Return the choice among some, given their names."""
    known = _names(tools)
    chosen = {_declared(known, node) for node in names}
    choice = WORDS[mode.word("auto", "required")]
    return {"tools": [tool for tool in tools if tool["function"]["name"] in chosen], "tool_choice": choice}


def _names(tools: Sequence[Json]) -> set[str]:
    return {tool["function"]["name"] for tool in tools}


def _declared(names: set[str], node: Node) -> str:
    name = node.filled()
    if name not in names:
        raise node.bad(f"names {shown(name)}, which is not declared in `tools`.")
    return name


def openai_choice(tools: Sequence[Json], node: Node, *, within: bool) -> Choice:
    """Return the choice as OpenAI's APIs spell it; chat completions have its members `within` an object of its type."""
    if node.absent:
        return {}
    if isinstance(node.value, str):
        return worded(tools, WORDS[node.word(*WORDS)], node)
    kind = node.need("type")
    node.only("type", "name", "mode", "tools", *TYPES, "allowed_tools")
    if kind.value in TYPES:
        return named(tools, _name(node, kind.value, within=within))
    if kind.value == "allowed_tools":
        listed = node.need("allowed_tools") if within else node
        entries = [_listed_name(entry, within=within) for entry in listed.need("tools").some()]
        return allowed(tools, listed.need("mode"), entries)
    raise foreign_tool(kind)


def _name(node: Node, kind: str, *, within: bool) -> Node:
    return (node.need(kind) if within else node).need("name")


def _listed_name(node: Node, *, within: bool) -> Node:
    kind = node.need("type")
    if kind.value not in TYPES:
        raise foreign_tool(kind)
    return _name(node, kind.value, within=within)


def call(call_id: str, name: str, arguments: str) -> Json:
    """Return a call of an earlier answer."""
    return {"id": call_id, "type": FUNCTION, FUNCTION: {"name": name, "arguments": arguments}}


def custom_call(call_id: str, name: str, text: str) -> Json:
    """Return a call of a custom tool in an earlier answer, as the model made it."""
    return call(call_id, name, arguments_of(text))


def chosen(tools: list[Json], choice: Choice) -> dict[str, Any]:
    """Return the fields of `Ask` for these tools and the choice among them; to a model all are functions."""
    kept = choice.get("tools", tools)
    custom_tools = [tool["function"]["name"] for tool in kept if tool["type"] == CUSTOM]
    return {**choice, "tools": [tool | {"type": FUNCTION} for tool in kept], "custom_tools": custom_tools}
