"""The gateway's own TLS, for installations without a proxy in front that terminates it.

Certificates are renewed while the gateway runs. Each new connection gets the newest one that can be used; what is
wrong with a newer one is in the log.
"""

import ssl
import time
from collections.abc import Callable
from pathlib import Path

from tokenmill.config import Gateway
from tokenmill.errors import ConfigError
from tokenmill.gateway.auth.reloading_file import ReloadingFile


def server_context(gateway: Gateway, now: Callable[[], float] = time.monotonic) -> ssl.SSLContext | None:
    """Return the server's context, for TLS 1.2 or later; None without a certificate. Raises `ConfigError`."""
    if not gateway.tls_certfile:
        return None
    problems = [problem for name in ("tls_certfile", "tls_keyfile") for problem in _unreadable(gateway, name)]
    if problems:
        raise ConfigError(problems)
    path, key = Path(gateway.tls_certfile), Path(gateway.tls_keyfile)
    newest = ReloadingFile(path, "gateway.tls_certfile", lambda _: _context(gateway), now, key)

    def use_newest(connection: ssl.SSLObject, _name: str | None, _first: ssl.SSLContext) -> None:
        connection.context = newest.value()

    context = newest.value()
    context.sni_callback = use_newest  # called for every handshake, with or without a name
    return context


def _context(gateway: Gateway) -> ssl.SSLContext:
    """Return a context with the files as they are now. Raises `OSError`, and `ValueError` if they are not usable."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        # An empty password is a wrong one: without it OpenSSL would ask at the terminal.
        context.load_cert_chain(gateway.tls_certfile, gateway.tls_keyfile, password="")
    except ssl.SSLError as problem:
        raise ValueError(_sentence(problem)) from problem
    return context


def _unreadable(gateway: Gateway, name: str) -> list[str]:
    file = getattr(gateway, name)
    try:
        with Path(file).open("rb"):
            return []
    except (OSError, ValueError) as problem:
        return [f"gateway.{name}: {file} can't be read: {getattr(problem, 'strerror', None) or problem}"]


def _sentence(problem: ssl.SSLError) -> str:
    """Say what is wrong with the file of the certificate."""
    if problem.reason == "KEY_VALUES_MISMATCH":
        return "is not the certificate of the key in gateway.tls_keyfile"
    return (
        f"is no certificate chain (PEM), or the key in gateway.tls_keyfile is missing or has a password: "
        f"{problem.reason or problem}"
    )
