"""The gateway's own TLS, for installations without a proxy in front that terminates it."""

import ssl
from pathlib import Path

from tokenmill.config import Gateway
from tokenmill.errors import ConfigError


def server_context(gateway: Gateway) -> ssl.SSLContext | None:
    """Return the server's context, for TLS 1.2 or later; None without a certificate. Raises `ConfigError`.

    Files are read once: a renewed certificate counts after the next start.
    """
    if not gateway.tls_certfile:
        return None
    problems = [problem for name in ("tls_certfile", "tls_keyfile") for problem in _unreadable(gateway, name)]
    if problems:
        raise ConfigError(problems)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        # An empty password is a wrong one: without it OpenSSL would ask at the terminal.
        context.load_cert_chain(gateway.tls_certfile, gateway.tls_keyfile, password="")
    except ssl.SSLError as problem:
        raise ConfigError([f"gateway.tls_certfile: {_sentence(problem)}"]) from problem
    return context


def _unreadable(gateway: Gateway, name: str) -> list[str]:
    file = getattr(gateway, name)
    try:
        with Path(file).open("rb"):
            return []
    except (OSError, ValueError) as problem:
        return [f"gateway.{name}: {file} can't be read: {getattr(problem, 'strerror', None) or problem}"]


def _sentence(problem: ssl.SSLError) -> str:
    if problem.reason == "KEY_VALUES_MISMATCH":
        return "the key in gateway.tls_keyfile is not that of the certificate"
    return (
        f"no certificate chain (PEM), or the key in gateway.tls_keyfile is missing or has a password: "
        f"{problem.reason or problem}"
    )
