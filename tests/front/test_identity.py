"""Which request it is."""

from collections.abc import Mapping
from typing import Any

import pytest

from tokenmill.apis import CHAT, MESSAGES, RESPONSES, BadAsk
from tokenmill.apis.api import Api
from tokenmill.apis.record import CONVERSATION_BYTES, own_prefix, read_id
from tokenmill.front.identity import BETAS_CHARS, KEY_CHARS, Identity, identify

BODY = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'


def identity(
    headers: Mapping[str, str] | None = None, name: str = "web", body: bytes = BODY, **fields: Any
) -> Identity:
    ask = CHAT.read({"model": "m", "messages": [{"role": "user", "content": "hi"}], **fields})
    return identify(CHAT, ask, headers or {}, name, body)


def test_the_same_body_of_the_same_client_has_the_same_fingerprint() -> None:
    """Another client's, another API's or another conversation's has not."""
    one = identity()
    assert one.fingerprint == identity().fingerprint
    others = [
        identity(name="other"),
        identity(body=BODY + b" "),
        identity({"x-conversation-id": "c"}),
        identify(RESPONSES, RESPONSES.read({"model": "m", "input": "hi"}), {}, "web", BODY),
    ]
    assert len({each.fingerprint for each in (one, *others)}) == 5


def trying(betas: str, api: Api = MESSAGES) -> Identity:
    """What a request with this header is."""
    ask = MESSAGES.read({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]})
    return identify(api, ask, {"anthropic-beta": betas} if betas else {}, "web", BODY)


def test_what_a_client_of_messages_tries_out_is_kept() -> None:
    """With it the request is another one; elsewhere it means nothing."""
    names = "context-1m-2025-08-07,interleaved-thinking-2025-05-14"
    assert (trying(names).betas, trying(names, CHAT).betas) == (names, "")
    assert len({trying(names).fingerprint, trying("").fingerprint, trying("a").fingerprint}) == 3
    assert trying(names, CHAT).fingerprint == trying("", CHAT).fingerprint
    for unfit in ("a" * (BETAS_CHARS + 1), "é", "a\nb"):
        with pytest.raises(BadAsk, match="anthropic-beta"):
            trying(unfit)


def test_an_sdk_that_tries_again_says_so() -> None:
    """The first try says 0."""
    counts = {count: identity({"x-stainless-retry-count": count}).again for count in ("0", "1", "2")}
    assert counts == {"0": False, "1": True, "2": True}
    assert not identity().again


def test_a_key_is_its_clients_and_makes_a_conversation_of_its_own() -> None:
    """So the same key leads to the same partition, wherever it comes in."""
    one, again = identity({"idempotency-key": "k1"}), identity({"idempotency-key": "k1"}, body=b"{}")
    assert (one.key, one.conversation) == (again.key, again.conversation)
    assert one.conversation.startswith(own_prefix("web"))
    assert identity({"idempotency-key": "k1"}, name="other").key != one.key
    named = identity({"idempotency-key": "k1", "x-conversation-id": "chat-7"})
    assert named.conversation == "chat-7"
    without = identity()
    assert (without.key, without.conversation) == ("", "")  # else all requests without one would be repeats


def test_a_conversation_is_named_by_header_or_body() -> None:
    """Both have to say the same."""
    assert identity({"x-conversation-id": "c"}).conversation == "c"
    assert identity(metadata={"conversation_id": "c"}).conversation == "c"
    assert identity({"x-conversation-id": "c"}, metadata={"conversation_id": "c"}).conversation == "c"
    with pytest.raises(BadAsk, match="different conversations"):
        identity({"x-conversation-id": "c"}, metadata={"conversation_id": "d"})


@pytest.mark.parametrize(
    "headers",
    [
        {"x-conversation-id": "c" * (CONVERSATION_BYTES + 1)},
        {"x-conversation-id": "\ud800"},
        {"idempotency-key": "k" * (KEY_CHARS + 1)},
        {"idempotency-key": "k\x00"},
    ],
)
def test_what_is_no_id_is_refused(headers: dict[str, str]) -> None:
    """By the name of the header."""
    with pytest.raises(BadAsk) as refused:
        identity(headers)
    assert refused.value.param in ("conversation", "idempotency-key")


def test_an_answer_stays_where_its_request_says_so() -> None:
    """By a header, or in the background."""
    assert not identity().stays
    assert identity({"tm-resumable": "True"}).stays
    ask = RESPONSES.read({"model": "m", "input": "hi", "background": True})
    assert identify(RESPONSES, ask, {}, "web", BODY).stays


def test_the_id_of_an_answer_leads_to_it() -> None:
    """With the conversation in it where one is named, else by the client's name."""
    for headers in ({}, {"x-conversation-id": "chat 7"}, {"idempotency-key": "k"}):
        one = identity(headers)
        answer = one.answer_id(CHAT, 1_795_000_000_000, "0123456789abcdef" * 2)
        assert read_id(str(answer)) == answer
        assert answer.conversation_of("web") == (one.conversation or answer.conversation_of("web"))
        assert str(answer).startswith("chatcmpl-")
