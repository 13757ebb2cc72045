"""Values and their schemas: made to fit where their meaning allows it (`conform`), and checked (`Check`).

Formats in which models write values freely make them fit. While the formats' own ladder (`coerce`) reads the text of
one parameter, this takes any value: objects from markup or relaxed JSON, numbers in strings, lists in elements. A value
that can't be made to fit stays as it is.

1. Text becomes what its schema allows: a number or a boolean if it is written as one, an object or an array if it holds
   JSON or elements, else an array of its lines or of its parts between commas. Text that may be text stays, except for
   the spelling of a value in an `enum`. The word null stays text.
2. A number or a boolean becomes text where only text is allowed.
3. An array is made of an object with the key `item`, of one with numbers for keys, of the list in an object of one key,
   of lists beside each other, or of a single value. Positions have schemas of their own only if their number is that of
   the elements.
4. An object of one key becomes its content where no object is allowed. So does an object with the text of an element
   that has attributes, as readers of markup write it.
5. A key becomes a required key that is missing if they differ only in how words are joined, or in a plural.

`kept` then leaves out keys that the schema does not have.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias

from tokenmill.limits import JSON_DEPTH, MIB
from tokenmill.parser.values.checked import SCHEMA_NODES, checkable, compiled_for, nulls_allowed, table_bytes, walked
from tokenmill.parser.values.markup import read_markup
from tokenmill.parser.values.repair import decode_json
from tokenmill.parser.values.schema import Shape, allows_key, item_shapes, kinds, lists_key, renamed, value_shapes
from tokenmill.recent import Recent

_NUMBER = re.compile(r"-?\d{1,1000}(?:\.\d++)?(?:[eE][+-]?\d++)?\Z")
_INTEGER = re.compile(r"-?\d+\Z")
_DIVIDERS = re.compile(r"[,\n]")
_SPELLING = re.compile(r"[\s\"']+")
_PRIMITIVES = frozenset({"string", "number", "integer", "boolean", "null"})
_EXACT = 2**53
"""Bound below which every whole number is written the same as an integer and as a fraction."""
TEXT = "#text"
"""Key of the text beside attributes."""
NUMBER_DIGITS = 9
"""Digits of a key that is an element's number: enough for more elements than a call has characters."""


def conform(value: Any, shape: Shape, depth: int = 0) -> Any:
    """Return the value as its schema wants it, or unchanged."""
    types = kinds(shape)
    if types and depth < JSON_DEPTH:
        for kind, make in _BY_KIND:
            if isinstance(value, kind):
                return make(value, types, shape, depth)
    return value


def kept(value: Any, shape: Shape, depth: int = 0) -> Any:
    """Return the value without keys that its schema refuses, or does not list though it lists others."""
    if depth == JSON_DEPTH:
        return value
    if isinstance(value, list):
        shapes = item_shapes(shape, len(value))
        return [kept(item, inner, depth + 1) for item, inner in zip(value, shapes, strict=True)]
    if not isinstance(value, dict):
        return value
    found = {}
    for key, inner in value.items():
        if lists_key(shape, key):
            shapes = value_shapes(shape, key)
            found[key] = kept(inner, shapes[0], depth + 1) if shapes else inner
    return found


def keeps_text(shape: Shape, key: str) -> bool:
    """Whether any text stays unchanged under this key of an object: it may be sent before the object is complete."""
    shapes = value_shapes(shape, key)
    return lists_key(shape, key) and all(_stays(inner) for inner in shapes)


# What there is: text


def _text(text: str, types: frozenset[str], shape: Shape, depth: int) -> Any:
    if "string" in types:
        return _spelled(text, shape)
    trimmed = text.strip()
    if types & {"number", "integer"} and _NUMBER.match(trimmed):
        return _read_number(trimmed, types, text)
    if "boolean" in types and trimmed.lower() in ("true", "false"):
        return trimmed.lower() == "true"
    if "object" in types and isinstance(value := _structure(trimmed, "{"), dict):
        return conform(value, shape, depth + 1)
    if "array" in types:
        return _listed(trimmed, shape, depth)
    return text


def _read_number(text: str, types: frozenset[str], otherwise: str) -> Any:
    if _INTEGER.match(text):
        return int(text)
    value = _number(float(text))
    return otherwise if not math.isfinite(value) or ("number" not in types and isinstance(value, float)) else value


