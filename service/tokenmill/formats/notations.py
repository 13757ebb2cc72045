"""How a call's arguments are written: the inverse of the bodies' grammars, for the history that a model is shown.

Grammars without escapes can't express every text: text that ends a value early is written unchanged.
"""

import json
from collections.abc import Mapping
from html import escape
from string import Template
from typing import Any

import msgspec

from tokenmill.parser.spec import History

_WORDS = {True: "True", False: "False", None: "None"}


def as_json(value: Any) -> str:
    """Return a value as JSON, in the style that models are shown."""
    return json.dumps(value, ensure_ascii=False)


def as_text(value: Any) -> str:
    """Return text unchanged, any other value as JSON."""
    return value if isinstance(value, str) else as_json(value)


class Json(msgspec.Struct, frozen=True):
    """One JSON object."""

    def write(self, arguments: Mapping[str, Any]) -> str:
        """Return the object."""
        return as_json(arguments)


class Literal(msgspec.Struct, frozen=True):
    """One dictionary, as Python writes it."""

    def write(self, arguments: Mapping[str, Any]) -> str:
        """Return the dictionary."""
        return repr(dict(arguments))


class Tags(msgspec.Struct, frozen=True):
    """Arguments one after the other, each in its tags."""

    template: str
    """Template of one argument: `$key`, `$value`, `$type` (its JSON type) and `$is_text` (`true` or `false`)."""

    def write(self, arguments: Mapping[str, Any]) -> str:
        """Return all tags."""
        return "".join(
            Template(self.template).substitute(
                key=key,
                value=as_text(value),
                type=_type(value),
                is_text=as_json(isinstance(value, str)),
            )
            for key, value in arguments.items()
        )


def _type(value: Any) -> str:
    kinds = ((bool, "boolean"), (int | float, "number"), (str, "string"), (list, "array"), (dict, "object"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")


class Elements(msgspec.Struct, frozen=True):
    """Nested elements; an array repeats `item` elements."""

    token: str = ""
    """Token before every tag."""
    escapes: bool = False
    """Whether characters of tags in text are written as entities."""

    def write(self, arguments: Mapping[str, Any]) -> str:
        """Return all elements."""
        return "".join(self._element(key, value) for key, value in arguments.items())

    def _element(self, name: str, value: Any) -> str:
        return f"{self.token}<{name}>{self._inner(value)}{self.token}</{name}>"

    def _inner(self, value: Any) -> str:
        if isinstance(value, dict) and value:
            return self.write(value)
        if isinstance(value, list) and value:
            return "".join(self._element("item", item) for item in value)
        return escape(as_text(value), quote=False) if self.escapes else as_text(value)


class Python(msgspec.Struct, frozen=True):
    """Keyword arguments."""

    def write(self, arguments: Mapping[str, Any]) -> str:
        """Return the arguments with commas between them."""
        return ", ".join(f"{key}={_literal(value)}" for key, value in arguments.items())


def _literal(value: Any) -> str:
    """Return a value as Python writes it, texts in double quotes."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_literal(key)}: {_literal(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    return _WORDS[value] if value is None or isinstance(value, bool) else as_json(value)


class Marked(msgspec.Struct, frozen=True):
    """An object with bare keys and texts between marks of their own; without its outermost brackets."""

    mark: str

    def write(self, arguments: Mapping[str, Any]) -> str:
        """Return the values with commas between them."""
        return ",".join(f"{key}:{self._value(value)}" for key, value in arguments.items())

    def _value(self, value: Any) -> str:
        if isinstance(value, dict):
            return f"{{{self.write(value)}}}"
        if isinstance(value, list):
            return f"[{','.join(map(self._value, value))}]"
        return f"{self.mark}{value}{self.mark}" if isinstance(value, str) else as_json(value)


# Histories: see `history` for what templates contain.

NAME_ARGUMENTS = '{"name": $quoted, "arguments": $arguments}'
NAME_PARAMETERS = '{"name": $quoted, "parameters": $arguments}'
TOOL_RESPONSE = "<tool_response>\n$result\n</tool_response>"

_ROLE = "$result"
"""The turn of the tool's role, and nothing else."""


def json_history(call: str, result: str = _ROLE) -> History:
    """Return the history of calls with their arguments as one JSON object."""
    return History(call, result, Json())


def tags_history(call: str, template: str, result: str = _ROLE) -> History:
    """Return the history of calls with each argument in tags."""
    return History(call, result, Tags(template))


def python_history(call: str, result: str = _ROLE) -> History:
    """Return the history of calls with keyword arguments."""
    return History(call, result, Python())
