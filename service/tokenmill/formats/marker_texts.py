"""The markers of a format as the texts that a model writes: a server that drops special tokens must keep these."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tokenmill.parser.markers import Marker
from tokenmill.parser.spec import Format


def marker_texts(format_: Format) -> tuple[str, ...]:
    """Return every spelling of every marker, without the white space around it, each once and in order."""
    found = (text.strip() for marker in _markers(format_) for text in marker.spellings)
    return tuple(dict.fromkeys(text for text in found if text))


def _markers(node: Any) -> Iterator[Marker]:
    """Yield the markers in a value and in all that it contains."""
    if isinstance(node, Marker):
        yield node
    elif isinstance(node, msgspec.Struct):
        for name in node.__struct_fields__:
            yield from _markers(getattr(node, name))
    elif isinstance(node, Mapping):
        for value in node.values():
            yield from _markers(value)
    elif isinstance(node, tuple | list):
        for value in node:
            yield from _markers(value)
