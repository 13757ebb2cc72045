"""A container as a rendered manifest describes it, run as a process: its command, environment, files and probes."""

import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.chart.rendering import Object, container, kind, pod_of
from tests.structure.tree import CHECKOUT, PACKAGE

Secrets = Mapping[str, Mapping[str, str]]
"""Name of a Secret, or of a ConfigMap that is not the release's → key → content."""

PROGRAMS = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


class Container:
    """The first container of an object's pod. `root` stands for the container's root folder.

    Paths below the mounts lie below `root`, in files and in variables; everything else is as the manifest says.
    """

    def __init__(self, found: Object, objects: list[Object], secrets: Secrets, root: Path) -> None:
        self.spec = container(found)
        self.pod = pod_of(found)
        self.name = f"{found['metadata']['name']}-0"
        self.log = root / "log"
        self._objects = objects
        self._secrets = secrets
        self._root = root
        self._process: subprocess.Popen[bytes] | None = None
        self._make_files()

    def _make_files(self) -> None:
        volumes = {volume["name"]: volume for volume in self.pod["spec"]["volumes"]}
        for mount in self.spec["volumeMounts"]:
            folder = self._inside(mount["mountPath"])
            folder.mkdir(parents=True)
            for source in volumes[mount["name"]].get("projected", {}).get("sources", []):
                for name, text in self._content(source).items():
                    (folder / name).parent.mkdir(exist_ok=True)
                    (folder / name).write_text(text)

    def _content(self, source: Object) -> dict[str, str]:
        """Path → text of what a part of a projected volume holds."""
        if "configMap" in source and "items" not in source["configMap"]:
            name = source["configMap"]["name"]
            (data,) = (o["data"] for o in kind("ConfigMap", self._objects) if o["metadata"]["name"] == name)
            return {path: self._moved(text) for path, text in data.items()}
        kept = source.get("secret") or source["configMap"]
        content = self._secrets[kept["name"]]
        return {item["path"]: self._moved(content[item["key"]]) for item in kept["items"]}

    def _inside(self, path: str) -> Path:
        return self._root / path.lstrip("/")

    def _moved(self, text: str) -> str:
        """A text with the paths below mounts where they are here."""
        mounts = "|".join(re.escape(mount["mountPath"]) for mount in self.spec["volumeMounts"])
        return re.sub(rf"(?<![\w/])(?:{mounts})(?=/)", lambda match: str(self._inside(match[0])), text)

    def environment(self) -> dict[str, str]:
        """Variables of the manifest, and those that an image has: where programs are."""
        temporary = str(self._inside("/tmp"))  # noqa: S108 -- the container's, below a folder of the test
        modules = f"{PACKAGE.parent}:{CHECKOUT}"  # ours, and stand-ins of the tests
        variables = {"PATH": PROGRAMS, "PYTHONPATH": modules, "TMPDIR": temporary, "HOME": "/nonexistent"}
        for entry in self.spec.get("env", []):
            variables[entry["name"]] = self._moved(self._value(entry))
        return variables

    def _value(self, entry: Object) -> str:
        if "value" in entry:
            return str(entry["value"])
        if "fieldRef" in entry["valueFrom"]:
            assert entry["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"
            return self.name
        reference = entry["valueFrom"]["secretKeyRef"]
        return self._secrets[reference["name"]][reference["key"]]

    def command(self) -> list[str]:
        """The command line; programs are those of this checkout."""
        return [str(argument) for argument in (*self.spec["command"], *self.spec["args"])]

    def run(self, seconds: float) -> tuple[int, str]:
        """Run it to its end. Answers exit code and output."""
        ended = subprocess.run(
            self.command(),
            env=self.environment(),
            cwd=self._root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
            check=False,
        )
        return ended.returncode, ended.stdout

    def start(self) -> None:
        """Run it until `stop`."""
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                self.command(), env=self.environment(), cwd=self._root, stdout=log, stderr=subprocess.STDOUT
            )

    def stop(self) -> int:
        """As a node stops a pod: SIGTERM, and the grace period until SIGKILL. Answers the exit code."""
        assert self._process is not None
        sleep = self.spec.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
        time.sleep(sleep)
        self._process.terminate()
        return self._process.wait(self.pod["spec"]["terminationGracePeriodSeconds"] - sleep)

    def kill(self) -> None:
        """End it whatever it does."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def passes(self, probe: str) -> bool:
        """One try of a probe."""
        asked = self.spec[probe]
        how = "tcpSocket" if "tcpSocket" in asked else "httpGet"
        (port,) = (each["containerPort"] for each in self.spec["ports"] if each["name"] == asked[how]["port"])
        if how == "tcpSocket":
            with socket.socket() as client:
                return client.connect_ex(("127.0.0.1", port)) == 0
        url = f"http://127.0.0.1:{port}{asked['httpGet']['path']}"
        try:
            with urllib.request.urlopen(url, timeout=asked["timeoutSeconds"]) as answer:
                return bool(200 <= answer.status < 400)
        except OSError:
            return False

    def patience(self, probe: str) -> float:
        """Seconds until a probe that never passes has failed."""
        asked: dict[str, Any] = self.spec[probe]
        return float(asked["periodSeconds"] * asked["failureThreshold"])
