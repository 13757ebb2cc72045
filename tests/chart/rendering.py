"""What `helm template` makes of values: the objects of a release."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

from tests.chart.tools import run
from tests.structure.tree import CHECKOUT

CHART = CHECKOUT / "helm" / "tokenmill"
EXAMPLES = sorted((CHART / "ci").glob("*-values.yaml"))

RELEASE = "mill"
NAMESPACE = "streams"

COMPONENT = "app.kubernetes.io/component"

OTHERS = {"gateway", "tools", "tools-server", "front", "caller"}
"""Components that stand beside the workers, with pods of their own."""

Object = dict[str, Any]
Values = Mapping[str, Any]
"""Path → value, as in `{"worker.kind": "Deployment"}`."""


PARTS = ("worker", "gateway", "tools", "front", "caller")
"""Components whose number of pods a release says."""

ALL: Values = {
    "gateway.enabled": True,
    "config.gateway.auth": "keys",
    "gateway.keys.existingSecret": "clients",
    "tools.enabled": True,
    "tools.mcpServers": {"time": {"command": "mcp-server-time"}},
    "front.enabled": True,
    "front.caller": False,
    "caller.enabled": True,
    "config.upstreams": [{"models": ["qwen3"], "kind": "vllm", "urls": ["http://vllm:8000"]}],
}
"""All of them in one release."""


class Refused(Exception):
    """The chart can't be rendered with these values; what Helm says of it."""


@cache
def _render(example: Path | None, overrides: str) -> str:
    files = [f"--values={example}"] if example else []
    made = run(
        "helm", "template", RELEASE, CHART, "--namespace", NAMESPACE, *files, "--values=-", "--debug", text=overrides
    )
    if made.returncode:
        raise Refused(made.stderr)
    return made.stdout


def nested(values: Values) -> dict[str, Any]:
    """The values as a file has them."""
    whole: dict[str, Any] = {}
    for path, value in values.items():
        *above, name = path.split(".")
        table = whole
        for step in above:
            table = table.setdefault(step, {})
        table[name] = value
    return whole


def text_of(example: Path | None = None, values: Values | None = None) -> str:
    """The manifests as Helm prints them."""
    return _render(example, msgspec.json.encode(nested(values or {})).decode())


def render(example: Path | None = None, values: Values | None = None) -> list[Object]:
    """The objects of a release with these values, over those of a file. Raises `Refused`."""
    return documents(text_of(example, values))


def documents(text: str) -> list[Object]:
    """The documents of a YAML file that are not empty."""
    return [found for found in yaml.load_all(text, yaml.CSafeLoader) if found]  # the other one takes ten times as long


def values_of(path: Path) -> Object:
    """What a YAML file with one document says; an empty one says nothing."""
    return next(iter(documents(path.read_text())), {})


def kind(kind: str, objects: list[Object]) -> list[Object]:
    """The objects of a kind."""
    return [found for found in objects if found["kind"] == kind]


def component(found: Object) -> str:
    """The part of a release that an object belongs to; empty if it is for all of them."""
    return str(found["metadata"].get("labels", {}).get(COMPONENT, ""))


def of_gateway(objects: list[Object]) -> list[Object]:
    """The gateway's own objects."""
    return [found for found in objects if component(found) == "gateway"]


def of_tools(objects: list[Object]) -> list[Object]:
    """Those of the runners of tools."""
    return [found for found in objects if component(found) == "tools"]


def of_front(objects: list[Object]) -> list[Object]:
    """Those of the front."""
    return [found for found in objects if component(found) == "front"]


def of_caller(objects: list[Object]) -> list[Object]:
    """Those of the callers that have pods of their own."""
    return [found for found in objects if component(found) == "caller"]


def of_server(name: str, objects: list[Object]) -> list[Object]:
    """Those of a server of tools that the release runs."""
    ours = [found for found in objects if component(found) == "tools-server"]
    return [found for found in ours if found["metadata"]["labels"]["tokenmill/server"] == name]


def around_workers(objects: list[Object]) -> list[Object]:
    """All objects but those of the parts that stand beside the workers."""
    return [found for found in objects if component(found) not in OTHERS]


def one(kind_: str, objects: list[Object]) -> Object:
    """The object of a kind that is no hook; there has to be exactly one."""
    (found,) = (
        found for found in kind(kind_, objects) if "helm.sh/hook" not in found["metadata"].get("annotations", {})
    )
    return found


def hook(kind_: str, objects: list[Object]) -> Object:
    """The hook of a kind; there has to be exactly one."""
    (found,) = (found for found in kind(kind_, objects) if "helm.sh/hook" in found["metadata"].get("annotations", {}))
    return found


def pod_of(found: Object) -> Object:
    """The pod that an object makes, or is."""
    return found if found["kind"] == "Pod" else dict(found["spec"]["template"])


def worker(objects: list[Object]) -> Object:
    """The workers' StatefulSet or Deployment."""
    (found,) = (found for found in around_workers(objects) if found["kind"] in {"StatefulSet", "Deployment"})
    return found


def services(objects: list[Object]) -> tuple[Object, Object]:
    """The Services of a part to which clients come: theirs, and that of the operators' port."""
    clients, operators = kind("Service", objects)
    return clients, operators


def gateway(objects: list[Object]) -> Object:
    """The gateways' Deployment."""
    return one("Deployment", of_gateway(objects))


def runner(objects: list[Object]) -> Object:
    """The Deployment of those that run tools."""
    return one("Deployment", of_tools(objects))


def front(objects: list[Object]) -> Object:
    """The fronts' Deployment."""
    return one("Deployment", of_front(objects))


def caller(objects: list[Object]) -> Object:
    """The callers' Deployment."""
    return one("Deployment", of_caller(objects))


def container(found: Object) -> Object:
    """The chart's own container of a pod; those of the user come after it."""
    return dict(pod_of(found)["spec"]["containers"][0])
