"""Markers with a checkpoint's suffix: `<think>` becomes `<think:6124c78e>`, in all markers of a format."""

import re
from typing import Any

import msgspec

from tokenmill.parser.markers import Marker
from tokenmill.parser.spec import Format

_TAG_END = re.compile(r"(?<=\w)(?=\|?>)")


def with_suffix(format_: Format, suffix: str) -> Format:
    """The format with `suffix` at the end of every tag's name; a colon goes between, if it has no sign of its own."""
    if not suffix:
        return format_
    changed: Format = _suffixed(format_, suffix if not suffix[0].isalnum() else f":{suffix}")
    return changed


def _suffixed(node: Any, suffix: str) -> Any:
    """The same data with other markers."""
    if isinstance(node, Marker):
        spellings = tuple(_TAG_END.sub(suffix.replace("\\", r"\\"), text) for text in node.spellings)
        return msgspec.structs.replace(node, spellings=spellings)
    if isinstance(node, msgspec.Struct):
        fields = {name: _suffixed(getattr(node, name), suffix) for name in node.__struct_fields__}
        return msgspec.structs.replace(node, **fields)
    if isinstance(node, tuple):
        return tuple(_suffixed(item, suffix) for item in node)
    return node
