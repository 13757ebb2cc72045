"""Readers of streams as clients have them: server-sent events by the rules of the HTML standard, and lines."""

from typing import NamedTuple

import msgspec


class Block(NamedTuple):
    """An event as `EventSource` dispatches it."""

    id: str
    event: str
    data: str


class Sse:
    """Bytes in any cut in, events out; what has no blank line behind it is no event."""

    def __init__(self, last_id: str = "") -> None:
        self.last_id = last_id
        self.retry_ms: int | None = None
        self._rest = b""
        self._id = last_id
        self._event = ""
        self._data: list[str] = []

    def feed(self, data: bytes) -> list[Block]:
        """The events that are complete now."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [block for line in lines if (block := self._line(line.decode().removesuffix("\r"))) is not None]

    def _line(self, line: str) -> Block | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "id" and "\0" not in value:
            self._id = value
        elif name == "event":
            self._event = value
        elif name == "data":
            self._data.append(value)
        elif name == "retry" and value.isdigit():
            self.retry_ms = int(value)
        return None

    def _dispatch(self) -> Block | None:
        data, event, self._data, self._event = self._data, self._event, [], ""
        self.last_id = self._id
        return Block(self.last_id, event or "message", "\n".join(data)) if data else None


class Lines:
    """The same of newline-delimited JSON."""

    def __init__(self, last_id: str = "") -> None:
        self.last_id = last_id
        self._rest = b""

    def feed(self, data: bytes) -> list[Block]:
        """The objects with data, or with an event, that are complete now."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [block for line in lines if line and (block := self._object(line)) is not None]

    def _object(self, line: bytes) -> Block | None:
        found = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        if "id" in found:
            self.last_id = msgspec.json.decode(found["id"])
        if "data" not in found:
            return None
        event = msgspec.json.decode(found["event"]) if "event" in found else "message"
        raw = bytes(found["data"])
        return Block(self.last_id, event, msgspec.json.decode(raw) if raw[:1] == b'"' else raw.decode())