def _number(value: float) -> int | float:
    """Return whole numbers as integers: what they are in JSON."""
    return int(value) if abs(value) < _EXACT and value.is_integer() else value


def _structure(text: str, bracket: str) -> Any:
    """Return the JSON value or the elements that a text holds, if it begins like one."""
    try:
        if text.startswith((bracket, "{")):
            return decode_json(text)[0]
        return read_markup(text) if text.startswith("<") and text.endswith(">") else None
    except ValueError:
        return None


def _listed(text: str, shape: Shape, depth: int) -> Any:
    value = _structure(text, "[")
    if value is not None and not isinstance(value, str):
        return conform(value, shape, depth + 1)
    if not text:
        return []
    first = item_shapes(shape, 1)[0]
    divisible = not kinds(first) or kinds(first) & _PRIMITIVES
    pieces = [piece.strip() for piece in _DIVIDERS.split(text)] if divisible else [text]
    return _items([piece for piece in pieces if piece], shape, depth)


def _spelled(text: str, shape: Shape) -> str:
    """Return the one value of an `enum` that differs from the text only in white space and quotes."""
    schema = shape.schema if isinstance(shape.schema, Mapping) else {}
    values = schema.get("enum")
    if not isinstance(values, list) or text in values or not all(isinstance(value, str) for value in values):
        return text
    wanted = _SPELLING.sub("", text)
    alike = [value for value in values if _SPELLING.sub("", value) == wanted]
    return alike[0] if len(alike) == 1 else text


def _stays(shape: Shape) -> bool:
    """Whether a text stays unchanged, whatever it is."""
    types = kinds(shape)
    spelled = isinstance(shape.schema, Mapping) and "enum" in shape.schema
    return not spelled and (not types or "string" in types)


# What there is: lists and objects


def _scalar(value: Any, types: frozenset[str], shape: Shape, depth: int) -> Any:
    allowed = {"boolean"} if isinstance(value, bool) else {"number", "integer"}
    if types & allowed:
        return _number(value) if isinstance(value, float) else value
    if "string" in types:
        return json.dumps(_number(value) if isinstance(value, float) else value)
    return _items([value], shape, depth) if "array" in types else value


def _items(values: list[Any], shape: Shape, depth: int) -> list[Any]:
    shapes = item_shapes(shape, len(values))
    return [conform(value, inner, depth + 1) for value, inner in zip(values, shapes, strict=True)]


def _object(value: dict[str, Any], types: frozenset[str], shape: Shape, depth: int) -> Any:
    if "object" in types:
        return _fields(value, shape, depth)
    if "array" in types:
        return _items(_as_list(value, shape, depth), shape, depth)
    if TEXT in value or len(value) == 1:
        inside = value.get(TEXT, next(iter(value.values())))
        inner = conform(inside.strip() if TEXT in value and isinstance(inside, str) else inside, shape, depth + 1)
        return value if isinstance(inner, dict | list) else inner
    return value


def _fields(value: dict[str, Any], shape: Shape, depth: int) -> dict[str, Any]:
    found = {}
    for key, inner in renamed(value, shape).items():
        conformed = inner
        for schema in value_shapes(shape, key):
            conformed = conform(conformed, schema, depth + 1)
        found[key] = conformed
    return found


def _as_list(value: dict[str, Any], shape: Shape, depth: int) -> list[Any]:
    """Return the elements that an object stands for where an array is wanted."""
    if "item" in value:
        return value["item"] if isinstance(value["item"], list) else [value["item"]]
    if value and all(key.isdecimal() and len(key) < NUMBER_DIGITS for key in value):
        return [value[key] for key in sorted(value, key=int)]
    inner, columns = item_shapes(shape, 1)[0], list(value.values())
    if len(value) == 1:
        return _only(value, columns[0], inner, depth)
    is_table = all(isinstance(column, list) for column in columns) and len({*map(len, columns)}) == 1
    if is_table and "object" in kinds(inner) and _is_strict(inner, value):
        return [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)]
    return [value]


def _only(value: dict[str, Any], inside: Any, inner: Shape, depth: int) -> list[Any]:
    """Return the elements that an object of one key stands for: its content, or the object itself."""
    if isinstance(inside, list):
        return inside
    types = kinds(inner)
    if "object" in types:
        return [value] if allows_key(inner, next(iter(value))) else [inside]
    if "array" in types:
        return [conform(inside, inner, depth + 1)]
    return [inside] if types else [value]


