"""The programs that check the chart, built on first use, and the schemas of Kubernetes' objects."""

import json
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.structure.tree import CHECKOUT

BUILDER = CHECKOUT / "deploy" / "tools" / "go-program"

NAMES = ("helm", "kubeconform", "kube-score")

BUILD_S = 1800
"""For a program's first build: two minutes of two processors, and machines are shared."""

RUN_S = 120

DEFINITION = re.compile(r"(?:/api/_definitions\.json)?#/\$defs/([\w.-]+)")


@cache
def tool(name: str) -> Path:
    """A program in the version that the builder pins, built if need be."""
    built = subprocess.run([BUILDER, name], stdout=subprocess.PIPE, text=True, timeout=BUILD_S, check=True)
    return Path(built.stdout.strip())


def run(name: str, *arguments: str | Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, whatever its exit code."""
    return subprocess.run(
        [tool(name), *arguments], input=text, capture_output=True, text=True, timeout=RUN_S, check=False
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
    for path in source.glob("*-*.json"):
        text = path.read_text()
        whole = {**json.loads(text), "$defs": {name: definitions[name] for name in _needed(text, definitions)}}
        del whole["$id"]
        (folder / path.name).write_text(DEFINITION.sub(r"#/$defs/\1", json.dumps(whole)))
    return folder


def _needed(text: str, definitions: dict[str, Any]) -> Iterator[str]:
    """Names of the definitions that a schema refers to, and of those that they refer to."""
    seen: set[str] = set()
    waiting = DEFINITION.findall(text)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            yield name
            waiting += DEFINITION.findall(json.dumps(definitions[name]))
