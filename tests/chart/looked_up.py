"""What a chart sees of a cluster that it looks things up in: an API server that knows how many pods there are."""

import http.server
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from tests.chart.rendering import CHART, NAMESPACE, RELEASE, Object, Values, documents, nested
from tests.chart.tools import run

APPS = "/apis/apps/v1"

KINDS = {"statefulsets": "StatefulSet", "deployments": "Deployment"}


def _answers(replicas: Mapping[str, int]) -> dict[str, Any]:
    """Path → what is there: the version, the kinds that there are, and the objects."""
    found: dict[str, Any] = {
        "/version": {"major": "1", "minor": "32", "gitVersion": "v1.32.0"},
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
        APPS: {
            "kind": "APIResourceList",
            "groupVersion": "apps/v1",
            "resources": [
                {"name": name, "singularName": "", "namespaced": True, "kind": kind, "verbs": ["get"]}
                for name, kind in KINDS.items()
            ],
        },
    }
    for path, count in replicas.items():
        what, name = path.split("/")
        found[f"{APPS}/namespaces/{NAMESPACE}/{path}"] = {
            "apiVersion": "apps/v1",
            "kind": KINDS[what],
            "metadata": {"name": name},
            "spec": {"replicas": count},
        }
    return found


@contextmanager
def api_server(replicas: Mapping[str, int]) -> Iterator[str]:
    """The address of one that has these objects, such as `deployments/mill-tokenmill-front`, each with so many pods."""
    answers = _answers(replicas)

    class Answers(http.server.BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            found = answers.get(self.path.partition("?")[0])
            body = json.dumps(
                found or {"kind": "Status", "apiVersion": "v1", "reason": "NotFound", "code": 404}
            ).encode()
            self.send_response(200 if found else 404)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- so it is called where it comes from
            """Nothing: the test says what is wrong."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def render_in(address: str, values: Values) -> list[Object]:
    """The objects of a release, as `helm upgrade` makes them in the cluster at this address."""
    where = ("--namespace", NAMESPACE, "--dry-run=server", f"--kube-apiserver={address}")
    made = run(
        "helm", "template", RELEASE, CHART, *where, "--values=-", text=msgspec.json.encode(nested(values)).decode()
    )
    assert made.returncode == 0, made.stderr
    return documents(made.stdout)
