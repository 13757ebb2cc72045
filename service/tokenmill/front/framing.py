"""How the front frames the events of Responses, where their clients need more than the events as they are."""

import msgspec

from tokenmill.apis.namespaces import Namespaces, told_apart
from tokenmill.dialects import Dialect
from tokenmill.gateway.event_log.view import Frame
from tokenmill.gateway.streams.framing import SSE, Framing, ServerSentEvents


class _Numbered(msgspec.Struct):
    """What is read of an event."""

    sequence_number: int | None = None


class ResponseEvents(ServerSentEvents):
    """Frames the events after a number, for a reader that has those up to it, and names the calls of tools in a
    namespace as the client does: by both names.
    """

    def __init__(self, namespaces: Namespaces, after: int | None = None) -> None:
        self._namespaces = namespaces
        self._after = after

    def frame(self, dialect: Dialect, partition: int, frame: Frame) -> bytes:
        """Return the frame, or nothing if the reader has it."""
        if self._after is not None and frame.payload:
            number = msgspec.json.decode(frame.payload, type=_Numbered).sequence_number
            if number is not None and number <= self._after:
                return b""
        if self._namespaces:
            frame = frame._replace(payload=told_apart(frame.payload, self._namespaces))
        return super().frame(dialect, partition, frame)


def response_framing(namespaces: Namespaces, after: int | None = None) -> Framing:
    """Return the framing for a reader. Readers that need nothing special share what is framed."""
    return ResponseEvents(namespaces, after) if namespaces or after is not None else SSE
