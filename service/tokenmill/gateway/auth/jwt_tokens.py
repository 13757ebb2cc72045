"""Rights by signed tokens (JWT): `authorization: Bearer TOKEN`.

1. The algorithm is the key's, never the one that a token names. There is no key for `none`, or for an algorithm that
   would take a public key for a secret.
2. A token has to have its end (`exp`), its audience (`aud`) and, if the settings name one, its issuer (`iss`).
3. Conversations and actions are claims that the settings name. A token without actions may read, one without
   conversations may do nothing.

Needs PyJWT, the extra `auth`.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import Any, Final, get_args

import jwt

from tokenmill.config import Gateway
from tokenmill.gateway.auth.grant import Action, Authorizer, Credentials, Grant, Reason, unauthenticated
from tokenmill.gateway.auth.jwks import Key, KeySource, SharedSecret, key_source

LEEWAY_S: Final = 30
"""Seconds by which issuers' clocks may differ from ours."""

LATEST: Final = 2**53
"""The last second that a float distinguishes from the next; tokens may have any number."""

ACTIONS: Final[frozenset[Action]] = frozenset(get_args(Action))

NAME_DIGITS: Final = 12
"""Hex digits of the digest that names a token without a subject: enough to count its connections."""

_SHAPE: Final = re.compile(r"[\w-]+\.[\w-]+\.[\w-]*", re.ASCII)
"""The form of a token, checked because decoders skip characters that base64 does not have."""

_SENTENCES: Final[Sequence[tuple[type[Exception], Reason, str]]] = (
    (jwt.ExpiredSignatureError, "expired", "the token has expired; get a new one"),
    (jwt.ImmatureSignatureError, "wrong", "the token is not valid yet: its `nbf` or `iat` is in the future"),
    (jwt.InvalidAudienceError, "wrong", "the token is for another audience: its `aud` is not gateway.jwt_audience"),
    (jwt.InvalidIssuerError, "wrong", "the token is from another issuer: its `iss` is not gateway.jwt_issuer"),
    (jwt.MissingRequiredClaimError, "wrong", "the token lacks a required claim: `exp`, `aud`, or `iss`"),
)
"""Reasons and details by exception. Claims are checked after the signature, so these reveal nothing to a forger."""


class JwtAuthorizer(Authorizer):
    """Grants what the claims of a signed token allow. Raises `ConfigError` if there are no keys to check it with."""

    def __init__(self, gateway: Gateway) -> None:
        self._settings = gateway
        self._keys: KeySource = key_source(gateway.jwt_keys) if gateway.jwt_keys else SharedSecret(gateway.jwt_secret)

    async def grant(self, credentials: Credentials) -> Grant:
        """Return the token's grant, which ends with the token. Raises `Refused`."""
        token = credentials.bearer
        if not token:
            raise unauthenticated("send a token, as `authorization: Bearer TOKEN`", "missing")
        if not _SHAPE.fullmatch(token):
            raise unauthenticated("the token can't be read", "wrong")
        return self._granted(token, self._claims(token, await self._key(token)))

    async def prepare(self) -> None:
        """Fetch the set of keys, if it is remote."""
        await self._keys.prepare()

    async def _key(self, token: str) -> Key:
        """Return the key that the token's header names. Raises `Refused`."""
        try:
            header = jwt.get_unverified_header(token)
        except Exception:  # noqa: BLE001 -- reads what anybody sent, before a signature was checked
            raise unauthenticated("the token can't be read", "wrong") from None
        kid, algorithm = header.get("kid"), header.get("alg")
        if isinstance(kid, str | None) and isinstance(algorithm, str):
            key = await self._keys.find(kid, algorithm)
            if key is not None:
                return key
        raise unauthenticated("the token is not signed with a key that is known here", "wrong")

    def _claims(self, token: str, key: Key) -> dict[str, Any]:
        settings = self._settings
        required = ["exp", "aud", *(["iss"] if settings.jwt_issuer else [])]
        try:
            return jwt.decode(
                token,
                key.material,
                algorithms=[key.algorithm],
                audience=settings.jwt_audience,
                issuer=settings.jwt_issuer or None,
                leeway=LEEWAY_S,
                options={"require": required, "enforce_minimum_key_length": True},
            )
        except Exception as problem:  # noqa: BLE001 -- reads what anybody sent; whatever it raises, the client is refused
            raise _refused(problem) from None

    def _granted(self, token: str, claims: dict[str, Any]) -> Grant:
        settings = self._settings
        conversations = _strings(claims.get(settings.jwt_conversations, []))
        actions = _words(claims.get(settings.jwt_actions, ["read"]))
        name = claims.get("sub") or f"token {_digest(token)}"
        expires = float(min(int(claims["exp"]), LATEST)) + LEEWAY_S
        return Grant(name, conversations, ACTIONS.intersection(actions), expires)


def _digest(token: str) -> str:
    """Return a digest of the token's signed part: the signature itself may be written in several ways."""
    return hashlib.sha256(token.rpartition(".")[0].encode()).hexdigest()[:NAME_DIGITS]


def _refused(problem: Exception) -> Exception:
    for kind, reason, sentence in _SENTENCES:
        if isinstance(problem, kind):
            return unauthenticated(sentence, reason)
    return unauthenticated("the token is not valid", "wrong")


def _strings(value: Any) -> tuple[str, ...]:
    """Return a list of texts, or a single text, as a tuple; anything else grants nothing."""
    listed = [value] if isinstance(value, str) else value
    return tuple(listed) if isinstance(listed, list) and all(isinstance(text, str) for text in listed) else ()


def _words(value: Any) -> Sequence[str]:
    """Return the words of a text, as of `scope`, or the texts of a list."""
    return value.split() if isinstance(value, str) else _strings(value)
