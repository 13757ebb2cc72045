"""Keys that tokens are signed with: a shared secret, or public ones as a JSON Web Key Set.

1. A key's kind determines its algorithm, and a token never does: RSA is RS256, P-256 is ES256, Ed25519 is EdDSA, a
   secret is HS256. Keys of other kinds, for encryption, or that name another algorithm are passed over; so are private
   parts.
2. A set is fetched again when it is old or lacks a requested key: once for all waiting clients, and at most every half
   minute, whichever keys are requested. Meanwhile, and if the fetch fails, the previous set stays valid, for an hour.
"""

import asyncio
import logging
import ssl
import time
from abc import ABC, abstractmethod
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, NamedTuple

import aiohttp
import msgspec
from jwt import PyJWK, PyJWTError

from tokenmill.errors import NOT_JSON, ConfigError
from tokenmill.gateway.auth.reloading_file import ReloadingFile
from tokenmill.gateway.problems import UNVERIFIABLE, Refused

log = logging.getLogger(__name__)

FETCH_S: Final = 5.0
"""Seconds for one fetch: a client waits for it."""

AGAIN_S: Final = 30.0
"""Seconds between two fetches: anybody can make up names of keys."""

FIRST_AGAIN_S: Final = 2.0
"""Seconds between two fetches before the first set has come: until then no client can be admitted."""

OLD_S: Final = 300.0
"""Seconds after which the next token has the set fetched again, in the background: that token, and those that
come during the fetch, are still checked with the old set. So a withdrawn key counts for this long and somewhat more;
if no fetch succeeds, or no token comes that starts one, for `LONGEST_S`."""

LONGEST_S: Final = 3_600.0
"""Seconds for which a set counts at most: the life of a usual token, so an issuer that is away for longer could let
nobody in anyway. Otherwise a withdrawn key would count for as long as somebody keeps us from fetching."""

SET_BYTES: Final = 1_048_576
"""Bytes of the longest set. Real ones have some kilobytes."""

_KINDS: Final[Mapping[tuple[object, object], str]] = {
    ("RSA", None): "RS256",
    ("EC", "P-256"): "ES256",
    ("OKP", "Ed25519"): "EdDSA",
}
"""Type and curve → algorithm."""

_PUBLIC: Final = ("kty", "crv", "n", "e", "x", "y")


class Key(NamedTuple):
    """One key, and the one algorithm that it is for."""

    algorithm: str
    material: Any
    kid: str | None = None


class KeySource(ABC):
    """A source of the keys that tokens are signed with."""

    @abstractmethod
    async def find(self, kid: str | None, algorithm: str) -> Key | None:
        """Return the key of this name for this algorithm; without a name, the only key for it. Raises `Refused`."""

    async def prepare(self) -> None:  # noqa: B027 -- most have nothing to fetch
        """Fetch remote keys."""


class SharedSecret(KeySource):
    """One secret, whatever key name a token has."""

    def __init__(self, secret: str) -> None:
        self._key = Key("HS256", secret)

    async def find(self, kid: str | None, algorithm: str) -> Key | None:  # noqa: ARG002 -- see above
        return self._key if algorithm == self._key.algorithm else None


class KeySetFile(KeySource):
    """A key set in a file, which is read again when it changes. Raises `ConfigError`."""

    def __init__(self, file: Path) -> None:
        self._file = ReloadingFile(file, "gateway.jwt_keys", read_set)

    async def find(self, kid: str | None, algorithm: str) -> Key | None:
        return find_key(self._file.value(), kid, algorithm)


