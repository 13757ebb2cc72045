"""`Chunk`: what every codec makes of an input record, and the partition reads."""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

Number: TypeAlias = Annotated[int, Meta(ge=0, le=2**53)]
"""A number that every language's JSON reader keeps exact."""


class ProviderPart(msgspec.Struct, frozen=True):
    """Provider content that is not text, reasoning or a call: a signature, a refusal, a citation."""

    kind: str
    value: Any
    id: str | UnsetType = UNSET


class Chunk(msgspec.Struct, frozen=True, omit_defaults=True):
    """A piece of one message. Fields apply in this order; unknown ones are ignored, null is the same as absent."""

    conversation_id: str | None = None
    """Conversation id; if present, it must equal the record's key."""
    message_id: str | None = None
    """Id of the message; absent: the conversation's open unnamed message."""
    choice: Number | UnsetType | None = UNSET
    """Number of the alternative answer, of at most 128. Absent: 0; for a `control`, all choices."""
    seq: Number | None = None
    """Position of the chunk in (message, choice)."""
    open: dict[str, Any] | None = None
    """Options of the message, on its first chunk."""
    reasoning: str | None = ""
    """Reasoning that the provider already separated."""
    delta: str | None = ""
    """Model text; runs through the message's format."""
    tool_calls: list[dict[str, Any]] | None = []
    """OpenAI tool-call deltas from a provider's native tool stream."""
    part: ProviderPart | None = None
    """Other provider content."""
    usage: dict[str, Any] | None = None
    """Token counts."""
    finish_reason: str | None = None
    """Reason of the message's end."""
    end: bool | UnsetType | None = UNSET
    """Whether the chunk ends the message. In the native codec a `finish_reason` ends it unless this is false."""
    control: Literal["cancel", "timeout"] | None = None
    """Ends the message early."""
    error: str | None = None
    """The provider failed: an `error` event `upstream` with this text."""
    error_status: Annotated[int, Meta(ge=100, le=599)] | None = None
    """With `error`: the HTTP status of the provider's answer."""
    error_raw: str | None = None
    """With `error`: the body of that answer; its beginning is kept."""
    resumes: bool | None = None
    """Whether another writer continues the message from here. It has its own range of `seq`, so the jump is not a gap,
    and chunks that the writer before it still sends count as repeats. It may also open the message."""
    model: str | None = None
    """Name of the model, as the provider gives it; used on the chunk that opens the message, if `open` has none. Its
    first 256 characters count."""
    stop_sequence: str | None = None
    """With `finish_reason`: the text at which the model was told to stop and did."""
