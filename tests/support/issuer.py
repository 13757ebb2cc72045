"""An issuer of signed tokens: keys of each kind, and an `https` address that serves the public ones."""

import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import jwt
import msgspec
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, SECP384R1
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as ec_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as rsa_key
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from tests.support.certificates import Identity

ALGORITHMS = ("RS256", "ES256", "EdDSA")


@cache
def private(algorithm: str, kid: str = "1") -> Any:
    """The private key of that name; making one of RSA takes a while."""
    if algorithm == "EdDSA":
        return Ed25519PrivateKey.generate()
    if algorithm.startswith("ES"):
        return ec_key(SECP384R1() if algorithm == "ES384" else SECP256R1())
    return rsa_key(65_537, 1_024 if kid == "weak" else 2_048)


def public(algorithm: str, kid: str = "1", **members: Any) -> dict[str, Any]:
    """Its public part, as a JSON Web Key."""
    kinds: dict[str, Any] = {"E": ECAlgorithm, "R": RSAAlgorithm}
    kind = OKPAlgorithm if algorithm == "EdDSA" else kinds[algorithm[0]]
    row: dict[str, Any] = kind.to_jwk(private(algorithm, kid).public_key(), as_dict=True)
    row.pop("key_ops", None)
    return row | {"kid": kid} | members


def key_set(keys: Iterable[dict[str, Any]]) -> bytes:
    """A JSON Web Key Set."""
    return msgspec.json.encode({"keys": list(keys)})


def signed(claims: dict[str, Any], algorithm: str, kid: str | None = "1") -> str:
    """A token."""
    headers = {} if kid is None else {"kid": kid}
    return jwt.encode(claims, private(algorithm, kid or "1"), algorithm=algorithm, headers=headers)


class Issuer:
    """What is served, and how often it was asked for."""

    def __init__(self) -> None:
        self.content = key_set([public("ES256")])
        self.status = 200
        self.headers: dict[str, str] = {}
        self.asked = 0
        self.url = ""

    async def serve(self, _: web.Request) -> web.Response:
        self.asked += 1
        return web.Response(status=self.status, body=self.content, headers=self.headers)


@asynccontextmanager
async def issuer(identity: Identity) -> AsyncIterator[Issuer]:
    """An issuer that answers while it is open."""
    serving = Issuer()
    app = web.Application()
    app.router.add_get("/keys", serving.serve)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(identity.both)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    serving.url = f"https://127.0.0.1:{runner.addresses[0][1]}/keys"
    try:
        yield serving
    finally:
        await runner.cleanup()
