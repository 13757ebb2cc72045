"""Records on the topic `requests`, keyed by conversation: what clients ask, and which other clients read the answer.

Rules of this file:

1. A request is a record with the client's body as it came. The process that calls the model reads it again
   (`Api.read`), so the record repeats nothing.
2. Ids lead to their place by themselves: `<prefix><time><random>`, followed by the conversation if the client named it
   or an `Idempotency-Key` made it. Without a name the conversation is derived from the client's name and the id, so it
   is nobody else's.
3. Of records with the same `key` and `attempt` the first one counts: each writer reads the topic up to its own record.
4. Anybody may write to a topic. A record that no front would write is ignored: an answer that can't be ended would hold
   its partition's commit back forever.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta

from tokenmill.apis.ask import BadAsk
from tokenmill.errors import NOT_JSON
from tokenmill.limits import KEY_BYTES

ApiName: TypeAlias = Literal["chat", "responses", "messages"]

TIME_DIGITS = 12
RANDOM_DIGITS = 20
"""Hex digits of an id: milliseconds since the epoch, then 80 random bits, as many as in an ULID."""

BETAS = "anthropic-beta"
"""The header of Messages that lists the beta features that a client uses."""

CONVERSATION_BYTES = 512
"""Bytes of a conversation that an id leads to: with it the id must fit a message's."""

ATTEMPTS = 8
"""Attempts of one key: more are not an accident."""

MessageId: TypeAlias = Annotated[str, Meta(max_length=KEY_BYTES, pattern=r"\A[A-Za-z0-9_-]+\Z")]
"""Id of a message, with only the characters of ids: it appears in logs."""

TimeMs: TypeAlias = Annotated[int, Meta(ge=0, lt=16**TIME_DIGITS)]
"""Milliseconds since the epoch, as many as fit in an id."""

Digest: TypeAlias = Annotated[str, Meta(max_length=64)]
"""A hash of at most twice today's length. Fronts keep the hashes of many requests."""

_ID = re.compile(rf"(chatcmpl-|resp_|msg_)([0-9a-f]{{{TIME_DIGITS}}})([0-9a-f]{{{RANDOM_DIGITS}}})([A-Za-z0-9_-]*)")


class AnswerId(NamedTuple):
    """The id of an answer, which is also that of its message."""

    prefix: str
    time_ms: int
    """Time of the request: no event of the answer is older."""
    random: str
    conversation: str = ""
    """Conversation of the answer. Empty: the one that is derived from the client's name."""

    def __str__(self) -> str:
        where = urlsafe_b64encode(self.conversation.encode()).decode().rstrip("=")
        return f"{self.prefix}{self.time_ms:0{TIME_DIGITS}x}{self.random}{where}"

    def conversation_of(self, name: str) -> str:
        """Return its conversation, for the client of this name."""
        return self.conversation or own_conversation(name, f"{self.time_ms:0{TIME_DIGITS}x}{self.random}")


def read_id(text: str) -> AnswerId | None:
    """Return the id of an answer; None if it is not one of ours."""
    match = _ID.fullmatch(text) if len(text) <= KEY_BYTES else None
    if match is None:
        return None
    prefix, time, random, where = match.groups()
    try:
        conversation = urlsafe_b64decode(where + "=" * (-len(where) % 4)).decode()
    except ValueError:
        return None
    return AnswerId(prefix, int(time, 16), random, conversation)


OWN = "~"
"""Begins conversations that no client named."""


def own_prefix(name: str) -> str:
    """Return the prefix of conversations that only the client of this name may use."""
    return f"{OWN}{digest(name)[:16]}{OWN}"


def own_conversation(name: str, what: str) -> str:
    """Return a conversation that only the client of this name may use."""
    return own_prefix(name) + what


def digest(*parts: str | bytes) -> str:
    """Return a hash of all parts, which keeps them apart."""
    hashed = blake2b(digest_size=16)
    for part in parts:
        content = part.encode(errors="surrogatepass") if isinstance(part, str) else part
        hashed.update(b"%d:" % len(content) + content)
    return hashed.hexdigest()


class RequestRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="request"):
    """A client asks a model."""

    message_id: MessageId
    """Id of the answer."""
    api: ApiName
    """The API of the request."""
    body: msgspec.Raw
    """The body as the client sent it."""
    fingerprint: Digest
    """Hash of client and body: the same for the same body of the same client."""
    until: TimeMs
    """Time when the answer must be over, in milliseconds since the epoch."""
    key: Digest = ""
    """A hash of the client's `Idempotency-Key`, if it sent one."""
    attempt: Annotated[int, Meta(ge=0, lt=ATTEMPTS)] = 0
    """Number of earlier attempts that failed before anything came of them, or lost their readers."""
    stays: bool = False
    """Whether it continues without a reader."""
    betas: str = ""
    """The header `anthropic-beta` of Messages: without it, fields of the body may be refused."""


class ReaderRecord(msgspec.Struct, frozen=True, tag_field="type", tag="reader"):
    """A client reads an answer that another request began: the answer has a reader."""

    message_id: MessageId


class LeftRecord(msgspec.Struct, frozen=True, tag_field="type", tag="left"):
    """The readers of an answer at one front have left: a front with another reader reports it, or the answer is
    stopped.
    """

    message_id: MessageId


class StoppedRecord(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="stopped"):
    """An answer was stopped. The record follows its request, so a caller that has not begun the answer yet sees it."""

    message_id: MessageId
    abandoned: bool = False
    """Whether a front stopped it because it had no reader. The same request may then ask for it again."""


AnyRequest: TypeAlias = RequestRecord | ReaderRecord | LeftRecord | StoppedRecord

_decoder: msgspec.json.Decoder[AnyRequest] = msgspec.json.Decoder(AnyRequest)


def read_request(value: bytes | None) -> AnyRequest | None:
    """Return a record of the topic; None for one that is not ours."""
    try:
        return _decoder.decode(value or b"")
    except NOT_JSON:
        return None


def conversation_in_key(key: bytes | None) -> str:
    """Return the conversation that a record's key names; empty for a key that no front writes.

    The answer's chunks get the same key, and a key that `requests` takes may be too long for `tokens`.
    """
    try:
        return key.decode() if key and len(key) <= CONVERSATION_BYTES else ""
    except UnicodeDecodeError:
        return ""


def body_of(record: RequestRecord) -> dict[str, Any]:
    """Return the client's body. Raises `BadAsk` for one that no front has read."""
    try:
        return msgspec.json.decode(record.body, type=dict[str, Any])
    except NOT_JSON as problem:
        raise BadAsk(f"the body is no JSON object: {problem}") from problem
