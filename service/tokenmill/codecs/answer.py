"""The one answer of a stream: what comes out of a record for it."""

from typing import Any

from tokenmill.codecs.chunk import Chunk, ProviderPart
from tokenmill.codecs.plain import check_plain


class Answer:
    """Chunks under the id of the answer, and whether it has begun and not ended."""

    __slots__ = ("chunks", "id", "open")

    def __init__(self, message_id: str, *, is_open: bool = False) -> None:
        self.id = message_id
        """Empty: the conversation's unnamed message."""
        self.open = is_open
        self.chunks: list[Chunk] = []

    def put(self, **fields: Any) -> None:
        """One more chunk; the first one opens the answer."""
        self.open = True
        self.chunks.append(Chunk(message_id=self.id or None, **fields))

    def part(self, kind: str, value: Any) -> None:
        """Other content of the provider, if there is any. Raises `Undecodable` where it can't be kept."""
        check_plain(value, kind)
        if value:
            self.put(part=ProviderPart(kind, value))

    def call(self, index: int, **function: str) -> None:
        """More of a call of the provider's tool stream: `name` and `id` when it begins, `arguments` as they come."""
        named = {"id": function.pop("id")} if "id" in function else {}
        self.put(tool_calls=[{"index": index, **named, "function": dict(function)}])

    def usage(self, counts: dict[str, Any]) -> dict[str, Any]:
        """Token counts that can be kept. Raises `Undecodable`."""
        check_plain(counts, "usage")
        return counts

    def fail(self, message: str, status: int | None = None) -> None:
        """The provider failed: the answer is over. `status` is that of HTTP which it stands for, if it is known."""
        self.put(error=message, error_status=status, finish_reason="error", end=True)
        self.open = False

    def end(self, **fields: Any) -> None:
        """The answer, if it is open, is over, with a chunk of these fields."""
        if self.open:
            self.put(**fields, end=True)
        self.open = False