def _is_strict(shape: Shape, value: dict[str, Any]) -> bool:
    """Whether an element may have these keys and no others."""
    return not allows_key(shape, "\0") and all(allows_key(shape, key) for key in value)


_BY_KIND: tuple[tuple[Any, Callable[[Any, frozenset[str], Shape, int], Any]], ...] = (
    (str, _text),
    (list, lambda values, types, shape, depth: _items(values, shape, depth) if "array" in types else values),
    (dict, _object),
    (int | float, _scalar),
)


# Whether values fit, as the library sees it.

STEPS = 2_000_000
"""Parts of the schema times parts of the arguments: some tens of milliseconds."""

LEAST_CHARS = 1_000
"""Characters for which a validator with patterns is made, at least: nearly all arguments have fewer, and need one."""

MESSAGE_CHARS = 400
"""Characters of a mismatch, which is one sentence. The library quotes the value, which may be a whole file."""


class Check:
    """Checks values against one schema. A schema that the library refuses checks nothing."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._nodes = 0
        """Parts of the schema."""
        self._validator_of: Callable[[Any], Any] | None = None
        """Returns the validator of a value; None if there is none."""
        with suppress(ValueError, TypeError, RecursionError):
            self._nodes, self._validator_of = _read(nulls_allowed(schema))

    def mismatch(self, arguments: Mapping[str, Any], most: int) -> str | None:
        """Return why the arguments do not fit the schema; None if they do, or if it can't be checked.

        `most` is the maximum number of parts in the arguments: those of a short source need not be counted.
        """
        nodes = self._nodes
        if self._validator_of is None or (nodes * most > STEPS < nodes * size_of(arguments)[0]):
            return None
        with suppress(ValueError, TypeError):  # text that can't be encoded
            validator = self._validator_of(arguments)
            if validator is None or validator.is_valid(arguments):  # nearly all are: no errors need be made
                return None
            for problem in validator.iter_errors(arguments):
                where = "/".join(str(step) for step in problem.instance_path)
                return (f"{where}: {problem.message}" if where else str(problem.message))[:MESSAGE_CHARS]
        return None


def _read(schema: dict[str, Any]) -> tuple[int, Callable[[Any], Any] | None]:
    """Return the number of a schema's parts, and what returns the validator of a value: None if there are too many."""
    nodes, held, _ = walked(schema)
    if nodes > SCHEMA_NODES:
        return nodes, None
    if held:
        return nodes, partial(_validator, (json.dumps(schema), tuple(held.items())), nodes)
    validator = compiled_for(schema)
    return nodes, lambda _: validator


_Patterned: TypeAlias = tuple[str, tuple[tuple[str, int], ...]]
"""A schema as JSON, and how often each of its patterns is held against a value."""


def _validator(schema: _Patterned, nodes: int, value: Any) -> Any:
    """Return what checks a value against a schema with patterns; None if the library refuses the schema."""
    text, held = schema
    chars = 1 << max(size_of(value)[1], LEAST_CHARS).bit_length()
    if (kept := _validators.get((schema, chars))) is None:
        kept = [None]
        with suppress(ValueError, TypeError, RecursionError):
            kept = [checkable(json.loads(text), dict(held), chars)]
        _validators.put((schema, chars), kept, len(text) + NODE_BYTES * nodes + table_bytes(len(held)))
    return kept[0]


VALIDATORS, VALIDATORS_BYTES = 64, 64 * MIB
"""Number and bytes of validators with patterns that are kept for all messages."""

NODE_BYTES = 512
"""Bytes that a validator has for each part of a schema."""

_validators: Recent[tuple[_Patterned, int], list[Any]] = Recent(VALIDATORS, VALIDATORS_BYTES)
"""Validators by schema and by the length of what they check, on which it depends which patterns they have."""


def size_of(value: Any) -> tuple[int, int]:
    """Return the number of parts of a JSON value, and that of the characters in its texts and names."""
    parts, chars, stack = 0, 0, [value]
    while stack:
        part = stack.pop()
        parts += 1
        if isinstance(part, str):
            chars += len(part)
        elif isinstance(part, dict):
            chars += sum(map(len, part))
            stack += part.values()
        elif isinstance(part, list):
            stack += part
    return parts, chars
