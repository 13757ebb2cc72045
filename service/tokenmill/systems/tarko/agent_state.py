"""State of the dialect `agent` for a message: what its last rows repeat as a whole, and what waits."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from tokenmill.dialects.json_text import json_bytes
from tokenmill.events import DeclaredTool
from tokenmill.limits import KIB
from tokenmill.parser.run.state import BLOCK_PIECES, PIECE_BYTES, WIDE, Source

GATHERED_BYTES = 768 * KIB
"""Bytes of one answer as JSON, and of its reasoning: with the rest of the row it fits the default of an output
record."""

WAITING_CHARS = 32 * KIB
"""Characters of a call's arguments before they are sent despite `min_delta_chars`: with the longest delta they fit a
row."""


CALL_BYTES = 512
"""Bytes of a call in memory besides its arguments: ids, names, and the beginning of its rows."""


class Gathered(msgspec.Struct, array_like=True, gc=False):
    """Text that is repeated as a whole, as far as there is room: a `Source` with one count less to keep."""

    bytes: int = 0
    """Bytes of the text and of what else took room, as JSON."""
    cut: bool = False
    """Whether there was more than there is room for."""
    pieces: list[str] = []
    blocks: list[str] = []

    @property
    def memory(self) -> int:
        """About how many bytes it takes, estimated from its last part; what else took room is counted
        elsewhere.
        """
        parts = self.blocks or self.pieces
        width = 1 if not parts or parts[-1].isascii() else WIDE
        count = sum(map(len, self.blocks)) + sum(map(len, self.pieces))
        return count * width + (len(self.blocks) + len(self.pieces)) * PIECE_BYTES

    def add(self, text: str, size: int) -> bool:
        """Append `text`, of `size` bytes as JSON, if there is room. After the first that does not fit, nothing is
        appended.
        """
        size += self.bytes
        if self.cut or size > GATHERED_BYTES:
            self.cut = True
            return False
        self.bytes = size
        pieces = self.pieces
        pieces.append(text)
        if len(pieces) >= BLOCK_PIECES:
            self.blocks.append("".join(pieces))
            pieces.clear()
        return True

    def text(self) -> str:
        """Return all of it."""
        return "".join(self.blocks) + "".join(self.pieces)

    def charge(self, size: int) -> bool:
        """Take room for something else; False if there is not enough."""
        if self.bytes + size > GATHERED_BYTES:
            self.cut = True
            return False
        self.bytes += size
        return True


class Called(msgspec.Struct, array_like=True, gc=False):
    """One call of the message."""

    id: str
    name: str
    time: int
    """Time of its beginning, in milliseconds since the epoch."""
    provider: bool
    """Whether it comes from the provider's own tool stream."""
    waiting: Source = msgspec.field(default_factory=Source)
    """Arguments that have not been sent yet, below `min_delta_chars`."""
    complete: bool = False
    unknown: bool = False
    """Whether it names no tool of the message."""
    arguments: str = ""
    """Arguments as JSON, once the call is complete."""
    who: bytes = b""
    """Its id and name as rows contain them, up to its arguments: every piece of these repeats them."""

    def __post_init__(self) -> None:
        if not self.who:
            names = json_bytes(self.id), json_bytes(self.name)
            self.who = b'"toolCallId":%b,"toolName":%b,"arguments":' % names

    def tool(self, tools: Mapping[str, DeclaredTool]) -> dict[str, Any]:
        """Return the declaration in `message-start` of the tool that it names."""
        unknown: dict[str, Any] = {
            "name": self.name,
            "description": "Unknown tool" if self.unknown else "",
            "schema": {},
        }
        tool = tools.get(self.name)
        if tool is None:
            return unknown
        said = {"description": tool.description, "schema": tool.parameters}
        return unknown | {key: value for key, value in said.items() if value is not UNSET}


class AgentState(msgspec.Struct, array_like=True, gc=False):
    """What is kept from one event to the next."""

    thought: Gathered = msgspec.field(default_factory=Gathered)
    thinking_since: int = -1
    """When the open reasoning began; -1 if none is open."""
    answer: Gathered = msgspec.field(default_factory=Gathered)
    calls: list[Called] = []
    finished: bool = False
    """Whether the last rows were written once: if they are asked for again, they were too large."""
    cut: bool = False
    """Whether the block of text belongs to a call that was cut off."""

    @property
    def memory(self) -> int:
        """About how many bytes it takes."""
        calls = sum(CALL_BYTES + len(call.arguments) + call.waiting.memory for call in self.calls)
        return self.thought.memory + self.answer.memory + calls

    def call(self, call_id: str) -> Called | None:
        """Return the call of that id, if it has begun."""
        if self.calls and self.calls[-1].id == call_id:  # nearly always, and a generator is not free
            return self.calls[-1]
        return next((call for call in reversed(self.calls) if call.id == call_id), None)
