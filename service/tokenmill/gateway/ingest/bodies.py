"""What clients write besides chunks, and the answers: the bodies of requests and responses, as JSON.

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
    """Chunks are in the log, on all replicas that have to have them."""

    accepted: int
    """How many records the body became: one for each native chunk; of a provider's stream so many as it came in
    pieces, and one that says that nothing follows."""
    message_id: str | None
    """Of the message; of the first one, if the body has several. Null: the conversation's unnamed message."""
    partition: int
    """Of the topic of chunks."""
    offset: int
    """Of the last record."""


class Stop(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which message is to end early."""

    message_id: Identifier | None = None
    """Its id. Without it: the only message that is open, if this gateway knows what is open."""
    choice: Number | None = None
    """One of its alternative answers; null: all of them."""
    unnamed: bool = False
    """Instead of an id: the conversation's message that was opened without one, whichever that is now."""


class StopAccepted(msgspec.Struct, frozen=True):
    """The stop is in the log. With status 200 nothing was there to be stopped, as far as this gateway knows."""

    message_id: str | None
    """Of the message; null: the unnamed one, or none is open."""


class ToolResultBody(msgspec.Struct, frozen=True):
    """What a tool answered: either a result or an error. Unknown fields are ignored, as in events."""

    id: Identifier
    """Of the call."""
    name: Annotated[str, Meta(min_length=1, max_length=NAME_CHARS)]
    """Of the tool."""
    result: Any = UNSET
    """Any JSON value."""
    error: str | UnsetType = UNSET
    """Instead of a result: why there is none."""
    elapsed_ms: Number = 0
    """How long the tool took."""
    conversation_id: str = ""
    """If present it is the one in the address."""
    message_id: str = ""
    """Of the message with the call."""
    choice: Number = 0
    """Of the message's alternative answers."""


class Written(msgspec.Struct, frozen=True):
    """A record is in the log, on all replicas that have to have it."""

    partition: int
    """Of its topic."""
    offset: int
    """Of the record."""


def stopped_message(stop: Stop, known: list[str] | None) -> str | None:
    """The id of the message to stop; None if it has none, or if none is open. Raises `Refused`."""
    if stop.unnamed:
        if stop.message_id is not None:
            raise Refused(BAD_REQUEST, "say message_id or unnamed, not both")
        return None
    if stop.message_id is not None:
        return message_id_of(stop.message_id)
    if known is None:
        raise Refused(BAD_REQUEST, "say which message to stop: its message_id, or unnamed: true if it has none")
    if len(known) > 1:
        raise Refused(CONFLICT, "several messages are open; say the message_id of one", open=known)
    return known[0] if known else None


def message_id_of(text: str) -> str:
    """The id of a message, if it can be one. Raises `Refused`."""
    return identifier(text, "message_id")
