"""Rights by signed tokens."""

import base64
import hashlib
import hmac
import time
from pathlib import Path
from typing import Any

import jwt
import msgspec
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from tests.support.issuer import ALGORITHMS, key_set, private, public, signed
from tokenmill.config import Gateway
from tokenmill.gateway.auth.grant import Action, Credentials, Grant
from tokenmill.gateway.auth.jwt_tokens import LEEWAY_S, JwtAuthorizer
from tokenmill.gateway.problems import Refused

SECRET = "a secret that is shared with the issuer"
SETTINGS = Gateway(auth="jwt", jwt_audience="tokenmill", jwt_secret=SECRET)
DAY_S = 86_400


def claims(**more: Any) -> dict[str, Any]:
    ends = int(time.time()) + 60
    standard = {"sub": "ada", "aud": "tokenmill", "exp": ends, "conversations": ["ada-*"], "actions": ["read", "stop"]}
    return {name: value for name, value in (standard | more).items() if value is not None}


def shared(**more: Any) -> str:
    return jwt.encode(claims(**more), SECRET, algorithm="HS256")


def joined(header: dict[str, Any], payload: dict[str, Any], key: bytes | None = None) -> str:
    """A token made by hand, since no library makes these."""
    text = b".".join(base64.urlsafe_b64encode(msgspec.json.encode(part)).rstrip(b"=") for part in (header, payload))
    signature = b"" if key is None else hmac.digest(key, text, hashlib.sha256)
    return f"{text.decode()}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


@pytest.fixture
def by_secret() -> JwtAuthorizer:
    return JwtAuthorizer(SETTINGS)


@pytest.fixture
def by_set(tmp_path: Path) -> JwtAuthorizer:
    file = tmp_path / "keys.json"
    file.write_bytes(key_set([public(algorithm) for algorithm in ALGORITHMS]))
    return JwtAuthorizer(msgspec.structs.replace(SETTINGS, jwt_secret="", jwt_keys=str(file)))


async def granted(tokens: JwtAuthorizer, token: str) -> Grant:
    return await tokens.grant(Credentials({"authorization": f"Bearer {token}"}))


async def refusal(tokens: JwtAuthorizer, token: str) -> Refused:
    with pytest.raises(Refused) as refused:
        await granted(tokens, token)
    assert refused.value.kind.status == 401
    assert not token or token not in refused.value.body().decode()
    return refused.value


@pytest.mark.parametrize("algorithm", ["HS256", *ALGORITHMS])
async def test_a_token_opens_what_its_claims_say(
    by_secret: JwtAuthorizer, by_set: JwtAuthorizer, algorithm: str
) -> None:
    """Until it expires, and by as much longer as clocks may differ."""
    mine = claims()
    token = shared() if algorithm == "HS256" else signed(mine, algorithm)
    grant = await granted(by_secret if algorithm == "HS256" else by_set, token)
    assert (grant.name, grant.conversations, grant.actions) == ("ada", ("ada-*",), frozenset({"read", "stop"}))
    assert grant.expires == pytest.approx(mine["exp"] + LEEWAY_S, abs=2)
    assert by_set.holds(grant)


@pytest.mark.parametrize(
    ("claim", "wrong", "reason", "sentence"),
    [
        ("exp", -LEEWAY_S - 1, "expired", "has expired"),
        ("nbf", LEEWAY_S + 10, "wrong", "not valid yet"),
        ("exp", None, "wrong", "lacks a required claim"),
        ("aud", None, "wrong", "lacks a required claim"),
        ("aud", "another", "wrong", "for another audience"),
        ("aud", ["another"], "wrong", "for another audience"),
        ("exp", "soon", "wrong", "not valid"),
        ("sub", 3, "wrong", "not valid"),
    ],
)
async def test_a_token_has_to_say_what_is_asked_for(
    by_secret: JwtAuthorizer, claim: str, wrong: Any, reason: str, sentence: str
) -> None:
    """And is told what it lacks, since it is signed."""
    value = int(time.time()) + wrong if isinstance(wrong, int) and claim != "sub" else wrong
    try:
        token = shared(**{claim: value})
    except TypeError:
        token = joined({"alg": "HS256", "typ": "JWT"}, claims(**{claim: value}), SECRET.encode())
    refused = await refusal(by_secret, token)
    assert sentence in refused.detail
    assert refused.members == {"reason": reason}


