"""Keys that tokens are signed with."""

import asyncio
from codecs import BOM_UTF8
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.certificates import make_identity
from tests.support.clock import Clock
from tests.support.issuer import ALGORITHMS, Issuer, issuer, key_set, public
from tokenmill.errors import ConfigError
from tokenmill.gateway.auth.jwks import (
    AGAIN_S,
    FIRST_AGAIN_S,
    LONGEST_S,
    OLD_S,
    SET_BYTES,
    FetchedKeySet,
    KeySetFile,
    SharedSecret,
    find_key,
    key_source,
    read_set,
)
from tokenmill.gateway.auth.reloading_file import LOOK_S
from tokenmill.gateway.problems import Refused


@pytest.fixture
async def issuing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Issuer]:
    identity = make_identity(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(identity.certificate))
    async with issuer(identity) as running:
        yield running


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def fetched(issuing: Issuer, clock: Clock) -> FetchedKeySet:
    return FetchedKeySet(issuing.url, clock)


async def settled(source: FetchedKeySet) -> None:
    """Wait for what runs in the background."""
    if source._fetch is not None:
        await source._fetch


def test_the_kind_of_a_key_says_what_it_is_for() -> None:
    """Whatever a token says of itself."""
    keys = read_set(key_set(public(algorithm, "1") for algorithm in ALGORITHMS))
    assert [key.algorithm for key in keys] == list(ALGORITHMS)


def test_a_mark_of_byte_order_is_passed_over() -> None:
    """Some editors write one."""
    assert len(read_set(BOM_UTF8 + key_set([public("ES256")]))) == 1


@pytest.mark.parametrize(
    "row",
    [
        public("ES256", use="enc"),
        public("ES256", alg="ES384"),
        public("ES256", alg="HS256"),
        public("ES256", key_ops=["encrypt"]),
        public("ES256", key_ops="verify"),
        public("ES384"),
        public("ES256") | {"crv": ["P-256"]},
        public("ES256") | {"kid": 3},
        public("ES256") | {"x": "AAAA"},
        public("EdDSA") | {"x": 7},
        {"kty": "RSA"},
        {"kty": "oct", "k": "c2VjcmV0", "kid": "1"},
        {"kty": "oct", "k": "c2VjcmV0", "alg": "RS256"},
        {},
    ],
)
def test_keys_that_are_for_something_else_are_passed_over(row: dict[str, Any]) -> None:
    """A secret in a set that anybody can fetch above all."""
    with pytest.raises(ValueError, match="no public key for"):
        read_set(key_set([row]))
    assert len(read_set(key_set([row, public("ES256")]))) == 1


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"keys": 3}', b"\xff", b"[" * 100_000, b'{"keys":' + b"[" * 100_000, b"<html>"]
)
def test_what_is_no_set_is_refused(content: bytes) -> None:
    """The page of a proxy, for one."""
    with pytest.raises(ValueError, match="is not a JSON Web Key Set"):
        read_set(content)


def test_a_key_is_found_by_its_name() -> None:
    """A token that names none is only taken where there is no choice."""
    keys = read_set(key_set([public("ES256", "1"), public("ES256", "2"), public("EdDSA", "1")]))
    assert find_key(keys, "2", "ES256") == keys[1]
    assert find_key(keys, "2", "EdDSA") is None
    assert find_key(keys, "1", "HS256") is None
    assert find_key(keys, None, "ES256") is None
    assert find_key(keys, None, "EdDSA") == keys[2]


async def test_a_secret_is_for_one_algorithm() -> None:
    """Names of keys do not matter: there is one."""
    secret = SharedSecret("a secret that is long enough for it")
    assert await secret.find("any", "HS256") == await secret.find(None, "HS256")
    assert [await secret.find(None, algorithm) for algorithm in ("none", "RS256", "HS512", "")] == [None] * 4
    await secret.prepare()


async def test_a_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    """So a new key needs no restart."""
    file = tmp_path / "keys.json"
    file.write_bytes(key_set([public("ES256", "1")]))
    source = key_source(str(file))
    assert isinstance(source, KeySetFile)
    assert await source.find("2", "ES256") is None
    file.write_bytes(key_set([public("ES256", "2")]))
    source._file._next_look -= LOOK_S
    assert await source.find("2", "ES256") is not None
    assert await source.find("1", "ES256") is None


def test_keys_come_from_a_file_that_is_in_order_or_over_tls(tmp_path: Path) -> None:
    """The file is read at start; an address is not asked yet, for issuers may be down."""
    with pytest.raises(ConfigError, match=r"gateway.jwt_keys: .*can't be read"):
        key_source(str(tmp_path / "keys.json"))
    with pytest.raises(ConfigError, match="use https://"):
        key_source("http://issuer/keys")
    assert isinstance(key_source("https://issuer/keys"), FetchedKeySet)


