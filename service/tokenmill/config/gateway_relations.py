"""The constraints between the settings of the gateway."""

import re
from collections.abc import Iterator
from ipaddress import ip_address

from tokenmill.config.base import Contradiction, wrong, wrong_pair
from tokenmill.config.gateway import Gateway
from tokenmill.config.sections import Config
from tokenmill.dialects import DIALECTS

ORIGIN = re.compile(r"https?://[^/\s?#]+")
"""Form of the header `Origin`: no path, not even a slash."""

CREDENTIALS = re.compile(r"https?://[^/?#]*@", re.IGNORECASE)
"""Beginning of a URL with credentials. The error does not show them, because many people may read it."""

SECRET_BYTES = 32
"""Minimum length of a secret for HMAC-SHA256 (RFC 7518, 3.2)."""

_NEEDS = {"keys": ("keys_file",), "jwt": ("jwt_audience",), "function": ("function",)}
"""Keys that each kind of `auth` needs."""

_READ = {
    "keys": ("keys_file",),
    "jwt": ("jwt_keys", "jwt_secret", "jwt_audience", "jwt_issuer", "jwt_conversations", "jwt_actions"),
    "function": ("function",),
}
"""Keys that only this kind of `auth` reads. With another kind they are refused: whoever sets one believes that it
guards something."""


def gateway_contradictions(config: Config) -> Iterator[Contradiction]:
    """Every constraint of the section that does not hold."""
    gateway = config.gateway
    yield from _listening(gateway)
    yield from _auth(gateway)
    yield from open_to_all(gateway, "inspect.bind", config.inspect.bind, "read every conversation")
    for number, origin in enumerate(gateway.origins):
        if origin != "*" and not ORIGIN.fullmatch(origin):
            yield wrong(
                "gateway.origins", f"{origin!r} (number {number + 1}) is not an origin: https://host[:port], or *"
            )
    for name in gateway.dialects:
        if DIALECTS.find(name) is None:
            yield wrong("gateway.dialects", f"unknown dialect {name!r}; {DIALECTS.instead_of(name)}")


def _listening(gateway: Gateway) -> Iterator[Contradiction]:
    yield from open_to_all(gateway, "gateway.bind", gateway.bind, "read and stop every conversation")
    if gateway.port and gateway.port == gateway.ops_port:
        yield wrong_pair("gateway.ops_port", "gateway.port", "must differ from {}")
    if bool(gateway.tls_certfile) != bool(gateway.tls_keyfile):
        yield wrong("gateway.tls_certfile", "must be set together with tls_keyfile", "gateway.tls_keyfile")


def open_to_all(gateway: Gateway, key: str, bind: str, danger: str) -> Iterator[Contradiction]:
    """Refuse an address that others can reach, where clients do not have to prove who they are."""
    if gateway.auth == "none" and not is_loopback(bind):
        why = f"{bind} can be reached from elsewhere, and gateway.auth is none: everybody could {danger}"
        yield wrong(key, f"{why}; set gateway.auth, or bind to 127.0.0.1", "gateway.auth")


def is_loopback(bind: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return ip_address(bind).is_loopback
    except ValueError:
        return bind == "localhost"


def _auth(gateway: Gateway) -> Iterator[Contradiction]:
    for name in _NEEDS.get(gateway.auth, ()):
        if not getattr(gateway, name):
            yield wrong(f"gateway.{name}", f"is needed where gateway.auth is {gateway.auth}")
    for auth, names in _READ.items():
        for name in names:
            if auth != gateway.auth and getattr(gateway, name) != getattr(Gateway(), name):
                sentence = f"has no effect where gateway.auth is {gateway.auth}; it is for {auth}"
                yield wrong(f"gateway.{name}", sentence, "gateway.auth")
    if gateway.auth == "jwt" and bool(gateway.jwt_keys) == bool(gateway.jwt_secret):
        yield wrong("gateway.jwt_keys", "one of jwt_keys and jwt_secret is needed where gateway.auth is jwt, not both")
    if CREDENTIALS.match(gateway.jwt_keys):
        yield wrong("gateway.jwt_keys", "must be an address without user and password; such keys are public")
    for name in ("jwt_secret", "ticket_secret"):
        if 0 < len(getattr(gateway, name).encode()) < SECRET_BYTES:
            yield wrong(
                f"gateway.{name}", f"is shorter than {SECRET_BYTES} bytes; `openssl rand -hex 32` generates one"
            )
