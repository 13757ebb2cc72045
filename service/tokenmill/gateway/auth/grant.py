"""Credentials and grants: who a client is and what it may do, as data, without clock or network.

1. A request has `Credentials`; what they allow is a `Grant`. An `Authorizer` derives one from the other: by a file of
   keys, signed tokens, or the operator's function.
2. Neither shows a secret when it is printed: a log line that contains one by mistake shows a name.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from tokenmill.apis.record import OWN, own_prefix
from tokenmill.gateway.problems import FORBIDDEN, UNAUTHENTICATED, Refused
from tokenmill.wildcards import matches

Action: TypeAlias = Literal["read", "stop", "write", "approve"]
"""An action on a conversation. `approve`: decide whether a call that waits for approval is run."""

Reason: TypeAlias = Literal["missing", "wrong", "expired"]
"""Why credentials are refused. A page replaces expired ones itself, and asks its user for the others."""

Held: TypeAlias = Callable[[], bool]
"""Returns whether the rights that a client came with still hold."""

CREDENTIAL_CHARACTERS: Final = 16_384
"""Characters of the longest key, token or ticket that is read: headers are shorter anyway, a WebSocket frame is not."""


class Credentials(msgspec.Struct, frozen=True):
    """What a client presents."""

    headers: Mapping[str, str] = {}
    """Headers of the request, names in lower case; repeated ones are joined by commas, so two keys match none."""
    ticket: str = ""
    """The ticket in the URL."""
    remote: str = ""
    """Address of the connection, which is the proxy's if there is one."""

    @property
    def bearer(self) -> str:
        """The key or token of `authorization: Bearer`; empty without one."""
        scheme, _, rest = self.headers.get("authorization", "").partition(" ")
        return rest.strip() if scheme.lower() == "bearer" else ""

    @property
    def key(self) -> str:
        """The key or token of `authorization: Bearer`, or else the value of `x-api-key`."""
        return self.bearer or self.headers.get("x-api-key", "")

    def __repr__(self) -> str:
        return f"Credentials(headers={sorted(self.headers)}, ticket={'***' if self.ticket else ''!r})"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """Return the fields that `rich` shows: by itself it would print the secrets in the struct."""
        return [("headers", sorted(self.headers)), ("ticket", "***" if self.ticket else "")]


class Grant(msgspec.Struct, frozen=True):
    """What a client may do."""

    name: str
    """The client's name: open connections are counted by it, see `holder`. Empty: they are not, and at a front the
    client has to name its conversations."""
    conversations: tuple[str, ...]
    """Patterns, in which `*` stands for any characters or none; case matters. Conversations that begin with `~` match
    only patterns that also do: the front creates them, each for one name."""
    actions: frozenset[Action]
    expires: float | None = None
    """End of the grant and of connections opened with it, in seconds since the epoch. None: it does not expire."""
    source: str = ""
    """Digest of the key that it came from; empty for a grant that can't be withdrawn before it expires."""
    by_ticket: bool = False
    """Whether it came from a ticket: `conversations` are literal names, and it gets no further tickets."""

    def allows(self, conversation: str, action: Action) -> bool:
        """Whether it covers this action on this conversation; expiry is checked elsewhere."""
        if action not in self.actions:
            return False
        if self.by_ticket:
            return conversation in self.conversations
        own = conversation.startswith(OWN)
        patterns = (each for each in self.conversations if not own or each.startswith(OWN))
        return self.owns(conversation) or any(matches(pattern, conversation) for pattern in patterns)

    @property
    def holder(self) -> str:
        """The name that its open connections are counted by: its own, or that of one reader of a site.

        A site gets the tickets of all its users with its one key, so the readers of each conversation are counted
        separately. The holder of a token counts as one, however many conversations it gets tickets for.
        """
        return f"{self.name}, by tickets for {', '.join(self.conversations)}" if self.site else self.name

    @property
    def site(self) -> str:
        """The name of the key behind its ticket, by which all readers of a site are counted, too; empty without one."""
        return self.name if self.by_ticket and self.source else ""

    def owns(self, conversation: str) -> bool:
        """Whether the front made the conversation for this name, as its client named none."""
        return bool(self.name) and conversation.startswith(own_prefix(self.name))

    def covers(self, other: "Grant") -> bool:
        """Whether `other` is this grant, or came from it by a ticket."""
        if not other.by_ticket:
            return self == other
        return all(self.allows(name, action) for name in other.conversations for action in other.actions)


class Authorizer(ABC):
    """One way to find out what credentials allow."""

    @abstractmethod
    async def grant(self, credentials: Credentials) -> Grant:
        """Return the grant of credentials. Raises `Refused` of the kind `UNAUTHENTICATED` if there is none."""

    def holds(self, grant: Grant) -> bool:  # noqa: ARG002 -- for authorizers that withdraw grants
        """Whether a grant has not been withdrawn; checked again while a connection is open."""
        return True

    async def prepare(self) -> None:  # noqa: B027 -- most have nothing to fetch
        """Fetch remote data, so that the first client need not wait. Failures are logged."""


def always() -> bool:
    """Return True: the client's rights never end."""
    return True


def unauthenticated(detail: str, reason: Reason) -> Refused:
    """Return a 401 that describes how to authenticate."""
    error = "" if reason == "missing" else ', error="invalid_token"'
    challenge = {"www-authenticate": f'Bearer realm="tokenmill"{error}'}
    return Refused(UNAUTHENTICATED, detail, headers=challenge, reason=reason)


def must_hold(held: Held) -> None:
    """Raise `Refused` if the rights with which a request came have ended meanwhile."""
    if not held():
        raise unauthenticated("the credentials of this request have expired; get new ones", "expired")


def must_allow(grant: Grant, conversation: str, action: Action) -> None:
    """Raise `Refused` if a grant does not cover this."""
    if not grant.allows(conversation, action):
        raise forbidden(action)


def forbidden(action: str) -> Refused:
    """Return a 403, which is the same whether or not the conversation exists."""
    return Refused(FORBIDDEN, f"these credentials are not allowed to {action} this conversation")
