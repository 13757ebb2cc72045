"""The data of a format for readers: every marker, pattern and switch in it, its place and its meaning.

The meaning is the docstring below the field, so that a page can't say anything else than the code.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from tokenmill.gen import markdown
from tokenmill.gen.describe import meaning
from tokenmill.parser.markers import OVER, Marker

SPELLINGS_SHOWN = 10
"""Spellings shown of a marker that may be any letter: the first and the last."""


class Part(NamedTuple):
    """One value of a format."""

    where: str
    """The parts that contain it, from the outside in; empty for the format itself."""
    name: str
    value: Any
    """A `Marker`, or a value other than the default."""
    meaning: str


def parts(node: msgspec.Struct, where: str = "") -> Iterator[Part]:
    """Return the markers of a format, and its other values that are not defaults."""
    for field in msgspec.structs.fields(node):
        value = getattr(node, field.name)
        said = meaning(type(node), field.name).partition("None:")[0].rstrip()
        if isinstance(value, msgspec.Struct) and not isinstance(value, Marker):
            yield from _inner(value, field.name, where)
        elif isinstance(value, tuple) and value and isinstance(value[0], msgspec.Struct):
            yield from _several(enumerate(value, 1) if len(value) > 1 else [("", value[0])], field.name, where, said)
        elif isinstance(value, Mapping) and any(isinstance(item, msgspec.Struct) for item in value.values()):
            yield from _several(value.items(), field.name, where, said)
        elif isinstance(value, Marker) or value not in (None, _usual(field)):
            yield Part(where, field.name, value, said)


def _usual(field: msgspec.structs.FieldInfo) -> Any:
    return field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def _several(values: Iterable[tuple[object, Any]], name: str, where: str, meaning: str) -> Iterator[Part]:
    """Return parts of the same kind, each with what distinguishes it."""
    one = name.removesuffix("s")
    for key, value in values:
        if isinstance(value, Marker):
            yield Part(where, one, value, meaning)
        else:
            yield from _inner(value, f"{one} {key}".rstrip(), where)


def _inner(value: msgspec.Struct, name: str, where: str) -> Iterator[Part]:
    inside = f"{where}, {name}" if where else name
    kind = type(value)
    if hasattr(kind, "compile") or kind.__module__.startswith("tokenmill.parser.bodies."):
        yield Part(where, name, kind.__name__, (kind.__doc__ or "").partition("\n")[0])
    yield from parts(value, inside)


def _follower(mark: Marker) -> str:
    """Describe what must follow a marker."""
    if mark.ahead == (OVER,):
        return "at the end of the answer"
    return "if nothing but its end follows" if (r"\Z",) in mark.ahead else "if what follows begins a call"


def spelled(mark: Marker) -> str:
    """Return a marker for a table's cell: all spellings, and what else it accepts."""
    texts = mark.spellings
    shown = texts if len(texts) <= SPELLINGS_SHOWN else (texts[0], "…", texts[-1])
    notes = [
        *(["white space inside"] if mark.spaces else []),
        *(["in any case"] if mark.any_case else []),
        *([f"with {markdown.code(mark.inner)} inside"] if mark.inner else []),
        *([_follower(mark)] if mark.ahead else []),
    ]
    return " ".join(text if text == "…" else markdown.literal(text) for text in shown) + "".join(
        f"; {note}" for note in notes
    )
