"""Calls with arguments of all kinds: with each of them, reading a call has gone wrong somewhere."""

from typing import Any

import msgspec


class Probe(msgspec.Struct, frozen=True):
    """One message with calls. All tools are declared."""

    name: str
    calls: tuple[tuple[str, dict[str, Any]], ...]
    """Tool and arguments."""
    schemas: tuple[dict[str, Any], ...]
    """Schemas of each call's arguments, their properties by name."""

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools as a request to the model declares them."""
        schemas = {name: schema for (name, _), schema in zip(self.calls, self.schemas, strict=True)}
        return [
            {
                "type": "function",
                "function": {
                    "name": name,
                    "description": f"Runs {name}.",
                    "parameters": {"type": "object", "properties": properties, "required": list(properties)},
                },
            }
            for name, properties in schemas.items()
        ]


_KINDS = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"), (dict, "object"))


def _schema(value: Any) -> dict[str, Any]:
    """Return the schema of a value."""
    kind = next((kind for type_, kind in _KINDS if isinstance(value, type_)), None)
    described = {"description": "A value."}
    if kind is None:
        return {"type": ["string", "null"], **described}
    if isinstance(value, dict):
        return {"type": kind, "properties": {key: _schema(item) for key, item in value.items()}, **described}
    if isinstance(value, list):
        first, *others = [_schema(item) for item in value] or [{}]
        alike = all(other == first for other in others)  # items that differ get no schema
        return {"type": kind, "items": first if alike else {}, **described}
    return {"type": kind, **described}


def probe(name: str, *calls: dict[str, Any], tool: str = "run_check") -> Probe:
    """Return a message with a call for each of these arguments; the second and later tools have names of their own."""
    names = [tool if not number else f"{tool}_{number + 1}" for number in range(len(calls))]
    schemas = tuple({key: _schema(value) for key, value in arguments.items()} for arguments in calls)
    return Probe(name, tuple(zip(names, calls, strict=True)), schemas)


_CODE = 'def f(x: int) -> dict:\n    """Say {x}."""\n    return {"a": [x, \'b\'], "c": f"{x}\\n"}\n'

PROBES: tuple[Probe, ...] = (
    probe("a word and a number", {"city": "Paris", "days": 3}),
    probe("no arguments", {}),
    probe("two calls", {"city": "Paris"}, {"text": "line 1\nline 2", "count": 2}),
    probe("a dotted name", {"city": "Paris"}, tool="weather.look_up-now"),
    probe("empty text", {"text": ""}),
    probe("other scripts", {"text": "Zürich 東京 مرحبا 🙂 e\u0301"}),
    probe("quotes", {"text": 'He said "hi" and \'bye\' \\ back \\n \\" `x`'}),
    probe("lines", {"text": "line 1\nline 2\n\n  indented\ttab\r\nend"}),
    probe("space around", {"text": "  two blanks "}),
    probe("lines around", {"text": "\nfirst\nlast\n"}),
    probe("control characters", {"text": "\x1b[1m bold\x1b[0m \u2028 \xa0 \x7f"}),
    probe("text that looks like a number", {"a": "007", "b": "1.50", "c": "-3", "d": "1e5"}),
    probe("text that looks like a constant", {"a": "true", "b": "null", "c": "None", "d": "False"}),
    probe("text that looks like JSON", {"a": '{"k": [1, 2]}', "b": "[1]", "c": '"q"'}),
    probe("numbers", {"a": -1, "b": 0, "c": 2**53 + 1, "d": 0.5, "e": -2.25e-7, "f": 1e21}),
    probe("constants", {"yes": True, "no": False, "nothing": None}),
    probe("nested values", {"where": {"lat": 48.9, "tags": ["a, b", "c]"], "deep": {"k": {"ok": True, "no": None}}}}),
    probe("lists", {"names": ["x", "", "y\nz"], "numbers": [1, 2], "pairs": [{"k": "v"}, {"k": "w"}]}),
    probe("empty containers", {"names": [], "options": {}}),
    probe("a program", {"path": "a.py", "content": _CODE}),
    probe("HTML", {"content": '<div class="a">&amp; &lt;b&gt; <br/></div>\n<!-- c -->'}),
    probe("a list in quotes", {"text": '[{"name": "f", "arguments": {"a": 1}}]'}),
    probe(
        "tags of calls in text", {"content": "a </tool_call> b\n</function>\n<tool_call> [TOOL_CALLS] ```json\n{}\n```"}
    ),
)
"""The arguments that every format is tried with."""
