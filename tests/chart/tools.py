"""The programs that check the chart, built on first use, and the schemas of Kubernetes' objects."""

import json
import re
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from tests.support.deployment import tool

NAMES = ("helm", "kubeconform", "kube-score")

RUN_S = 120

DEFINITION = re.compile(r"(?:/api/_definitions\.json)?#/\$defs/([\w.-]+)")


def run(name: str, *arguments: str | Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, whatever its exit code."""
    return subprocess.run(
        [tool("go-program", name), *arguments], input=text, capture_output=True, text=True, timeout=RUN_S, check=False
    )


def schemas(folder: Path, version: str) -> Path:
    """Write the schemas of a version of Kubernetes so that kubeconform can read them, each with what it refers to.

    They come with the package kubernetes-validate, which keeps the definitions in one file at an absolute address.
    """
    spec = find_spec("kubernetes_validate")
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).parent / "kubernetes-json-schema" / f"v{version}.0-local-strict"
    definitions = json.loads((source / "_definitions.json").read_text())["$defs"]
    references = {name: DEFINITION.findall(json.dumps(found)) for name, found in definitions.items()}
    for path in source.glob("*-*.json"):
        text = path.read_text()
        schema = json.loads(text)
        if "x-kubernetes-group-version-kind" in schema:  # an object, no part of one
            del schema["$id"]
            schema["$defs"] = {name: definitions[name] for name in _closure(DEFINITION.findall(text), references)}
            (folder / path.name).write_text(DEFINITION.sub(r"#/$defs/\1", json.dumps(schema)))
    return folder


def _closure(waiting: list[str], references: Mapping[str, list[str]]) -> set[str]:
    """The names, and all names that they lead to."""
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += references[name]
    return seen
