"""What tests ask of the API server: to take objects, to try some out, to tell which are there."""

import json
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.apiserver.servers import TOKEN, ApiServer
from tests.chart.rendering import Object
from tests.chart.tools import RUN_S
from tests.support.deployment import tool

CREATED = 201
FOUND = 200

ESTABLISH_S = 60
"""Until the server serves a kind that it was just told of; it takes a second or two."""

LOOK_S = 0.1

RESTRICTED = {
    "pod-security.kubernetes.io/enforce": "restricted",
    "pod-security.kubernetes.io/enforce-version": "latest",
}


class Cluster:
    """An API server with the custom resources of the chart."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._paths = cache(self._find_path)

    def define(self, folder: Path) -> None:
        """Make the custom resources of a folder known, and wait until they are."""
        for path in sorted(folder.glob("*.yaml")):
            definition = yaml.safe_load(path.read_text())
            self.create(definition)
            self._wait_for(definition)

    def _wait_for(self, definition: Object) -> None:
        spec = definition["spec"]
        served = [version["name"] for version in spec["versions"] if version["served"]]
        deadline = time.monotonic() + ESTABLISH_S
        while time.monotonic() < deadline:
            if all(self._server.ask("GET", f"/apis/{spec['group']}/{name}")[0] == FOUND for name in served):
                return
            time.sleep(LOOK_S)
        raise AssertionError(f"not served within {ESTABLISH_S} s: {spec['names']['kind']}")

    def namespace(self, name: str) -> str:
        """A new namespace in which pods must be restricted."""
        self.create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": RESTRICTED}},
        )
        return name

    def create(self, found: Object, namespace: str = "") -> None:
        """Make an object."""
        status, text = self._server.ask("POST", self._path(found, namespace), found)
        assert status == CREATED, f"{found['kind']} {found['metadata']['name']}: {text}"

    def refusal(self, found: Object, namespace: str = "") -> str:
        """What is wrong with an object, unknown fields included, in the server's words; empty if it would take it."""
        path = f"{self._path(found, namespace)}?dryRun=All&fieldValidation=Strict"
        status, text = self._server.ask("POST", path, found)
        return "" if status == CREATED else str(json.loads(text)["message"])

    def read(self, found: Object, namespace: str) -> Object | None:
        """An object as the server has it, found by kind and name; None if it has none."""
        status, text = self._server.ask("GET", f"{self._path(found, namespace)}/{found['metadata']['name']}")
        return dict(json.loads(text)) if status == FOUND else None

    def _path(self, found: Object, namespace: str) -> str:
        return str(self._paths(found["apiVersion"], found["kind"])).replace("<namespace>", namespace)

    def _find_path(self, version: str, kind: str) -> str:
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        status, text = self._server.ask("GET", root)
        assert status == FOUND, f"{version} is not served: {text}"
        resource = next(r for r in json.loads(text)["resources"] if r["kind"] == kind and "/" not in r["name"])
        return (
            f"{root}/namespaces/<namespace>/{resource['name']}"
            if resource["namespaced"]
            else f"{root}/{resource['name']}"
        )

    def helm(self, *words: str | Path, text: str | None = None) -> str:
        """What Helm prints, which asks this server. Fails the test if it fails."""
        server = ["--kube-apiserver", self._server.url, "--kube-token", TOKEN]
        command: list[Any] = [tool("go-program", "helm"), *words, *server, "--kube-ca-file", self._server.certificate]
        run = subprocess.run(command, input=text, capture_output=True, text=True, timeout=RUN_S, check=False)
        assert run.returncode == 0, run.stderr
        return run.stdout
