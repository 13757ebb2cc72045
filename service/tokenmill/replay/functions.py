"""The value functions of `parse --batch`: single steps of some formats, for tests of these steps alone."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tokenmill.errors import BadOpen
from tokenmill.events import ToolCall
from tokenmill.formats import compile_grammar
from tokenmill.parser import MessageParser, Options
from tokenmill.parser.run.rules import bare_schema
from tokenmill.parser.values.coerce import coerce as text_to_value
from tokenmill.parser.values.conform import conform
from tokenmill.parser.values.schema import Shape


def call_function(name: Any, arguments: Any) -> dict[str, Any]:
    """Return `{"result"}` of a function, or `{"error"}` if there is none of this name or it can't take these."""
    function = FUNCTIONS.get(name) if isinstance(name, str) else None
    if function is None:
        return {"error": f"unknown function {name!r}; known are {', '.join(FUNCTIONS)}"}
    if not isinstance(arguments, Sequence) or isinstance(arguments, str):
        return {"error": "`input` must be the list of the function's arguments"}
    try:
        return {"result": function(*arguments)}
    except (TypeError, AttributeError, RecursionError, BadOpen) as problem:
        return {"error": f"{name}: {problem}"}


def coerce(value: Any, schema: Any) -> Any:
    """Return a value changed to fit a JSON schema, as the formats `json_mix` and `morph_xml` do; unknown keys stay."""
    root = bare_schema(schema)
    return conform(value, Shape(root, root if isinstance(root, Mapping) else {}))


def qwen_web_parameters(xml: str, tool: str) -> Mapping[str, Any]:
    """Return the arguments of a call in the format `qwen_web_xml`, to a tool without schema; empty if it is no call."""
    options = Options(format="qwen_web_xml", tools=[{"type": "function", "function": {"name": tool}}])
    parser = MessageParser.of(compile_grammar(options), "function")
    events = parser.feed(xml) + parser.finish()
    return next((event.arguments for event in events if isinstance(event, ToolCall)), {})


def qwen_web_value(text: str) -> Any:
    """Return the value of a parameter in the format `qwen_web_xml` that has no type in a schema: its text."""
    return text_to_value(text, frozenset())


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "coerce": coerce,
    "qwen_web_parameters": qwen_web_parameters,
    "qwen_web_value": qwen_web_value,
}
"""The functions, by their names in a line."""
