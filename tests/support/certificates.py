"""Certificates of a test's own, made by the `openssl` program."""

import subprocess
from pathlib import Path
from typing import NamedTuple


class Identity(NamedTuple):
    """Of a server on the loopback interface."""

    certificate: Path
    """Signed by itself, so it is the authority that clients have to trust, too."""
    both: Path
    """Key and certificate in one file."""


def make_identity(folder: Path) -> Identity:
    """A new key and a certificate for 127.0.0.1, valid for a day."""
    folder.mkdir(parents=True, exist_ok=True)
    key, certificate, both = (folder / name for name in ("key.pem", "certificate.pem", "both.pem"))
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]
    name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", *kind, *name, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, capture_output=True, check=True, timeout=30)
    both.write_text(key.read_text() + certificate.read_text())
    return Identity(certificate, both)
