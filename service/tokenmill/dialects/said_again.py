"""Parts that a provider needs back with the next turn, in the shape of chat completions.

1. `extra_content` belongs to a call, whose id the part has: Gemini's signature. It comes before the call.
2. `reasoning_details` are fragments of the reasoning, as OpenRouter streams them. In a whole answer, successive
   fragments of one text are joined, as in its own whole answers; in a stream each has a number.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tokenmill.dialects.json_text import json_bytes, json_size
from tokenmill.events import Part
from tokenmill.limits import KIB
from tokenmill.parser.run.state import Source

EXTRA, DETAILS = "extra_content", "reasoning_details"

EXTRA_BYTES = 256 * KIB
"""Bytes of all calls of an answer: a signature has some KiB. What exceeds them is left out."""

DETAILS_BYTES = 512 * KIB
"""Bytes of all fragments of an answer: half of an object, as the other half repeats them as `reasoning_content`."""

DETAIL_BYTES = 512
"""Bytes of a fragment in memory besides its content, about; including the name of its text in JSON."""

PLACE_CHARS = 256
"""Characters of type and id of a fragment: they distinguish a text from the next one."""

_LARGEST = 2**53
"""Bound of indexes: every language's JSON reader keeps them exact."""

_TEXTS = {"reasoning.text": "text", "reasoning.summary": "summary"}
"""Types of fragments that grow, and the field of their text."""


class CallExtras(msgspec.Struct, array_like=True, gc=False):
    """Extra members of calls."""

    by_call: dict[str, Any] = {}
    size: int = 0
    """Bytes of them as JSON."""

    def keep(self, part: Part) -> None:
        """Keep the part for the call that it names, if there is room; only the first of a call."""
        if not isinstance(part.id, str) or part.id in self.by_call:
            return
        size = len(json_bytes(part.value))
        if self.size + size <= EXTRA_BYTES:
            self.by_call[part.id] = part.value
            self.size += size

    def of(self, call_id: str) -> dict[str, Any]:
        """Return the extra members of that call."""
        return {EXTRA: self.by_call[call_id]} if call_id in self.by_call else {}


class _Detail(msgspec.Struct, array_like=True, gc=False):
    fields: dict[str, Any]
    """All fields but its text."""
    text: Source = msgspec.field(default_factory=Source)

    def goes_on(self, fields: Mapping[str, Any]) -> bool:
        """Whether a fragment with these fields continues the same text; one without an id may."""
        same = all(self.fields.get(name) == fields.get(name) for name in ("type", "index"))
        return same and ("id" not in self.fields or "id" not in fields or self.fields["id"] == fields["id"])


class ReasoningDetails(msgspec.Struct, array_like=True, gc=False):
    """The fragments of a whole answer: all, or none once there is no room, for a provider refuses an incomplete
    list.
    """

    known: list[_Detail] = []
    size: int = 0
    """Bytes of all that came, in memory or as JSON, whichever is more."""

    @property
    def memory(self) -> int:
        """About how many bytes it takes."""
        return self.size if self.known else 0

    def add(self, fragment: Mapping[str, Any]) -> None:
        """Add one more fragment."""
        name = _TEXTS.get(str(fragment.get("type")))
        text = said if name and isinstance(said := fragment.get(name), str) else ""
        fields = {field: value for field, value in fragment.items() if field != name and value is not None}
        last = self.known[-1] if name and self.known and self.known[-1].goes_on(fields) else None
        if last is not None:
            fields = {f: v for f, v in fields.items() if f not in last.fields or last.fields[f] != v}
        self.size += json_size(text) + len(json_bytes(fields)) + (0 if last else DETAIL_BYTES)
        if self.size > DETAILS_BYTES:
            self.known.clear()
            return
        if last is None:
            last = _Detail({})
            self.known.append(last)
        last.fields.update(fields)
        last.text.add(text)

    def plain(self) -> list[dict[str, Any]]:
        """Return the fragments as a chat completion has them."""
        return [detail.fields | _said(detail) for detail in self.known]


class Places(msgspec.Struct, array_like=True, gc=False):
    """The numbers of a stream's fragments: clients join its lists by index, and fail without one."""

    following: int = 0
    """The number after all existing ones."""
    last: str = ""
    """Type and id of the text that continues, if it has no number of its own."""

    def numbered(self, fragments: Sequence[Any]) -> list[dict[str, Any]]:
        """Return these with their index, which is added where it is missing."""
        return [fragment | {"index": self._of(fragment)} for fragment in fragments if isinstance(fragment, dict)]

    def _of(self, fragment: Mapping[str, Any]) -> int:
        index, kind, last = fragment.get("index"), str(fragment.get("type")), self.last
        self.last = ""
        if type(index) is not int or not 0 <= index <= _LARGEST:
            self.last = f"{kind} {fragment.get('id')}"[:PLACE_CHARS] if kind in _TEXTS else ""
            index = self.following - (1 if self.last and self.last == last else 0)
        self.following = max(self.following, index + 1)
        return index


def _said(detail: _Detail) -> dict[str, str]:
    name = _TEXTS.get(str(detail.fields.get("type")))
    return {name: detail.text.text()} if name and detail.text.size else {}
