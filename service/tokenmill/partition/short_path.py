"""The short path: more text of one open message, which nearly every record is.

It does the same as the long path (`Intake.read`, `Chunks.apply`), but without checks for what such a record cannot
have, and in a single loop: a call for each record would cost a tenth of the time. Rules:

1. It stops at a record that it does not cover and changes nothing; the long path takes that record.
2. It covers native JSON chunks without headers, with no more than ids, `seq` and `delta`, that continue an open choice
   that is the only one of its message, while no codec has any state.
3. Which path is taken makes no visible difference; a property test compares the two.
"""

from collections.abc import Callable, Iterator
from typing import Protocol, TypeAlias

import msgspec

from tokenmill.codecs.native import NATIVE
from tokenmill.errors import NOT_JSON
from tokenmill.limits import KEY_BYTES
from tokenmill.partition.intake import Intake
from tokenmill.partition.message import Message, Open
from tokenmill.partition.messages import Messages
from tokenmill.partition.outputs import Outputs
from tokenmill.records import Output, Record


class TextChunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A native chunk with model text and nothing else."""

    delta: str
    conversation_id: str | None = None
    message_id: str | None = None
    choice: int = 0
    seq: int | None = None


_decode = msgspec.json.Decoder(TextChunk).decode


class Place(Protocol):
    """How far the log has been applied."""

    offset: int
    time: int


Broken: TypeAlias = Callable[[Message | None, Record, Exception, list[Output]], None]
"""Handles a failure of this program on a record of a message."""


class ShortPath:
    """Applies the records that the short path covers."""

    __slots__ = ("_broken", "_intake", "_messages", "_outputs", "_record_bytes")

    def __init__(self, record_bytes: int, intake: Intake, messages: Messages, outputs: Outputs, broken: Broken) -> None:
        self._record_bytes = record_bytes
        self._intake = intake
        self._messages = messages
        self._outputs = outputs
        self._broken = broken

    def take(  # noqa: C901 -- a call for each record would cost a tenth of the time
        self, records: Iterator[Record], place: Place, out: list[Output]
    ) -> Record | None:
        """Apply records while the short path covers them; return the first that it does not, or None after the last."""
        if not self._intake.plain:
            return next(records, None)
        messages, outputs, record_bytes, taken = self._messages, self._outputs, self._record_bytes, 0
        for record in records:
            offset, key, value = record.offset, record.key, record.value
            if not key or not value or record.headers or len(value) > record_bytes or len(key) > KEY_BYTES:
                break
            try:
                chunk = _decode(value)
            except NOT_JSON:
                break
            message, seq, delta = messages.find(key, chunk.message_id), chunk.seq, chunk.delta
            if message is None or len(message.choices) != 1 or not place.offset <= offset < messages.forget_at:
                break
            choice = message.choices[0]
            going = choice.state
            if (
                not delta
                or not isinstance(going, Open)
                or choice.index != chunk.choice
                or (seq is not None and seq != choice.position + 1)
                or (chunk.conversation_id is not None and chunk.conversation_id != message.conversation)
            ):
                break
            message.last = offset
            if not message.touched:
                messages.touch(message)
            if seq is None:
                choice.opener = offset
            else:
                choice.position = seq
            time = record.timestamp
            try:
                outputs.emit(going.parser.feed(delta), choice, time, out)
            except Exception as problem:  # noqa: BLE001 -- as on the long path
                self._broken(message, record, problem, out)
            place.offset, place.time = offset + 1, time
            taken += 1
        else:
            record = None
        if taken:
            outputs.tally.chunks[NATIVE.name] += taken
        return record
