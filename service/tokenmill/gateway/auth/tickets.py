"""Tickets: rights that fit into a URL, since `EventSource` and WebSockets of browsers can't send headers.

1. A ticket opens one conversation for the actions it was made for, never to write or approve. It is good for a minute.
2. Until then it may be used again: an `EventSource` that lost its connection comes back with the same URL, and no
   gateway knows what another one has seen. One that comes back later is refused; the page then gets a new ticket.
3. A connection opened with a ticket lasts as long as the rights behind the ticket: the ticket's end closes nothing.
4. It is signed (HMAC-SHA256), not encrypted: its holder may read it. Nothing is kept on the server.
"""

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from typing import Final

import msgspec

from tokenmill.gateway.auth.grant import Action, Grant, forbidden, unauthenticated
from tokenmill.gateway.problems import BAD_REQUEST, Refused

_PURPOSE: Final = b"tokenmill ticket 1"
"""Text that the signing key is derived with, so that other uses of the same secret make no tickets."""


_NEVER: Final = ("write", "approve")
"""Actions that no ticket allows: URLs are in logs and histories."""


class _Content(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The content of a ticket."""

    conversation: str
    actions: frozenset[Action]
    until: float
    """End of the ticket, in seconds since the epoch."""
    name: str
    source: str
    expires: float | None
    """End of the grant behind it, in seconds since the epoch. None: it does not expire."""


class Tickets:
    """Makes tickets and redeems them. Gateways with the same secret accept each other's; an empty secret is random."""

    def __init__(self, secret: str, lifetime_s: int, now: Callable[[], float] = time.time) -> None:
        self._key = _digest(secret.encode() or secrets.token_bytes(32), _PURPOSE)
        self._lifetime_s = lifetime_s
        self._now = now

    def issue(self, grant: Grant, conversation: str, action: Action, *more: Action) -> str:
        """Return a ticket for these actions, in characters that need no escaping in URLs.

        Raises `Refused` if the grant does not allow them or came from a ticket, or if no ticket may allow one of them.
        """
        actions = frozenset({action, *more})
        if grant.by_ticket:  # else one ticket would last for ever
            raise forbidden("use a ticket to get another one for")
        for wanted in sorted(actions):
            if wanted in _NEVER or not grant.allows(conversation, wanted):
                raise forbidden(f"get a ticket to {wanted}")
        until = self._now() + self._lifetime_s
        content = _Content(conversation, actions, until, grant.name, grant.source, grant.expires)
        try:
            text = _text(msgspec.json.encode(content))
        except UnicodeEncodeError:
            raise Refused(BAD_REQUEST, "the conversation's id is not UTF-8") from None
        return f"{text}.{self._signature(text)}"

    def redeem(self, ticket: str) -> Grant:
        """Return a ticket's grant, which ends with the grant behind it. Raises `Refused` if the ticket is not valid."""
        text, _, signature = ticket.encode("ascii", errors="replace").partition(b".")
        if not hmac.compare_digest(self._signature(text.decode()).encode(), signature):
            raise unauthenticated("the ticket was not issued by this service; get a new one", "wrong")
        content = msgspec.json.decode(base64.urlsafe_b64decode(text + b"=="), type=_Content)
        if content.until <= self._now():
            raise unauthenticated("the ticket has expired; get a new one", "expired")
        return Grant(
            content.name, (content.conversation,), content.actions, content.expires, content.source, by_ticket=True
        )

    def _signature(self, text: str) -> str:
        return _text(_digest(self._key, text.encode()))


def _digest(key: bytes, content: bytes) -> bytes:
    return hmac.digest(key, content, hashlib.sha256().name)


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
