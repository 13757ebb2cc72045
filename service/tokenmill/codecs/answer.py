"""The single answer of a stream, and the chunks that a record adds to it."""

from typing import Any

from tokenmill.codecs.chunk import Chunk, ProviderPart
from tokenmill.codecs.plain import check_plain


class Answer:
    """Chunks under the answer's id, and whether the answer is open."""

    __slots__ = ("chunks", "id", "open")

    def __init__(self, message_id: str, *, is_open: bool = False) -> None:
        self.id = message_id
        """Id of the message; empty: the conversation's unnamed message."""
        self.open = is_open
        self.chunks: list[Chunk] = []

    def put(self, **fields: Any) -> None:
        """Add a chunk; the first one opens the answer."""
        self.open = True
        self.chunks.append(Chunk(message_id=self.id or None, **fields))

    def part(self, kind: str, value: Any) -> None:
        """Add other content of the provider, if there is any. Raises `Undecodable` if it can't be kept."""
        check_plain(value, kind)
        if value:
            self.put(part=ProviderPart(kind, value))

    def call(self, index: int, **function: str) -> None:
        """Add to a call of the provider's tool stream: `name` and `id` at its start, `arguments` as they come."""
        named = {"id": function.pop("id")} if "id" in function else {}
        self.put(tool_calls=[{"index": index, **named, "function": dict(function)}])

    def usage(self, counts: dict[str, Any]) -> dict[str, Any]:
        """Return token counts if they can be kept. Raises `Undecodable` otherwise."""
        check_plain(counts, "usage")
        return counts

    def fail(self, message: str, status: int | None = None) -> None:
        """End the answer because the provider failed. `status` is the HTTP status that fits the failure, if known."""
        self.put(error=message, error_status=status, finish_reason="error", end=True)
        self.open = False

    def end(self, **fields: Any) -> None:
        """End the answer, if it is open, with a chunk of these fields."""
        if self.open:
            self.put(**fields, end=True)
        self.open = False