class FetchedKeySet(KeySource):
    """A key set at an `https` address, whose certificate the system's authorities (`SSL_CERT_FILE`) have to confirm."""

    def __init__(self, url: str, now: Callable[[], float] = time.monotonic) -> None:
        self._url = url
        self._now = now
        self._ssl = ssl.create_default_context()
        self._keys: tuple[Key, ...] = ()
        self._next_fetch = now()
        self._old_at = self._ends_at = 0.0
        self._fetch: asyncio.Task[None] | None = None

    async def find(self, kid: str | None, algorithm: str) -> Key | None:
        if self._keys and self._now() >= self._ends_at:
            self._keys = ()
            self._next_fetch = min(self._next_fetch, self._now() + FIRST_AGAIN_S)
        found = find_key(self._keys, kid, algorithm)
        if found is None:
            await self._renewed()
            found = find_key(self._keys, kid, algorithm)
        elif self._now() >= self._old_at:
            self._start()
        if not self._keys:
            raise Refused(
                UNVERIFIABLE,
                "the keys that tokens are signed with can't be fetched; try again",
                headers={"retry-after": f"{FIRST_AGAIN_S:.0f}"},
            )
        return found

    async def prepare(self) -> None:
        """Fetch the set for the first time."""
        await self._renewed()

    async def _renewed(self) -> None:
        """Wait for the running fetch; start one if none runs and the last is long enough ago."""
        self._start()
        if self._fetch is not None:
            await asyncio.shield(self._fetch)  # a client that leaves does not cancel it for others

    def _start(self) -> None:
        if self._fetch is None and self._now() >= self._next_fetch:
            self._fetch = asyncio.create_task(self._fetch_once())

    async def _fetch_once(self) -> None:
        try:
            self._keys = await self._got()
            self._old_at, self._ends_at = self._now() + OLD_S, self._now() + LONGEST_S
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as problem:
            what = str(problem) or type(problem).__name__
            until = (
                "the previous ones stay valid, an hour at most"
                if self._keys
                else "tokens are refused with 503 until they are there"
            )
            log.error("gateway.jwt_keys: the keys could not be renewed; %s: %s", until, what)  # noqa: TRY400 -- the sentence is enough
        finally:
            self._next_fetch = self._now() + (AGAIN_S if self._keys else FIRST_AGAIN_S)
            self._fetch = None

    async def _got(self) -> tuple[Key, ...]:
        deadline = aiohttp.ClientTimeout(total=FETCH_S)
        connector = aiohttp.TCPConnector(ssl=self._ssl)
        async with (
            aiohttp.ClientSession(connector=connector, timeout=deadline, trust_env=True) as session,
            session.get(self._url, allow_redirects=False) as response,
        ):
            if response.status != HTTPStatus.OK:
                raise ValueError(f"the server answered with status {response.status}")
            content = bytearray()
            async for piece in response.content.iter_any():
                content += piece
                if len(content) > SET_BYTES:
                    raise ValueError(f"the set is longer than {SET_BYTES:,} bytes")
            return read_set(bytes(content))


def key_source(place: str) -> KeySource:
    """Return the key set of a file or an `https` address, which is not fetched yet. Raises `ConfigError`."""
    if place.startswith("https://"):
        return FetchedKeySet(place)
    if place.startswith("http://"):
        raise ConfigError(["gateway.jwt_keys: keys fetched without TLS can be forged; use https://, or a file"])
    return KeySetFile(Path(place))


def find_key(keys: Sequence[Key], kid: str | None, algorithm: str) -> Key | None:
    """Return the key of this name; without a name, the only key for the algorithm; None if there is no such key."""
    fitting = [key for key in keys if key.algorithm == algorithm and kid in {None, key.kid}]
    return fitting[0] if fitting and (kid is not None or len(fitting) == 1) else None


def read_set(content: bytes) -> tuple[Key, ...]:
    """Return the usable keys of a JSON Web Key Set. Raises `ValueError` if it has none, or is not a set."""
    try:
        rows = msgspec.json.decode(content.removeprefix(BOM_UTF8), type=dict[str, Any]).get("keys")
    except NOT_JSON:
        rows = None
    if not isinstance(rows, list):
        raise ValueError('is not a JSON Web Key Set: {"keys": [...]}')  # noqa: TRY004 -- an error in the file, not in the program
    keys = tuple(key for row in rows if isinstance(row, dict) and (key := _key(row)))
    if not keys:
        raise ValueError(f"has no public key for {', '.join(_KINDS.values())}")
    return keys


def _key(row: dict[str, Any]) -> Key | None:
    kid = row.get("kid")
    algorithm = _algorithm(row)
    if algorithm is None or not isinstance(kid, str | None):
        return None
    try:
        material = PyJWK({name: row[name] for name in _PUBLIC if name in row}, algorithm).key
    except (PyJWTError, ValueError, TypeError):
        log.warning("gateway.jwt_keys: skipping a key for %s that can't be read", algorithm)
        return None
    return Key(algorithm, material, kid)


def _algorithm(row: dict[str, Any]) -> str | None:
    """Return the signature algorithm that the key is for; None if it is for another purpose or an unknown algorithm."""
    kind = row.get("kty"), row.get("crv")
    algorithm = _KINDS.get(kind) if all(isinstance(part, str | None) for part in kind) else None
    uses = row.get("key_ops", ["verify"])
    fits = row.get("use", "sig") == "sig" and row.get("alg", algorithm) == algorithm
    return algorithm if fits and isinstance(uses, list) and "verify" in uses else None
