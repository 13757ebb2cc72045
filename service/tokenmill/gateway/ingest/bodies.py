"""The JSON bodies of clients' writes besides chunks, and of all answers to writes.

A stop names its message: one that comes late must not end the next answer.
"""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tokenmill.codecs.chunk import Number
from tokenmill.gateway.http.request_values import identifier
from tokenmill.gateway.problems import BAD_REQUEST, CONFLICT, Refused
from tokenmill.limits import KEY_BYTES, NAME_CHARS

Identifier = Annotated[str, Meta(min_length=1, max_length=KEY_BYTES)]
"""An id; its UTF-8 is capped as well."""


class Accepted(msgspec.Struct, frozen=True):
    """Confirms that chunks are in the log, on all replicas that have to have them."""

    accepted: int
    """Number of records that the body became: one for each native chunk; for a provider's stream, one for each piece
    that it came in, and one that ends it."""
    message_id: str | None
    """Id of the message; of the first one if the body has several. Null: the conversation's unnamed message."""
    partition: int
    """Partition of the topic of chunks."""
    offset: int
    """Offset of the last record."""


class Stop(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request to end a message early."""

    message_id: Identifier | None = None
    """The message's id. Without it: the only open message, if this gateway has read which messages are open."""
    choice: Number | None = None
    """Number of one of its alternative answers; null: all of them."""
    unnamed: bool = False
    """Instead of an id: whether to stop the conversation's message that was opened without one, whichever it is now."""


class StopAccepted(msgspec.Struct, frozen=True):
    """Confirms that the stop is in the log. Status 200: there was nothing to stop, as far as this gateway has read."""

    message_id: str | None
    """Id of the message; null: the unnamed one, or none is open."""


class ToolResultBody(msgspec.Struct, frozen=True):
    """A tool's answer: either a result or an error. Unknown fields are ignored, as in events."""

    id: Identifier
    """Id of the call."""
    name: Annotated[str, Meta(min_length=1, max_length=NAME_CHARS)]
    """Name of the tool."""
    result: Any = UNSET
    """The result, which is any JSON value."""
    error: str | UnsetType = UNSET
    """Text of the error, instead of a result."""
    elapsed_ms: Number = 0
    """Milliseconds that the tool took."""
    conversation_id: str = ""
    """The conversation in the address, if present."""
    message_id: str = ""
    """Id of the message with the call."""
    choice: Number = 0
    """Number of the message's alternative answer with the call."""


class Written(msgspec.Struct, frozen=True):
    """Confirms that a record is in the log, on all replicas that have to have it."""

    partition: int
    """Partition of the record's topic."""
    offset: int
    """Offset of the record."""


def stopped_message(stop: Stop, known: list[str] | None) -> str | None:
    """Return the id of the message to stop; None if it has none, or if none is open. Raises `Refused`."""
    if stop.unnamed:
        if stop.message_id is not None:
            raise Refused(BAD_REQUEST, "send message_id or unnamed, not both")
        return None
    if stop.message_id is not None:
        return message_id_of(stop.message_id)
    if known is None:
        raise Refused(BAD_REQUEST, "name the message to stop: by its message_id, or by unnamed: true if it has none")
    if len(known) > 1:
        raise Refused(CONFLICT, "several messages are open; send the message_id of one", open=known)
    return known[0] if known else None


def message_id_of(text: str) -> str:
    """Return the id of a message, if it is valid. Raises `Refused`."""
    return identifier(text, "message_id")
