"""The one answer of a stream: what comes out of a record for it."""

from typing import Any

from tokenmill.codecs.chunk import Chunk, ProviderPart
from tokenmill.codecs.plain import check_plain


class Answer:
    """Chunks under the id of the answer."""

    __slots__ = ("chunks", "id")

    def __init__(self, message_id: str) -> None:
        self.id = message_id
        """Empty: the conversation's unnamed message."""
        self.chunks: list[Chunk] = []

    def put(self, **fields: Any) -> None:
        """One more chunk."""
        self.chunks.append(Chunk(message_id=self.id or None, **fields))

    def part(self, kind: str, value: Any) -> None:
        """Other content of the provider. Raises `Undecodable` where it can't be kept."""
        check_plain(value, kind)
        self.put(part=ProviderPart(kind, value))

    def call(self, index: int, **function: str) -> None:
        """More of a call of the provider's tool stream: `name` and `id` when it begins, `arguments` as they come."""
        named = {"id": function.pop("id")} if "id" in function else {}
        self.put(tool_calls=[{"index": index, **named, "function": dict(function)}])

    def usage(self, counts: dict[str, Any]) -> dict[str, Any]:
        """Token counts that can be kept. Raises `Undecodable`."""
        check_plain(counts, "usage")
        return counts

    def fail(self, message: str) -> None:
        """The provider failed: the answer is over."""
        self.put(error=message, finish_reason="error", end=True)
