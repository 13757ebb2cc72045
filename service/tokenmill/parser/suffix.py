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


def with_suffix_or_not(format_: Format, suffix: str) -> Format:
    """The format with a second spelling of every marker, in which tags have this suffix."""
    changed: Format = _suffixed(format_, suffix, keep=True)
    return changed


def _suffixed(node: Any, suffix: str, *, keep: bool = False) -> Any:
    """The same data with other markers, or with more spellings of them."""
    if isinstance(node, Marker):
        kept = node.spellings if keep else ()
        changed = (_TAG_END.sub(suffix.replace("\\", r"\\"), text) for text in node.spellings)
        return msgspec.structs.replace(node, spellings=tuple(dict.fromkeys((*kept, *changed))))
    if isinstance(node, msgspec.Struct):
        fields = {name: _suffixed(getattr(node, name), suffix, keep=keep) for name in node.__struct_fields__}
        return msgspec.structs.replace(node, **fields)
    if isinstance(node, tuple):
        return tuple(_suffixed(item, suffix, keep=keep) for item in node)
    return node
