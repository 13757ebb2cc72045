"""The identity of a request: where its answer will be, under which id, and what tells it from any other.

1. The body or the header `x-conversation-id` names the conversation. Otherwise it is made of the client's own name, so
   no other client may read it, unless a grant's pattern begins as such conversations do (`~`).
2. The same `Idempotency-Key` of the same client is the same request, wherever it comes in.
3. SDKs retry without a key, but send `x-stainless-retry-count`. Then the same body of the same client is the same
   request.
"""

import re
from collections.abc import Mapping

import msgspec

from tokenmill.apis.api import Api
from tokenmill.apis.ask import Ask, BadAsk
from tokenmill.apis.record import BETAS, CONVERSATION_BYTES, RANDOM_DIGITS, AnswerId, digest, own_conversation

KEY_CHARS = 255
"""Characters that an `Idempotency-Key` may have: UUIDs have 36."""

CONVERSATION, KEY, RETRY, RESUMABLE = "x-conversation-id", "idempotency-key", "x-stainless-retry-count", "tm-resumable"
"""Headers of requests."""

BETAS_CHARS = 2_048
"""Characters that `anthropic-beta` may have: some dozens of names. Every record of a request repeats it."""

_PRINTABLE = re.compile(r"[ -~]+")


class Identity(msgspec.Struct, frozen=True):
    """What tells a request from any other."""

    conversation: str
    """Empty if it is made of the id of the answer."""
    fingerprint: str
    key: str
    """A digest; empty without an `Idempotency-Key`."""
    again: bool
    """Whether an SDK says that it is a retry."""
    stays: bool
    """Whether its answer continues without a reader."""
    betas: str = ""
    """The header `anthropic-beta` of a client of Messages."""

    def answer_id(self, api: Api, time_ms: int, random: str) -> AnswerId:
        """Make the id of an answer to it; `random` is hexadecimal."""
        return AnswerId(api.prefix, time_ms, random[:RANDOM_DIGITS], self.conversation)


def identify(api: Api, ask: Ask, headers: Mapping[str, str], name: str, body: bytes) -> Identity:
    """Identify a request; `name` is that of the client. Raises `BadAsk`."""
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
        raise BadAsk(f"{BETAS} has at most {BETAS_CHARS} printable characters of ASCII", BETAS)
    return betas


def _conversation(ask: Ask, headers: Mapping[str, str]) -> str:
    said = headers.get(CONVERSATION, "")
    if said and ask.conversation and said != ask.conversation:
        raise BadAsk(f"the header {CONVERSATION} and the body name two conversations; say one", "conversation")
    conversation = ask.conversation or said
    try:
        size = len(conversation.encode())
    except UnicodeEncodeError:
        size = CONVERSATION_BYTES + 1
    if size > CONVERSATION_BYTES:
        raise BadAsk(f"a conversation's id is UTF-8 and has at most {CONVERSATION_BYTES} bytes", "conversation")
    return conversation


def _key(headers: Mapping[str, str]) -> str:
    key = headers.get(KEY, "")
    if key and (len(key) > KEY_CHARS or not _PRINTABLE.fullmatch(key)):
        raise BadAsk(f"an Idempotency-Key has 1 to {KEY_CHARS} printable characters of ASCII", KEY)
    return key
