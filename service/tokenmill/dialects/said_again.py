"""Parts that a provider wants to hear again with the next turn, in the shape of chat completions.

1. `extra_content` is of a call, whose id the part has: Gemini's signature. It comes before the call.
2. `reasoning_details` are fragments of what was thought, as OpenRouter streams them. In a whole answer, fragments of
   one text that follow each other are one, as its own whole answers have it.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from tokenmill.dialects.json_text import json_bytes, json_size
from tokenmill.events import Part
from tokenmill.limits import KIB
from tokenmill.parser.run.state import Source

EXTRA, DETAILS = "extra_content", "reasoning_details"

EXTRA_BYTES = 256 * KIB
"""Of all calls of an answer: a signature has some KiB. What is above is left out."""

FRAME_BYTES = 14
"""Of a fragment: the name of its text, and the comma behind it."""

_TEXTS = {"reasoning.text": "text", "reasoning.summary": "summary"}
"""Types of fragments that grow, and in which field."""


class CallExtras(msgspec.Struct, array_like=True, gc=False):
    """What is said of calls beside them."""

    by_call: dict[str, Any] = {}
    size: int = 0
    """Bytes of it as JSON."""

    def keep(self, part: Part) -> None:
        """Of the call that the part names, if there is room."""
        size = len(json_bytes(part.value))
        if isinstance(part.id, str) and self.size + size <= EXTRA_BYTES:
            self.by_call[part.id] = part.value
            self.size += size

    def of(self, call_id: str) -> dict[str, Any]:
        """The further members of that call."""
        return {EXTRA: self.by_call[call_id]} if call_id in self.by_call else {}


class _Detail(msgspec.Struct, array_like=True, gc=False):
    fields: dict[str, Any]
    """All but its text."""
    text: Source = msgspec.field(default_factory=Source)

    @property
    def place(self) -> tuple[Any, Any]:
        """What fragments of one text have in common."""
        return self.fields.get("type"), self.fields.get("index")


class ReasoningDetails(msgspec.Struct, array_like=True, gc=False):
    """Those of a whole answer."""

    known: list[_Detail] = []
    size: int = 0
    """Bytes of them as JSON, about."""

    def add(self, fragment: Mapping[str, Any], takes: Callable[[int], bool]) -> None:
        """One more, whole or not at all: `takes` says whether there is room for so many bytes."""
        name = _TEXTS.get(str(fragment.get("type")))
        text = said if name and isinstance(said := fragment.get(name), str) else ""
        new = _Detail({field: value for field, value in fragment.items() if field != name and value is not None})
        last = self.known[-1] if name and self.known and self.known[-1].place == new.place else None
        fields = {f: v for f, v in new.fields.items() if last is None or f not in last.fields or last.fields[f] != v}
        size = json_size(text) + len(json_bytes(fields)) + (0 if last else FRAME_BYTES)
        if not takes(size):
            return
        self.size += size
        if last is None:
            last = new
            self.known.append(new)
        last.fields.update(fields)
        last.text.add(text)

    def plain(self) -> list[dict[str, Any]]:
        """As a chat completion has them."""
        return [detail.fields | _said(detail) for detail in self.known]


def _said(detail: _Detail) -> dict[str, str]:
    name = _TEXTS.get(str(detail.fields.get("type")))
    return {name: detail.text.text()} if name and detail.text.size else {}
