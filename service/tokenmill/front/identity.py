"""The identity of a request: the conversation and the id of its answer, and how a repeat of it is recognized.

1. The body or the header `x-conversation-id` names the conversation. Otherwise its id is made from the client's name,
   so that no other client may read it, unless a grant's pattern begins as such ids do, with `~`.
2. A request with the same `Idempotency-Key` from the same client is the same request, at any front.
3. SDKs retry without a key, but send `x-stainless-retry-count`. In such a retry, the same body from the same client is
   the same request.
"""

import re
from collections.abc import Mapping

import msgspec

from tokenmill.apis.api import Api
from tokenmill.apis.ask import Ask, BadAsk
from tokenmill.apis.record import BETAS, CONVERSATION_BYTES, RANDOM_DIGITS, AnswerId, digest, own_conversation

KEY_CHARS = 255
"""Characters that an `Idempotency-Key` may have. UUIDs have 36."""

CONVERSATION, KEY, RETRY, RESUMABLE = "x-conversation-id", "idempotency-key", "x-stainless-retry-count", "tm-resumable"
"""Headers of requests: the conversation, the key, the number of an SDK's retry, and "continue without a reader"."""

BETAS_CHARS = 2_048
"""Characters that `anthropic-beta` may have: some dozens of names. Every record of a request repeats it."""

_PRINTABLE = re.compile(r"[ -~]+")


class Identity(msgspec.Struct, frozen=True):
    """The identity of a request, and the headers that its answer depends on."""

    conversation: str
    """The id of the conversation; empty if it is to be made from the answer's id."""
    fingerprint: str
    """A digest of the client's name, the API, the conversation, the body and `betas`."""
    key: str
    """A digest of the `Idempotency-Key`, the client's name and the conversation; empty without such a key."""
    again: bool
    """Whether an SDK marked it as a retry."""
    stays: bool
    """Whether its answer continues without a reader."""
    betas: str = ""
    """The header `anthropic-beta`, of a request to the Messages API."""

    def answer_id(self, api: Api, time_ms: int, random: str) -> AnswerId:
        """Return a new id for an answer to the request. `random` is hexadecimal, `time_ms` is since the epoch."""
        return AnswerId(api.prefix, time_ms, random[:RANDOM_DIGITS], self.conversation)


def identify(api: Api, ask: Ask, headers: Mapping[str, str], name: str, body: bytes) -> Identity:
    """Return the identity of a request from the client `name`. Raises `BadAsk` for headers that can't be used."""
    conversation = _conversation(ask, headers)
    key = _key(headers)
    keyed = digest("key", name, conversation, key) if key else ""
    betas = _betas(api, headers)
    if keyed and not conversation:
        conversation = own_conversation(name, keyed)
    return Identity(
        conversation=conversation,
        fingerprint=digest(name, api.name, conversation, body, *([betas] if betas else [])),
        key=keyed,
        again=headers.get(RETRY, "0") not in ("", "0"),
        stays=ask.background or headers.get(RESUMABLE, "").lower() == "true",
        betas=betas,
    )


def _betas(api: Api, headers: Mapping[str, str]) -> str:
    betas = headers.get(BETAS, "") if api.name == "messages" else ""
    if betas and (len(betas) > BETAS_CHARS or not _PRINTABLE.fullmatch(betas)):
        raise BadAsk(f"{BETAS} may have at most {BETAS_CHARS} characters, all printable ASCII", BETAS)
    return betas


def _conversation(ask: Ask, headers: Mapping[str, str]) -> str:
    named = headers.get(CONVERSATION, "")
    if named and ask.conversation and named != ask.conversation:
        detail = f"the header {CONVERSATION} and the body name different conversations; name one"
        raise BadAsk(detail, "conversation")
    conversation = ask.conversation or named
    try:
        size = len(conversation.encode())
    except UnicodeEncodeError:
        size = CONVERSATION_BYTES + 1
    if size > CONVERSATION_BYTES:
        raise BadAsk(f"the conversation's id must be UTF-8 of at most {CONVERSATION_BYTES} bytes", "conversation")
    return conversation


def _key(headers: Mapping[str, str]) -> str:
    key = headers.get(KEY, "")
    if key and (len(key) > KEY_CHARS or not _PRINTABLE.fullmatch(key)):
        raise BadAsk(f"an Idempotency-Key must have 1 to {KEY_CHARS} characters, all printable ASCII", KEY)
    return key
