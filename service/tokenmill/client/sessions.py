"""Reads the session of a conversation: from Redis if it is complete there, else from the topic, and restores Redis."""

import logging
from collections.abc import Iterable
from contextlib import aclosing

import msgspec

from tokenmill.client.connection import Connection
from tokenmill.client.follow import Follower
from tokenmill.dialects.session import SessionRecord
from tokenmill.errors import Unavailable
from tokenmill.store.sessions import RedisSessions

log = logging.getLogger(__name__)

_decode = msgspec.json.Decoder(SessionRecord).decode


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """The totals of a conversation's answers, and ids for its next request."""

    conversation_id: str
    conversation_hash: str
    """The first hash that a producer gave; empty if none did."""
    chat_id: str
    """The provider's last id of the conversation; empty if it gave none."""
    parent_id: str
    """The provider's id of the last answer, to which the next request refers."""
    message_id: str
    """Id of the last answer's message."""
    messages: int
    """Number of answers; all choices of a message count as one."""
    opened: int
    """When the first answer began, in milliseconds since the epoch."""
    ended: int
    """When the last answer ended, in milliseconds since the epoch."""
    text_chars: int
    reasoning_chars: int
    tool_calls: int
    errors: int
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


_TOTALS = (
    "text_chars",
    "reasoning_chars",
    "tool_calls",
    "errors",
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
)


def fold(records: Iterable[SessionRecord]) -> Session | None:
    """Return the session that records add up to, in any order; None without records."""
    ordered = sorted(records, key=lambda record: (record.ended, record.opened, record.message_id, -record.choice))
    if not ordered:
        return None
    last = ordered[-1]
    return Session(
        conversation_id=last.conversation_id,
        conversation_hash=next((record.conversation_hash for record in ordered if record.conversation_hash), ""),
        chat_id=next((record.chat_id for record in reversed(ordered) if record.chat_id), ""),
        parent_id=last.parent_id,
        message_id=last.message_id,
        messages=len({record.message_id for record in ordered}),
        opened=min(record.opened for record in ordered),
        ended=last.ended,
        **{name: sum(getattr(record, name) for record in ordered) for name in _TOTALS},
    )


async def read_session(
    conversation_id: str, connection: Connection, topic: str, store: RedisSessions | None
) -> Session | None:
    """Return the session of a conversation; None if it has none.

    If Redis is down the topic is read. Raises `Unavailable` if Kafka is needed and does not answer.
    """
    key = conversation_id.encode()
    found = generation = None
    if store is not None:
        try:
            found = await store.load(key)
            generation = await store.generation() if found is None else None
        except Unavailable as problem:
            log.warning("Redis does not answer, so the session is read from the topic: %s", problem)
    if found is None:
        records = await _from_topic(key, connection, topic)
        found = list(records.values())
        if store is not None and generation:
            try:
                await store.restore(key, records, generation)
            except Unavailable as problem:
                log.warning("the session was not restored in Redis; the next reader tries again: %s", problem)
    return fold(_decode(value) for value in found)


async def _from_topic(conversation: bytes, connection: Connection, topic: str) -> dict[bytes, bytes]:
    """Return the last record of each answer of the conversation, by the rest of its key: message and choice."""
    prefix, records = conversation + b"/", dict[bytes, bytes]()
    follower = Follower(connection, topic=topic, from_beginning=True, until_end=True)
    async with follower, aclosing(follower.records()) as found:
        async for record in found:
            if record.key and record.key.startswith(prefix) and _is_of(conversation, record.value):
                records[record.key[len(prefix) :]] = record.value
    return records


def _is_of(conversation: bytes, value: bytes | None) -> bool:
    """Whether a record is of this conversation, and not of one whose id begins with it; a tombstone is of none."""
    return value is not None and _decode(value).conversation_id.encode() == conversation
