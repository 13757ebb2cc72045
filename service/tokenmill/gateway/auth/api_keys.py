"""Rights by API keys: a file has their digests, so a reader of the file can't use the keys.

    [[keys]]
    name = "web"                                   # whose it is; two may share one while the old is replaced
    sha256 = "9f86d081884c7d659a2feaa0c55ad015…"   # printf %s "$KEY" | sha256sum
    conversations = ["web-*"]
    actions = ["read", "stop"]

1. A digest without salt is safe for keys that nobody can guess: `openssl rand -hex 32` makes one. It is not for words.
2. All digests are compared, each in the same time, so that the time of an answer reveals nothing.
3. Removing a key from the file, or reducing its rights, closes its connections: its grants no longer hold.
"""

import hashlib
import hmac
import tomllib
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from tokenmill.gateway.auth.grant import Action, Authorizer, Credentials, Grant, unauthenticated
from tokenmill.gateway.auth.reloading_file import ReloadingFile

SOURCE_DIGITS = 16
"""Hex digits of the digest that identify a key: enough to be unique, too few to find the key."""


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One table of the file."""

    name: Annotated[str, Meta(min_length=1)]
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-fA-F]{64}\Z")]
    conversations: tuple[Annotated[str, Meta(min_length=1)], ...]
    actions: frozenset[Action]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    keys: tuple[_Row, ...]
    """An empty list (`keys = []`) admits no client; a file without `keys` counts as truncated."""


class Key(NamedTuple):
    """A known key."""

    digest: bytes
    grant: Grant


class KeyAuthorizer(Authorizer):
    """Grants what the file lists for a key. Raises `ConfigError` if the file can't be used."""

    def __init__(self, file: Path) -> None:
        self._file = ReloadingFile(file, "gateway.keys_file", read_keys)

    async def grant(self, credentials: Credentials) -> Grant:
        """Return the grant of the key in `authorization: Bearer` or `x-api-key`. Raises `Refused`."""
        if not credentials.key:
            raise unauthenticated("send a key, as `authorization: Bearer KEY` or as `x-api-key: KEY`", "missing")
        digest = hashlib.sha256(credentials.key.encode(errors="surrogatepass")).digest()
        for found in [key.grant for key in self._file.value() if hmac.compare_digest(key.digest, digest)]:
            return found
        raise unauthenticated("this key is not valid; send another one", "wrong")

    def holds(self, grant: Grant) -> bool:
        """Whether the key is still in the file, and allows as much."""
        return any(key.grant.source == grant.source and key.grant.covers(grant) for key in self._file.value())


def read_keys(content: bytes) -> tuple[Key, ...]:
    """Return the keys of a file. Raises `ValueError`, which names the place but not its content."""
    try:
        rows = msgspec.convert(tomllib.loads(content.decode("utf-8-sig")), _File).keys
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise ValueError(f"is not TOML: {problem}") from None
    except msgspec.ValidationError as problem:
        raise ValueError(f"is not a list of keys: {problem}") from None
    if len({row.sha256.lower() for row in rows}) < len(rows):
        raise ValueError("has the same key twice, so its rights are ambiguous; remove one of them")
    return tuple(_key(row) for row in rows)


def _key(row: _Row) -> Key:
    source = row.sha256.lower()[:SOURCE_DIGITS]
    grant = Grant(row.name, row.conversations, row.actions, source=source)
    return Key(bytes.fromhex(row.sha256), grant)
