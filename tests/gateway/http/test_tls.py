"""TLS of the gateway's own."""

import asyncio
import shutil
import ssl
import subprocess
from itertools import count
from pathlib import Path

import pytest

from tests.support.certificates import Identity, make_identity
from tokenmill.config import Gateway
from tokenmill.errors import ConfigError
from tokenmill.gateway.http.tls import server_context


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    return make_identity(tmp_path_factory.mktemp("identity"))


def settings(certificate: Path, key: Path) -> Gateway:
    return Gateway(tls_certfile=str(certificate), tls_keyfile=str(key))


async def handshake(server: ssl.SSLContext, client: ssl.SSLContext) -> str | None:
    """The version that both speak."""
    listening = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=server)
    async with listening:
        reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname(), ssl=client)
        spoken = writer.get_extra_info("ssl_object").version()
        await reader.read()
        writer.close()
        await writer.wait_closed()
    return str(spoken)


def test_without_a_certificate_there_is_no_tls() -> None:
    """A proxy in front ends it."""
    assert server_context(Gateway()) is None


async def test_clients_that_trust_the_certificate_are_served(identity: Identity) -> None:
    """With the newest version that both know."""
    server = server_context(settings(identity.certificate, identity.both))
    assert server is not None
    client = ssl.create_default_context(cafile=str(identity.certificate))
    assert await handshake(server, client) == "TLSv1.3"


def test_old_versions_are_not_spoken(identity: Identity) -> None:
    """TLS 1.1 and what was before have known holes."""
    server = server_context(settings(identity.certificate, identity.both))
    assert server is not None
    assert server.minimum_version >= ssl.TLSVersion.TLSv1_2


async def test_new_connections_get_a_renewed_certificate(
    identity: Identity, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Once its key is there, too; until then the previous one is used, and the log says why."""
    clock, files = count(0.0, 2.0), settings(tmp_path / "tls.crt", tmp_path / "tls.key")
    certificate, key = Path(files.tls_certfile), Path(files.tls_keyfile)
    shutil.copy(identity.certificate, certificate)
    shutil.copy(identity.both, key)
    server = server_context(files, lambda: next(clock))
    assert server is not None
    other = make_identity(tmp_path / "other")
    before, after = (ssl.create_default_context(cafile=str(each.certificate)) for each in (identity, other))
    shutil.copy(other.certificate, certificate)
    assert await handshake(server, before) == "TLSv1.3"
    assert "the previous content stays in use, because" in caplog.text
    shutil.copy(other.both, key)
    assert await handshake(server, after) == "TLSv1.3"
    with pytest.raises(ssl.SSLCertVerificationError):
        await handshake(server, before)


def test_a_file_that_is_not_there_is_named(identity: Identity, tmp_path: Path) -> None:
    """Both, if both are missing."""
    with pytest.raises(ConfigError) as wrong:
        server_context(settings(tmp_path / "no-certificate", tmp_path / "no-key"))
    assert len(wrong.value.problems) == 2
    with pytest.raises(ConfigError, match=r"gateway.tls_keyfile: .*no-key can't be read: No such file"):
        server_context(settings(identity.certificate, tmp_path / "no-key"))


def test_a_file_that_is_no_certificate_is_refused(identity: Identity, tmp_path: Path) -> None:
    """With a sentence, and what OpenSSL calls it."""
    (tmp_path / "text").write_text("no certificate")
    with pytest.raises(ConfigError, match=r"gateway.tls_certfile: .*text is no certificate chain \(PEM\)"):
        server_context(settings(tmp_path / "text", identity.both))


def test_the_key_of_another_certificate_is_refused(identity: Identity, tmp_path: Path) -> None:
    """The commonest mistake when certificates are renewed."""
    other = make_identity(tmp_path)
    with pytest.raises(ConfigError, match=r"certificate.pem is not the certificate of the key in gateway.tls_keyfile"):
        server_context(settings(identity.certificate, other.both))


def test_a_key_with_a_password_is_refused_and_nobody_is_asked_for_it(identity: Identity, tmp_path: Path) -> None:
    """OpenSSL would ask at the terminal, and a pod would wait for ever."""
    locked = tmp_path / "locked.pem"
    command = ["openssl", "pkcs8", "-topk8", "-in", str(identity.both), "-out", str(locked), "-passout", "pass:secret"]
    subprocess.run(command, check=True, capture_output=True, timeout=30)
    with pytest.raises(ConfigError, match="has a password"):
        server_context(settings(identity.certificate, locked))
