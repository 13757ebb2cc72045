"""The fields of a struct for readers: type and default from the class, the docstring below each from the source."""

import ast
import inspect
from functools import cache
from typing import Any, NamedTuple

import msgspec

from tokenmill.gen.types import in_words


class Described(NamedTuple):
    """A field for a reader."""

    name: str
    type: str
    default: Any
    text: str


def about(kind: type) -> str:
    """Return the docstring of a class, on one line."""
    return on_one_line(kind.__doc__ or "")


def on_one_line(text: str) -> str:
    """Return a text without its line breaks."""
    return " ".join(text.split())


def fields(struct: type[msgspec.Struct]) -> list[Described]:
    """Return the fields of a struct in order, with the docstring below each, also from a base class."""
    described = []
    for field in msgspec.structs.fields(struct):
        text = meaning(struct, field.name)
        default = field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default
        described.append(Described(field.encode_name, in_words(field.type), default, text))
    return described


def meaning(struct: type[msgspec.Struct], field: str) -> str:
    """Return the docstring below a field, also from a base class."""
    return next((found[field] for found in map(_docstrings, struct.__mro__) if field in found), "")


@cache
def _docstrings(owner: type) -> dict[str, str]:
    """Return, for each field, the docstring below it in the source of the class."""
    if owner in {msgspec.Struct, object} or not issubclass(owner, msgspec.Struct):
        return {}
    (definition,) = (node for node in ast.parse(inspect.getsource(owner)).body if isinstance(node, ast.ClassDef))
    found = {}
    for node, after in zip(definition.body, [*definition.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = _docstring(after)
    return found


def _docstring(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return inspect.cleandoc(node.value.value)
    return ""