async def test_clocks_may_differ_a_little(by_secret: JwtAuthorizer) -> None:
    """The grant is not over before it began."""
    grant = await granted(by_secret, shared(exp=int(time.time()) - LEEWAY_S + 5))
    assert grant.expires is not None
    assert grant.expires > time.time()
    assert (await granted(by_secret, shared(nbf=int(time.time()) + LEEWAY_S - 5))).name == "ada"


async def test_the_issuer_has_to_be_the_one_that_is_named(by_secret: JwtAuthorizer) -> None:
    """If the settings name one; else it may be anybody with the secret."""
    strict = JwtAuthorizer(msgspec.structs.replace(SETTINGS, jwt_issuer="https://issuer"))
    assert (await granted(strict, shared(iss="https://issuer"))).name == "ada"
    assert (await granted(by_secret, shared(iss="https://issuer"))).name == "ada"
    assert "from another issuer" in (await refusal(strict, shared(iss="https://other"))).detail
    assert "lacks a required claim" in (await refusal(strict, shared())).detail


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "", None, 3, ["HS256"]])
async def test_a_token_can_not_do_without_a_signature(
    by_secret: JwtAuthorizer, by_set: JwtAuthorizer, algorithm: Any
) -> None:
    """The oldest hole of all."""
    for key in (None, b"", SECRET.encode()):
        token = joined({"alg": algorithm, "typ": "JWT", "kid": "1"}, claims(), key)
        await refusal(by_secret, token)
        await refusal(by_set, token)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
async def test_a_public_key_is_no_secret(by_set: JwtAuthorizer, algorithm: str) -> None:
    """A client that has fetched the set could sign with it otherwise, in any form that it has."""
    key = private(algorithm).public_key()
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    row = msgspec.json.encode(public(algorithm))
    for secret in (pem, der, row, pem.strip()):
        for name in ("HS256", "HS384", algorithm):
            await refusal(by_set, joined({"alg": name, "typ": "JWT", "kid": "1"}, claims(), secret))


async def test_a_key_is_for_its_own_algorithm_alone(by_secret: JwtAuthorizer, by_set: JwtAuthorizer) -> None:
    """Neither another of the same family, nor that of another key with the same name."""
    await refusal(by_secret, jwt.encode(claims(), SECRET * 2, algorithm="HS512"))
    await refusal(by_set, jwt.encode(claims(), private("RS256"), algorithm="RS512", headers={"kid": "1"}))
    await refusal(by_set, jwt.encode(claims(), private("RS256"), algorithm="PS256", headers={"kid": "1"}))
    header, payload, signature = signed(claims(), "ES256").split(".")
    other = signed(claims(), "EdDSA").split(".")[0]
    await refusal(by_set, f"{other}.{payload}.{signature}")
    await refusal(by_set, f"{header}.{other}.{signature}")


async def test_a_key_that_the_token_brings_along_is_not_looked_at(by_set: JwtAuthorizer) -> None:
    """`jwk`, `jku` and `x5u` are how a forger would name a key of their own."""
    mine = public("ES256", "forged")
    for header in ({"jwk": mine}, {"jku": "https://127.0.0.1:1/keys"}, {"x5u": "https://127.0.0.1:1/keys"}):
        token = jwt.encode(claims(), private("ES256", "forged"), algorithm="ES256", headers={"kid": "1", **header})
        await refusal(by_set, token)


async def test_a_weak_key_is_not_believed(tmp_path: Path) -> None:
    """RSA with 1,024 bits has been broken."""
    file = tmp_path / "keys.json"
    file.write_bytes(key_set([public("RS256", "weak")]))
    tokens = JwtAuthorizer(msgspec.structs.replace(SETTINGS, jwt_secret="", jwt_keys=str(file)))
    with pytest.warns(UserWarning, match="RSA"):
        token = signed(claims(), "RS256", "weak")
    await refusal(tokens, token)