async def test_a_set_is_fetched_once_for_all_who_wait(fetched: FetchedKeySet, issuing: Issuer) -> None:
    """However many come at once, also when one of them goes away meanwhile."""
    waiting = [asyncio.create_task(fetched.find("1", "ES256")) for _ in range(50)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    found = await asyncio.gather(*waiting[1:])
    assert all(found)
    assert issuing.asked == 1


async def test_a_key_that_is_not_known_is_looked_up_again_now_and_then(
    fetched: FetchedKeySet, issuing: Issuer, clock: Clock
) -> None:
    """A new key of the issuer's is found; names that are made up do not reach the issuer."""
    await fetched.prepare()
    issuing.content = key_set([public("ES256", "1"), public("ES256", "2")])
    for _ in range(10):
        assert await fetched.find("2", "ES256") is None
    assert issuing.asked == 1
    clock.now += AGAIN_S
    assert await fetched.find("2", "ES256") is not None
    assert issuing.asked == 2


@pytest.mark.parametrize("failure", ["status", "content", "long", "redirect", "gone"])
async def test_what_was_fetched_before_counts_while_fetching_fails(
    fetched: FetchedKeySet, issuing: Issuer, clock: Clock, failure: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The issuer's trouble is not that of those who hold a token."""
    await fetched.prepare()
    if failure == "status":
        issuing.status = 503
    elif failure == "content":
        issuing.content = b"<html>"
    elif failure == "long":
        issuing.content += b" " * SET_BYTES
    elif failure == "redirect":
        issuing.status, issuing.headers = 302, {"location": issuing.url}
    else:
        fetched._url = "https://127.0.0.1:1/keys"
    clock.now += AGAIN_S
    assert await fetched.find("2", "ES256") is None
    assert await fetched.find("1", "ES256") is not None
    assert "gateway.jwt_keys: the keys could not be renewed" in caplog.text


async def test_an_old_set_is_fetched_again_behind_the_scenes(
    fetched: FetchedKeySet, issuing: Issuer, clock: Clock
) -> None:
    """Nobody waits for it; a key that the issuer withdrew counts no longer."""
    await fetched.prepare()
    issuing.content = key_set([public("ES256", "2")])
    clock.now += OLD_S - 1
    assert await fetched.find("1", "ES256") is not None
    await settled(fetched)
    assert issuing.asked == 1
    clock.now += 1
    assert await fetched.find("1", "ES256") is not None
    await settled(fetched)
    assert issuing.asked == 2
    assert await fetched.find("1", "ES256") is None


async def test_a_set_that_is_not_renewed_counts_for_an_hour(
    fetched: FetchedKeySet, issuing: Issuer, clock: Clock
) -> None:
    """A withdrawn key would count for as long as somebody keeps us from its issuer. A gateway without clients for so
    long asks first.
    """
    await fetched.prepare()
    issuing.status = 503
    clock.now += LONGEST_S - 1
    assert await fetched.find("1", "ES256") is not None
    await settled(fetched)
    clock.now += AGAIN_S
    with pytest.raises(Refused) as refused:
        await fetched.find("1", "ES256")
    assert refused.value.kind.status == 503
    issuing.status = 200
    clock.now += FIRST_AGAIN_S
    assert await fetched.find("1", "ES256") is not None
    issuing.content = key_set([public("ES256", "2")])
    clock.now += LONGEST_S
    assert await fetched.find("1", "ES256") is None


async def test_without_any_set_nobody_is_sent_away_for_good(
    fetched: FetchedKeySet, issuing: Issuer, clock: Clock
) -> None:
    """A 401 would make clients throw good tokens away. The next try comes soon, but not with every request."""
    issuing.status = 500
    for _ in range(3):
        with pytest.raises(Refused) as refused:
            await fetched.find("1", "ES256")
        assert refused.value.kind.status == 503
        assert "retry-after" in refused.value.headers
    assert issuing.asked == 1
    issuing.status = 200
    clock.now += FIRST_AGAIN_S
    assert await fetched.find("1", "ES256") is not None


async def test_an_issuer_whose_certificate_is_not_trusted_is_not_believed(
    issuing: Issuer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Keys of somebody between would let in whom they like."""
    monkeypatch.setenv("SSL_CERT_FILE", str(make_identity(tmp_path / "other").certificate))
    fetched = FetchedKeySet(issuing.url)
    with pytest.raises(Refused):
        await fetched.find("1", "ES256")
    assert issuing.asked == 0
