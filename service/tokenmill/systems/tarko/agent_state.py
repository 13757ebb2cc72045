"""What the dialect `agent` remembers of a message: what its last rows say again as a whole, and what waits."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from tokenmill.dialects.json_text import json_bytes
from tokenmill.events import DeclaredTool
from tokenmill.limits import KIB
from tokenmill.parser.run.state import BLOCK_PIECES, PIECE_BYTES, WIDE, Source

GATHERED_BYTES = 768 * KIB
"""Of one answer as JSON, and of its reasoning: with the rest of the row it fits the default of an output record."""

WAITING_CHARS = 32 * KIB
"""Of a call's arguments before they are sent whatever `min_delta_chars` says: with the longest delta they fit a row."""


CALL_BYTES = 512
"""Of a call in memory beside its arguments: ids, names, and what its rows begin with."""


class Gathered(msgspec.Struct, array_like=True, gc=False):
    """Text that is said again as a whole, as far as there is room: a `Source` with one count less to keep."""

    bytes: int = 0
    """Of the text and what else took room, as JSON."""
    cut: bool = False
    """There was more than there is room for."""
    pieces: list[str] = []
    blocks: list[str] = []

    @property
    def memory(self) -> int:
        """About how many bytes it takes, told by its last part; what else took room is another's."""
        parts = self.blocks or self.pieces
        width = 1 if not parts or parts[-1].isascii() else WIDE
        count = sum(map(len, self.blocks)) + sum(map(len, self.pieces))
        return count * width + (len(self.blocks) + len(self.pieces)) * PIECE_BYTES

    def add(self, text: str, size: int) -> bool:
        """Append `text`, of so many bytes as JSON, if there is room; from the first that has none on nothing is."""
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
        """All of it."""
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
    """When it began: milliseconds since the epoch."""
    provider: bool
    """It comes from the provider's own tool stream."""
    waiting: Source = msgspec.field(default_factory=Source)
    """Arguments that have not been sent yet, below `min_delta_chars`."""
    complete: bool = False
    unknown: bool = False
    """It names no tool of the message."""
    arguments: str = ""
    """As JSON, once it is complete."""
    who: bytes = b""
    """Its id and name as rows have them, up to its arguments: every piece of these says them again."""

    def __post_init__(self) -> None:
        if not self.who:
            names = json_bytes(self.id), json_bytes(self.name)
            self.who = b'"toolCallId":%b,"toolName":%b,"arguments":' % names

    def tool(self, tools: Mapping[str, DeclaredTool]) -> dict[str, Any]:
        """What `message-start` says of the tool that it names."""
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
    """What is remembered from one event to the next."""

    thought: Gathered = msgspec.field(default_factory=Gathered)
    thinking_since: int = -1
    """When the open reasoning began; -1 if none is open."""
    answer: Gathered = msgspec.field(default_factory=Gathered)
    calls: list[Called] = []
    finished: bool = False
    """The last rows were written once: if they are asked for again, they were too large."""
    cut: bool = False
    """The block of text is of a call that was cut off."""

    @property
    def memory(self) -> int:
        """About how many bytes it takes."""
        calls = sum(CALL_BYTES + len(call.arguments) + call.waiting.memory for call in self.calls)
        return self.thought.memory + self.answer.memory + calls

    def call(self, call_id: str) -> Called | None:
        """The call of that id, if it has begun."""
        if self.calls and self.calls[-1].id == call_id:  # nearly always, and a generator is not free
            return self.calls[-1]
        return next((call for call in reversed(self.calls) if call.id == call_id), None)
