"""The generated parts of the Helm chart: the schema of its values, its README, and copies of files.

Schema and README have three sources: the comments of `values.yaml` (descriptions and defaults), the shape of the
chart's own values in `values.schema.json`, which is kept, and the code (everything below `config`).
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tokenmill.config import Config
from tokenmill.config.read import LISTS
from tokenmill.gen import describe, markdown

CHECKOUT = Path(__file__).resolve().parents[3]
CHART = CHECKOUT / "helm" / "tokenmill"

NOT_IN_A_CONFIGMAP = {"sasl_password", "ssl_password", "jwt_secret", "ticket_secret", "api_key"}
"""Settings that are secrets: a Secret is mounted, and its file is named instead."""

OF_EACH_POD = {"group_instance_id"}
"""Settings that differ in each pod: two workers with the same name would fight, so the chart sets the pod's."""

WITHOUT_LOGIN = "^[^@]*$"
"""Pattern of a URL without a password. One with a password is a secret, too."""

KEY = re.compile(r"(?P<indent> *)(?P<name>\w+):(?: (?P<value>.*?))?(?:  # .*)?")
COMMENT = re.compile(r" *#(?P<begin> --)?(?: (?P<text>.*))?")


class Value(NamedTuple):
    """A value that users set, from `values.yaml`."""

    path: str
    text: str
    """Its comment."""
    default: str
    """The default's text; empty if it takes more than a line."""


def values() -> Iterator[Value]:
    """Yield every value with a comment that begins with `# --`, in order."""
    path: list[str] = []
    said: list[str] = []
    for line in (CHART / "values.yaml").read_text(encoding="utf-8").splitlines():
        if comment := COMMENT.fullmatch(line):
            if comment["begin"]:
                said = [comment["text"]]
            elif said:
                said.append(comment["text"])
        elif key := KEY.fullmatch(line):
            path[len(key["indent"]) // 2 :] = [key["name"]]
            if said:
                yield Value(".".join(path), " ".join(said), key["value"] or "")
            said = []


def schema() -> str:
    """Return the schema of the values. Its shape is kept; descriptions and everything below `config` are rewritten."""
    whole = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    for value in values():
        _property(whole, value.path)["description"] = value.text
    whole["definitions"]["config"] = config_schema()
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _property(schema: dict[str, Any], path: str) -> dict[str, Any]:
    """Return the schema of the value at a path. Raises `KeyError` if values.schema.json does not have it."""
    for name in path.split("."):
        schema = schema["properties"][name]
    return schema


def config_schema() -> dict[str, Any]:
    """Return the sections and keys of the application's configuration, without what belongs in a Secret."""
    sections = {field.name: _section(field.type) for field in msgspec.structs.fields(Config) if field.name not in LISTS}
    sections |= {name: {"type": "array", "items": _section(kind)} for name, kind in LISTS.items()}
    return {"type": "object", "additionalProperties": False, "properties": sections}


def _section(kind: type[msgspec.Struct]) -> dict[str, Any]:
    _, definitions = msgspec.json.schema_components([kind])
    made = definitions[kind.__name__]
    texts = {field.name: field.text for field in describe.fields(kind)}
    properties = {
        name: {"description": " ".join(texts[name].split()), **value}
        for name, value in made["properties"].items()
        if name not in NOT_IN_A_CONFIGMAP | OF_EACH_POD
    }
    if "url" in properties:
        properties["url"]["pattern"] = WITHOUT_LOGIN
    needed = {"required": made["required"]} if "required" in made else {}
    return {
        "type": "object",
        "description": describe.about(kind),
        "additionalProperties": False,
        "properties": properties,
        **needed,
    }


def readme() -> str:
    """Return the chart's README: how to install it, and every value."""
    rows = [(markdown.code(value.path), _default(value), value.text) for value in values()]
    return markdown.page("tokenmill", *(text.strip() for text in TEXTS), markdown.table(("value", "default", ""), rows))


def copy_of(path: str) -> Callable[[], str]:
    """Return a function that reads a file of the checkout: a chart can't read files outside its folder."""
    return lambda: (CHECKOUT / path).read_text(encoding="utf-8")


def _default(value: Value) -> str:
    return markdown.code(value.default) if value.default else "[values.yaml](values.yaml)"


TEXTS = (
    """
The raw token stream of a language model in, clean events out: text, reasoning, tool calls, finish.
Workers read token chunks from a Kafka topic, publish events, and keep snapshots of their state in Redis.
""",
    """
You need Kubernetes 1.30 or later, Helm 3, a Kafka (3.x or 4.x), a Redis (6.2 or later) or Valkey, and tokenmill's image
in your registry.
""",
    """
```sh
helm install tokenmill helm/tokenmill --values my-values.yaml
helm test tokenmill
```
""",
    """
```yaml
image:
  repository: registry.example.com/tokenmill
config:
  kafka:
    bootstrap_servers: kafka-1.example.com:9092,kafka-2.example.com:9092
  redis:
    url: redis://redis.example.com:6379/0
  parser:
    format: hermes
```
""",
    """
[Deploy on Kubernetes](../../docs/howto/deploy-on-kubernetes.md) has the details: secrets, topics, scaling, upgrades.
The files in `ci/` are examples of complete set-ups; the chart is tested with them.
""",
    "## Values",
)
