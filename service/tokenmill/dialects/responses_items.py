"""The items of a Responses stream: what has begun, and the JSON that represents them."""

from typing import Any, NamedTuple, TypeAlias

import msgspec

from tokenmill.dialects.arguments import GrowingArguments
from tokenmill.dialects.json_text import json_bytes
from tokenmill.events import FinishReason
from tokenmill.limits import KIB
from tokenmill.parser.run.state import PIECE_BYTES, Source
from tokenmill.usage import tokens

Json: TypeAlias = dict[str, Any]

KEPT_BYTES = 512 * KIB
"""Bytes of JSON of a response's items, and at most three quarters of an output record: the last one contains all of
them."""

ITEM_BYTES = 1 * KIB
"""Bytes of JSON of an item besides its text: ids, names and words of the shape."""

_SENT_BACK = frozenset({"signature", "encrypted_content"})
"""Kinds of parts that belong to reasoning."""

SENT_BACK_CHARS = 64 * KIB
"""Characters of such a part; signatures have some hundred."""


class Kind(NamedTuple):
    """An item that holds one text."""

    item: str
    part: str
    field: str
    """Field of the part that has the text."""
    prefix: str
    """Prefix of the item's id."""
    delta: bytes
    """The event with which it grows, to be filled with item, index, delta and number; ids have no quotes."""


def _delta(field: str, before: str = '"content_index":0,', behind: str = "") -> bytes:
    head = f'{{"type":"response.{field}.delta","item_id":"%b","output_index":%d,{before}'
    return f'{head}"delta":%b,{behind}"sequence_number":%d}}'.encode()


TEXT = Kind("message", "output_text", "text", "msg", _delta("output_text", behind='"logprobs":[],'))
REFUSAL = Kind("message", "refusal", "refusal", "msg", _delta("refusal"))
REASONING = Kind("reasoning", "reasoning_text", "text", "rs", _delta("reasoning_text"))

ARGUMENTS_DELTA = _delta("function_call_arguments", before="")
"""The same for a call's arguments."""

INPUT_DELTA = _delta("custom_tool_call_input", before="")
"""The same for the text that a custom tool gets."""

_KINDS = {kind.part: kind for kind in (TEXT, REFUSAL, REASONING)}


class OpenBlock(msgspec.Struct, array_like=True, gc=False):
    """A text that continues."""

    index: int
    id: str
    part: str
    """Its kind: the type of its part."""
    said: Source = msgspec.field(default_factory=Source)
    """The kept part of it."""
    size: int = 0
    """Bytes of that as JSON."""
    full: bool = False
    """Whether no more of it is kept."""
    encrypted: str | None = ""
    """Data that a client must send back with reasoning; None if it does not cover all of it, or is too long."""

    @property
    def kind(self) -> Kind:
        """The kind of the item."""
        return _KINDS[self.part]

    @property
    def place(self) -> Json:
        """The place of its text."""
        return {"item_id": self.id, "output_index": self.index, "content_index": 0}

    def keep(self, text: str, size: int, room: int) -> None:
        """Keep more of its text, as long as there is room."""
        size += self.size
        if self.full or size > room - ITEM_BYTES:
            self.full = True
            return
        self.said.add(text)
        self.size = size

    def keep_beside(self, kind: str, value: str) -> None:
        """Keep other content of the provider, if it belongs here."""
        if self.kind is REASONING and kind in _SENT_BACK and value:
            whole = self.encrypted in ("", value) and len(value) <= SENT_BACK_CHARS
            self.encrypted = value if whole else None

    def item(self, status: str, content: list[Json]) -> Json:
        """Return the item in the API's shape."""
        kind = self.kind
        own: Json = {"summary": []} if kind is REASONING else {"role": "assistant"}
        if self.encrypted and not self.full:
            own["encrypted_content"] = self.encrypted
        return {"id": self.id, "type": kind.item, "status": status, **own, "content": content}


class OpenCall(msgspec.Struct, array_like=True, gc=False):
    """A call that grows."""

    index: int
    id: str
    call_id: str
    arguments: GrowingArguments

    @property
    def place(self) -> Json:
        """The place of its arguments."""
        return {"item_id": self.id, "output_index": self.index}

    def item(self, status: str, arguments: str) -> Json:
        """Return the item in the API's shape."""
        return {
            "id": self.id,
            "type": "function_call",
            "status": status,
            "call_id": self.call_id,
            "name": self.arguments.name,
            "arguments": arguments,
        }