@pytest.mark.parametrize(
    ("claim", "value", "conversations", "actions"),
    [
        ("actions", None, ("ada-*",), {"read"}),
        ("actions", [], ("ada-*",), set()),
        ("actions", "read stop", ("ada-*",), {"read", "stop"}),
        ("actions", ["read", "administrate"], ("ada-*",), {"read"}),
        ("actions", ["read", 3], ("ada-*",), set()),
        ("actions", {"read": True}, ("ada-*",), set()),
        ("conversations", None, (), {"read", "stop"}),
        ("conversations", "ada and *", ("ada and *",), {"read", "stop"}),
        ("conversations", {"*": True}, (), {"read", "stop"}),
        ("conversations", ["ada-*", None], (), {"read", "stop"}),
    ],
)
async def test_claims_that_are_not_understood_open_nothing(
    by_secret: JwtAuthorizer, claim: str, value: Any, conversations: tuple[str, ...], actions: set[Action]
) -> None:
    """One text is one pattern: a name with a blank and a star in it is no list of patterns."""
    grant = await granted(by_secret, shared(**{claim: value}))
    assert grant.conversations == conversations
    assert grant.actions == actions


async def test_settings_name_the_claims() -> None:
    """Issuers have names of their own."""
    tokens = JwtAuthorizer(msgspec.structs.replace(SETTINGS, jwt_conversations="https://we/chats", jwt_actions="scope"))
    grant = await granted(tokens, shared(**{"https://we/chats": ["eve-*"], "scope": "read"}))
    assert grant.conversations == ("eve-*",)
    assert grant.actions == {"read"}


async def test_tokens_without_a_subject_are_counted_one_by_one(by_secret: JwtAuthorizer) -> None:
    """A leaked one should not open all connections; the name is no part of the token."""
    token = shared(sub=None)
    name = (await granted(by_secret, token)).name
    assert name
    assert name.removeprefix("token ") not in token
    assert name != (await granted(by_secret, shared(sub=None, jti="2"))).name


async def test_a_token_that_never_ends_ends_some_time(by_secret: JwtAuthorizer) -> None:
    """A number that no clock has is none that fails."""
    grant = await granted(by_secret, shared(exp=10**400))
    assert grant.expires is not None
    assert grant.expires > time.time() + DAY_S


async def test_only_a_bearer_is_looked_at(by_secret: JwtAuthorizer) -> None:
    """A token in another header would be a key."""
    with pytest.raises(Refused) as refused:
        await by_secret.grant(Credentials({"x-api-key": shared()}))
    assert refused.value.members == {"reason": "missing"}
    await by_secret.prepare()


async def test_a_token_with_a_decoration_is_none(by_secret: JwtAuthorizer) -> None:
    """Decoders pass over characters that base64 does not have: one token could come under many names."""
    token = shared()
    for changed in (f"{token}=", f"{token}!", token.replace(".", "!.", 1), token.replace(".", "=.")):
        await refusal(by_secret, changed)


NESTED = base64.urlsafe_b64encode(b'{"alg":' + b"[" * 5_000).rstrip(b"=").decode()


@pytest.mark.parametrize("token", ["x", "..", "a.b.c", "\udcff.\udcff.\udcff", "é.é.é", f"{NESTED}.e30.", "." * 9_999])
async def test_what_is_no_token_is_refused(by_secret: JwtAuthorizer, by_set: JwtAuthorizer, token: str) -> None:
    """A 401, whatever a library makes of it."""
    await refusal(by_secret, token)
    await refusal(by_set, token)


@given(cut=st.integers(min_value=0), put=st.text(st.characters(), max_size=3))
async def test_a_token_that_was_changed_anywhere_is_refused(cut: int, put: str) -> None:
    """Only bits of the last character may differ, which base64 has no use for."""
    token = shared()
    at = cut % (len(token) - 1)
    changed = token[:at] + put + token[at + 1 :]
    if changed != token:
        await refusal(JwtAuthorizer(SETTINGS), changed)
