"""A real API server of Kubernetes, and the etcd behind it: nothing runs what it is told, but it takes or refuses it."""

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from tests.support.certificates import make_identity
from tests.support.deployment import tool
from tokenmill.servers.process import Server, free_port

TOKEN = "open-sesame"

ANSWER_S = 30
"""Of the API server: nothing takes it as long."""


class EtcdServer(Server):
    """Where the API server keeps its objects."""

    name = "etcd"

    @property
    def url(self) -> str:
        """What the API server connects to."""
        return f"http://127.0.0.1:{self.port}"

    def command(self) -> Sequence[str]:
        peers = f"http://127.0.0.1:{free_port()}"
        return [
            str(tool("debian-program", "etcd")),
            f"--data-dir={self.folder / 'data'}",
            f"--listen-client-urls={self.url}",
            f"--advertise-client-urls={self.url}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
            "--unsafe-no-fsync",
        ]

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=1) as answer:
                return bool(json.load(answer)["health"] == "true")
        except OSError:
            return False


class ApiServer(Server):
    """The API server, with the restricted pod security that namespaces ask for."""

    name = "kube-apiserver"
    start_s = 120.0

    def __init__(self, folder: Path, etcd: EtcdServer) -> None:
        super().__init__(folder)
        self._etcd = etcd
        self.certificate = make_identity(folder / "identity").certificate
        self._tls = ssl.create_default_context(cafile=str(self.certificate))

    @property
    def url(self) -> str:
        """What clients connect to."""
        return f"https://127.0.0.1:{self.port}"

    def command(self) -> Sequence[str]:
        key = self.certificate.with_name("key.pem")
        logins = self.folder / "logins.csv"
        logins.write_text(f"{TOKEN},admin,1,system:masters\n")
        return [
            str(tool("kube-apiserver")),
            f"--etcd-servers={self._etcd.url}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--tls-cert-file={self.certificate}",
            f"--tls-private-key-file={key}",
            "--service-account-issuer=https://127.0.0.1",
            f"--service-account-signing-key-file={key}",
            f"--service-account-key-file={self.certificate}",
            "--service-cluster-ip-range=10.0.0.0/24",
            f"--token-auth-file={logins}",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount",  # its objects are made by a controller that is not there
            "--enable-admission-plugins=PodSecurity",
        ]

    def ready(self) -> bool:
        try:
            return self.ask("GET", "/readyz")[0] == 200
        except OSError:
            return False

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, str]:
        """Status and text of an answer."""
        request = urllib.request.Request(  # noqa: S310 -- the server is ours
            f"{self.url}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_S, context=self._tls) as answer:  # noqa: S310 -- as above
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read().decode()
