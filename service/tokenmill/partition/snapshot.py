"""A partition's saved state: small structs, one field for each message, set of options and codec state."""

from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from tokenmill.parser import Grammar
from tokenmill.partition.idle import Place
from tokenmill.partition.intake import Kept
from tokenmill.partition.log_id import LogId
from tokenmill.partition.message import Choice, Ended, Ident, Lost, Message, Open
from tokenmill.partition.recovery import Gaps
from tokenmill.partition.trace_context import TraceContext

SCHEMA = 14
"""Version, raised when the meaning of one of these structs or a parser's state changes. No other version is read."""


class SnapshotWrite(NamedTuple):
    """A write that a store must hold to restore the partition as it was at `offset`."""

    offset: int
    """Offset below which all records are included."""
    meta: bytes
    """The partition's own state, always complete."""
    changed: dict[bytes, bytes]
    removed: list[bytes]
    full: bool
    """Whether the fields are complete; otherwise they are changes on top of the write before."""


class Meta(msgspec.Struct, array_like=True, frozen=True):
    """Saved state of the partition itself."""

    schema: int
    topic: str
    partition: int
    offset: int
    time: int
    spans: dict[int, int]
    gaps: Gaps
    outputs: list[tuple[str, str]]
    """Topic and dialect of each output, in the order of the dialects' states."""
    log: LogId
    epoch: int
    """Epoch, as in a `Mark`."""


class OpenState(msgspec.Struct, array_like=True, frozen=True, tag="open"):
    """Saved state of an open choice; the names are those of `Open`."""

    parser: bytes
    reason: str | None
    usage: dict[str, Any] | None
    states: list[bytes]
    stop_sequence: str | None


class EndedState(msgspec.Struct, array_like=True, frozen=True, tag="ended"):
    """Saved state of an ended choice."""

    offset: int


class LostState(msgspec.Struct, array_like=True, frozen=True, tag="lost"):
    """Saved state of a lost choice: by the time of a snapshot its loss has been published."""


class ChoiceState(msgspec.Struct, array_like=True, frozen=True):
    """Saved form of a choice; the names are those of `Choice`."""

    index: int
    state: OpenState | EndedState | LostState
    root: int
    first: int
    opener: int
    pinned: int
    created: int
    opened: int
    grammar: str
    position: int
    seq: int
    trace_context: TraceContext


class MessageState(msgspec.Struct, array_like=True, frozen=True):
    """Saved form of a message; the names are those of `Message`."""

    key: bytes
    id: str
    named: bool
    closed: bool
    last: int
    choices: list[ChoiceState]


class KeptState(msgspec.Struct, array_like=True, frozen=True):
    """Saved form of a codec's state."""

    codec: str
    key: bytes
    stream: bytes
    state: bytes
    root: int
    last: int
    message_id: bytes


_encode = msgspec.msgpack.Encoder().encode


# Names of fields: a letter for the kind, and a hash; the content holds the identity.


def message_field(ident: Ident) -> bytes:
    """The field of a message."""
    key, message_id = ident
    return b"m" + blake2b(b"%d:%b%b" % (len(key), key, message_id.encode()), digest_size=12).digest()


def kept_field(place: Place) -> bytes:
    """The field of a codec's state."""
    codec, key, stream = place
    return b"k" + blake2b(b"%b:%d:%b%b" % (codec.encode(), len(key), key, stream), digest_size=12).digest()


def grammar_field(key: str) -> bytes:
    """The field of a set of options."""
    return b"g" + key.encode()


# Contents of fields.


def encode_meta(meta: Meta) -> bytes:
    """The state of the partition itself."""
    return _encode(meta)


def encode_message(message: Message) -> bytes:
    """A message with all its choices."""
    choices = [_choice_state(choice) for choice in message.choices]
    return _encode(MessageState(message.key, message.id, message.named, message.closed, message.last, choices))


def encode_kept(kept: Kept) -> bytes:
    """A codec's state."""
    return _encode(KeptState(*kept.place, kept.state, kept.root.offset, kept.last, kept.message_id))


def encode_grammar(grammar: Grammar) -> bytes:
    """The options that make the grammar; messages with the same options share one field."""
    return _encode(grammar.options)


def _choice_state(choice: Choice) -> ChoiceState:
    return ChoiceState(
        index=choice.index,
        state=_state(choice.state),
        root=choice.root.offset,
        first=choice.first,
        opener=choice.opener,
        pinned=choice.pinned,
        created=choice.envelope.created,
        opened=int(choice.opened_header[1]),
        grammar=choice.grammar.key,
        position=choice.position,
        seq=choice.seq,
        trace_context=choice.trace_context,
    )


def _state(state: Open | Ended | Lost) -> OpenState | EndedState | LostState:
    if isinstance(state, Ended):
        return EndedState(state.offset)
    if isinstance(state, Lost):
        return LostState()
    states = [_encode(each) if each is not None else b"" for each in state.states]
    return OpenState(state.parser.encode_state(), state.reason, state.usage, states, state.stop_sequence)