class Items(msgspec.Struct, array_like=True, gc=False):
    """The items of one response."""

    base: str = ""
    """Common part of all ids."""
    begun: int = 0
    block: OpenBlock | None = None
    calls: dict[str, OpenCall] = {}
    """Calls that grow, by id."""
    done: dict[int, bytes] = {}
    """Items that have ended, by index, as JSON."""
    cap: int = KEPT_BYTES
    """Bytes that may be kept in all."""
    size: int = 0
    """Bytes that are kept."""
    truncated: bool = False
    """Whether something was not kept."""

    @property
    def room(self) -> int:
        """Bytes that may still be kept."""
        return self.cap - self.size

    @property
    def memory(self) -> int:
        """About how many bytes they take."""
        block = self.block.said.memory + len(self.block.encrypted or "") if self.block is not None else 0
        done = self.size + len(self.done) * PIECE_BYTES
        return done + block + sum(call.arguments.memory for call in self.calls.values())

    def begin_block(self, kind: Kind) -> OpenBlock:
        """Begin an item of text."""
        self.block = OpenBlock(*self._next(kind.prefix), kind.part)
        return self.block

    def begin_call(self, call_id: str, name: str, *, json: bool) -> OpenCall:
        """Begin an item of a call."""
        call = self.calls[call_id] = OpenCall(*self._next("fc"), call_id, GrowingArguments(name, json))
        return call

    def custom_call(self, call_id: str, name: str) -> tuple[int, Json]:
        """Return the call of a custom tool as a new item without its text, and its index."""
        index, item_id = self._next("ctc")
        kind = {"id": item_id, "type": "custom_tool_call", "status": "in_progress"}
        return index, {**kind, "call_id": call_id, "name": name, "input": ""}

    def output_of(self, call_id: str, text: str) -> tuple[int, Json]:
        """Return a tool's answer as a new item, and its index."""
        index, name = self._next("fco")
        kind = {"id": name, "type": "function_call_output", "status": "completed"}
        return index, {**kind, "call_id": call_id, "output": text}

    def end(self, index: int, item: Json) -> bytes:
        """End an item: return its JSON, and keep it if there is room."""
        encoded = json_bytes(item)
        if len(encoded) <= self.room:
            self.size += len(encoded)
            self.done[index] = encoded
        else:
            self.truncated = True
        return encoded

    def within(self, fields: Json) -> msgspec.Raw:
        """Return the response with these fields of its own, and with all items that have ended."""
        output = b",".join(self.done[index] for index in sorted(self.done))
        said = json_bytes(fields | {"metadata": {"tm-truncated": "1"} if self.truncated else {}})
        return msgspec.Raw(b'%b,%b,"output":[%b]}' % (said[:-1], UNSAID, output))

    def _next(self, prefix: str) -> tuple[int, str]:
        index = self.begun
        self.begun += 1
        return index, f"{prefix}_{self.base}_{index}"


ENDS: dict[FinishReason, tuple[str, Json]] = {
    "stop": ("completed", {}),
    "tool-calls": ("completed", {}),
    "length": ("incomplete", {"incomplete_details": {"reason": "max_output_tokens"}}),
    "content-filter": ("incomplete", {"incomplete_details": {"reason": "content_filter"}}),
    "cancelled": ("incomplete", {"status": "cancelled"}),
}
"""How a response ends, by the native reason; the others are failures."""


_UNSAID = {
    "background": False,
    "frequency_penalty": 0,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "parallel_tool_calls": True,
    "presence_penalty": 0,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "service_tier": "default",
    "store": False,
    "temperature": 1,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": list[Any](),
    "top_logprobs": 0,
    "top_p": 1,
    "truncation": "disabled",
    "user": None,
}

UNSAID = json_bytes(_UNSAID)[1:-1]
"""The members of a response that repeat its request, as if that were empty: readers of the shape require them."""


def part_of(kind: Kind, text: str) -> Json:
    """Return the one part of an item of text."""
    return {"type": kind.part, kind.field: text} | ({"annotations": [], "logprobs": []} if kind is TEXT else {})


def usage_of(usage: Json) -> Json:
    """Return the counts of tokens in the API's shape."""
    counts = tokens(usage)
    return {
        "input_tokens": counts.input,
        "input_tokens_details": {"cached_tokens": counts.cached, "cache_write_tokens": counts.cache_written},
        "output_tokens": counts.output,
        "output_tokens_details": {"reasoning_tokens": counts.reasoning},
        "total_tokens": counts.total,
    }
