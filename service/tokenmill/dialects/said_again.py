"""Parts that a provider wants to hear again with the next turn, in the shape of chat completions.

1. `extra_content` is of a call, whose id the part has: Gemini's signature. It comes before the call.
2. `reasoning_details` are fragments of what was thought, as OpenRouter streams them. In a whole answer, fragments of
   one text that follow each other are one, as its own whole answers have it; in a stream each has a number.
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
"""Of all calls of an answer: a signature has some KiB. What is above is left out."""

DETAILS_BYTES = 512 * KIB
"""Of all fragments of an answer: half of an object, for the other half says the same as `reasoning_content`."""

DETAIL_BYTES = 512
"""Of a fragment in memory beside its content, about; the name of its text in JSON is in it."""

PLACE_CHARS = 256
"""Of type and id of a fragment: what tells a text from the next one."""

_LARGEST = 2**53
"""Of indexes: what every language's JSON reader keeps exact."""

_TEXTS = {"reasoning.text": "text", "reasoning.summary": "summary"}
"""Types of fragments that grow, and in which field."""


class CallExtras(msgspec.Struct, array_like=True, gc=False):
    """What is said of calls beside them."""

    by_call: dict[str, Any] = {}
    size: int = 0
    """Bytes of it as JSON."""

    def keep(self, part: Part) -> None:
        """Of the call that the part names, if there is room; the first of a call, whatever else names its id."""
        if not isinstance(part.id, str) or part.id in self.by_call:
            return
        size = len(json_bytes(part.value))
        if self.size + size <= EXTRA_BYTES:
            self.by_call[part.id] = part.value
            self.size += size

    def of(self, call_id: str) -> dict[str, Any]:
        """The further members of that call."""
        return {EXTRA: self.by_call[call_id]} if call_id in self.by_call else {}


class _Detail(msgspec.Struct, array_like=True, gc=False):
    fields: dict[str, Any]
    """All but its text."""
    text: Source = msgspec.field(default_factory=Source)

    def goes_on(self, fields: Mapping[str, Any]) -> bool:
        """Whether a fragment with these fields is of the same text; one without an id may be."""
        same = all(self.fields.get(name) == fields.get(name) for name in ("type", "index"))
        return same and ("id" not in self.fields or "id" not in fields or self.fields["id"] == fields["id"])


class ReasoningDetails(msgspec.Struct, array_like=True, gc=False):
    """Those of a whole answer: all, or none once there is no room, for a provider refuses a part of them."""

    known: list[_Detail] = []
    size: int = 0
    """Bytes of all that came, in memory or as JSON, whatever is more."""

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
        """The fragments as a chat completion has them."""
        return [detail.fields | _said(detail) for detail in self.known]


class Places(msgspec.Struct, array_like=True, gc=False):
    """Which numbers the fragments of a stream have: clients put its lists together by index, and fail without one."""

    following: int = 0
    """The number behind all that there are."""
    last: str = ""
    """Type and id of the text that goes on, if it has no number of its own."""

    def numbered(self, fragments: Sequence[Any]) -> list[dict[str, Any]]:
        """These with their index, which those get that have none."""
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
