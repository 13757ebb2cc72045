"""Values, their comments, the templates that read them and the schema say the same."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.chart.rendering import CHART, EXAMPLES, Refused, documents, render, values_of, worker
from tests.structure.pages import Block, _blocks
from tests.structure.tree import DOCS
from tokenmill.gen.chart import values

READ = re.compile(r"\.Values((?:\.\w+)+)")
READ_OF_SERVER = re.compile(r"\$server\.(\w+)")
SERVER = "tools.serverDefaults"
"""What a server of tools says itself, or has of this: the templates read both in one."""

PATHS = [value.path for value in values()]
DEFAULTS = values_of(CHART / "values.yaml")
SCHEMA = json.loads((CHART / "values.schema.json").read_text())

PAGES = [
    block
    for page in (DOCS / "howto" / "deploy-on-kubernetes.md", CHART / "README.md")
    for block in _blocks(page)
    if block.language == "yaml"
]

FOR_OTHERS = {"global"}
"""What Helm itself puts among the values."""


def template_files() -> list[Path]:
    return [path for path in (CHART / "templates").rglob("*") if path.is_file()]


def read_by_templates() -> set[str]:
    texts = [path.read_text() for path in template_files()]
    found = {path.removeprefix(".") for text in texts for path in READ.findall(text)}
    return found - {SERVER} | {f"{SERVER}.{key}" for text in texts for key in READ_OF_SERVER.findall(text)}


def leaves(tree: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Paths of everything in a tree of values that is no table, or an empty one."""
    for name, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{above}{name}.")
        else:
            yield f"{above}{name}"


def in_schema(schema: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Paths of everything in the schema that is no closed block."""
    for name, value in schema["properties"].items():
        if value.get("additionalProperties") is False and "description" not in value:
            yield from in_schema(value, f"{above}{name}.")
        else:
            yield f"{above}{name}"


def within(path: str, others: list[str]) -> list[str]:
    """Those of the others that are the path, or hold it."""
    return [other for other in others if path == other or path.startswith(f"{other}.")]


def value_at(tree: Any, path: str) -> object:
    for name in path.split("."):
        tree = tree.get(name, {}) if isinstance(tree, dict) else {}
    return tree


def with_servers(values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Values, and what their servers of tools say, each as if it were said for all."""
    yield values
    for said in values.get("tools", {}).get("servers", {}).values():
        yield {"tools": {"serverDefaults": said}}


def test_every_value_has_one_comment() -> None:
    """Its own, or that of the value that it is a part of."""
    assert {path: within(path, PATHS) for path in leaves(DEFAULTS) if len(within(path, PATHS)) != 1} == {}


def test_every_comment_is_about_a_value() -> None:
    """The comments are read by lines, YAML is not."""
    assert {path for path in PATHS if not any(within(leaf, [path]) for leaf in leaves(DEFAULTS))} == set()


def test_templates_read_every_value() -> None:
    """A value that nothing reads misleads whoever sets it."""
    assert set(PATHS) - read_by_templates() - {"config"} == set()
    assert any(path.startswith("config.") for path in read_by_templates())


def test_templates_read_nothing_else() -> None:
    """What can be set has a comment."""
    assert {path for path in read_by_templates() if not within(path, PATHS)} == set()


def test_the_schema_knows_every_value_and_no_other() -> None:
    """Blocks are closed, so a misspelt value is refused."""
    assert set(in_schema(SCHEMA)) - FOR_OTHERS == set(PATHS)


def test_every_value_is_set_in_an_example() -> None:
    """So that every feature is rendered and checked, not only its absence."""
    examples = [tree for path in EXAMPLES for tree in with_servers(values_of(path))]
    plain = [path for path in PATHS if all(value_at(one, path) in ({}, value_at(DEFAULTS, path)) for one in examples)]
    assert plain == []


@pytest.mark.parametrize("block", PAGES, ids=lambda block: f"{block.page.stem}-{block.line}")
def test_values_of_the_documentation_are_accepted(block: Block) -> None:
    """Blocks `yaml` of the page about Kubernetes, and of the chart's README."""
    assert worker(render(values=documents(block.text)[0]))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("replicas", 3),
        ("worker.replica", 3),
        ("worker.kind", "DaemonSet"),
        ("worker.autoscaling.kind", "both"),
        ("worker.autoscaling.minReplicas", 0),
        ("worker.autoscaling.keda.metadata", {"topic": "others"}),
        ("image.digest", "sha256:12"),
        ("config.kafka.bootstrap_server", "kafka:9092"),
        ("config.worker.delivery", "twice"),
        ("config.worker.port", "8080"),
        ("config.kafka.sasl_password", "open sesame"),
        ("config.kafka.group_instance_id", "mill-0"),
        ("config.redis.url", "redis://:password@redis:6379/0"),
        ("config.kafka.bootstrap_servers", None),
        ("config.kafka.bootstrap_servers", "kafka"),
        ("config.kafka.bootstrap_servers", "kafka-1:9092,kafka-2"),
        ("config.kafka.bootstrap_servers", "kafka-1:9092,"),
        ("config.gateway", None),
        ("config.gateway.port", None),
        ("config.gateway.port", 0),
        ("config.gateway.ops_port", None),
        ("config.gateway.drain_s", None),
        ("config.front.port", None),
        ("config.front.ops_port", None),
        ("config.front.drain_s", None),
        ("config.caller.port", None),
        ("config.caller.drain_s", None),
        ("config.tools.port", None),
        ("config.tools.drain_s", None),
        ("tools.serverDefaults.ports", [8000]),
        ("tools.servers.files.imagePullPolicy", "Always"),
        ("config.upstreams", [{"models": ["m"], "urls": ["http://m"], "api_key": "open sesame"}]),
        ("upstreams.keys", {"large": {"secretName": "model-keys"}}),
        ("upstreams.templates", {"../large": {"existingConfigMap": "templates"}}),
    ],
)
def test_what_the_schema_refuses(path: str, value: object) -> None:
    """Misspelt names, wrong types, secrets that would be readable in a ConfigMap; Helm names the value."""
    with pytest.raises(Refused, match=path.rpartition(".")[2]):
        render(values={path: value})
