"""A stream of typed events with one answer after the other: the common part of the codecs of such protocols.

Rules of this file:

1. A record is one event, as JSON or as lines of SSE, with a `type`.
2. `[DONE]`, which proxies add to any protocol, and a null value end the open message. An empty value, such as a line
   between two events, is ignored.
3. State is kept only while a message is open.
"""

from typing import Any, Generic, TypeVar

import msgspec

from tokenmill.codecs.answer import Answer
from tokenmill.codecs.message_id import message_id
from tokenmill.codecs.payloads import DONE, payloads, read_event
from tokenmill.records import Record


class AnswerState(msgspec.Struct, array_like=True, gc=False):
    """The open message; each protocol adds what else it has to remember."""

    id: str = ""


StateT = TypeVar("StateT", bound=AnswerState)

_encode = msgspec.msgpack.Encoder().encode


class EventStream(Generic[StateT]):
    """The state of a stream, and the chunks of a record."""

    def __init__(self, states: msgspec.msgpack.Decoder[StateT], remembered: bytes, record: Record) -> None:
        """`states` is made at import: two threads that use a type for the first time crash msgspec 0.22."""
        self.state: StateT = states.decode(remembered) if remembered else states.type()
        self._default_id = message_id(record) or ""
        self.answer = Answer(self.state.id or self._default_id, is_open=bool(remembered))

    def read_record(self, value: bytes | None, what: str) -> None:
        """Read all events of a record, each of which is `what`. Raises `Undecodable`."""
        for data in payloads(DONE if value is None else value):
            if data == DONE:
                self.end()
            else:
                self.read(read_event(data, what))

    def remembered(self) -> bytes:
        """The state for the next record."""
        return _encode(self.state) if self.answer.open else b""

    def read(self, event: dict[str, Any]) -> None:
        """Read one event."""
        raise NotImplementedError

    def begin(self, identity: str) -> None:
        """Begin another message; `identity` is empty if it has no id of its own."""
        self.state.id, self.answer.id = identity, identity or self._default_id

    def end(self) -> None:
        """End the open message, if any."""
        self.answer.end()
        self.forget()

    def forget(self) -> None:
        """Forget the message."""
        self.state, self.answer.id = type(self.state)(), self._default_id
