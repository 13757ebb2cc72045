"""The short path: more text of one open message, which is what nearly every record is.

It does what the long path does (`Intake.read`, `Chunks.apply`), without asking for what such a record has not. Rules:

1. What it is not sure of it leaves alone: it answers False, nothing has changed, and the long path takes the record.
2. It is sure of a native JSON chunk without headers, with no more than ids, `seq` and `delta`, that continues a choice
   which is open and the only one of its message, and of which no codec remembers anything.
3. Taking it or not changes nothing that can be seen; a property test compares the two.
"""

import msgspec

from tokenmill.limits import KEY_BYTES
from tokenmill.records import Output, Record
from tokenmill.session.message import OPEN
from tokenmill.session.messages import Messages
from tokenmill.session.outputs import Outputs


class TextChunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A native chunk that brings model text and nothing else."""

    delta: str
    conversation_id: str | None = None
    message_id: str | None = None
    choice: int = 0
    seq: int | None = None


_decode = msgspec.json.Decoder(TextChunk).decode


class ShortPath:
    """Applies the records that it is sure of."""

    __slots__ = ("_messages", "_outputs", "_record_bytes")

    def __init__(self, record_bytes: int, messages: Messages, outputs: Outputs) -> None:
        self._record_bytes = record_bytes
        self._messages = messages
        self._outputs = outputs

    def apply(self, record: Record, out: list[Output]) -> bool:
        """Apply the record if it is a sure one; False if it was left alone."""
        key, value = record.key, record.value
        if not key or not value or record.headers or len(value) > self._record_bytes or len(key) > KEY_BYTES:
            return False
        try:
            chunk = _decode(value)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        message = self._messages.find(key, chunk.message_id)
        if message is None or len(message.choices) != 1:
            return False
        choice, seq, delta = message.choices[0], chunk.seq, chunk.delta
        if (
            not delta
            or choice.index != chunk.choice
            or choice.status != OPEN
            or (seq is not None and seq != choice.position + 1)
            or (chunk.conversation_id is not None and chunk.conversation_id != message.conversation)
        ):
            return False
        message.last = record.offset
        if not message.touched:
            self._messages.touch(message)
        if seq is None:
            choice.opener = record.offset
        else:
            choice.position = seq
        parser = choice.parser
        assert parser is not None  # it is open
        self._outputs.emit(parser.feed(delta), choice, record.timestamp, out)
        return True
