"""The required shape of an answer, however an API spells it; in the neutral shape of `Ask`."""

from tokenmill.apis.ask import Json
from tokenmill.apis.reading import Node
from tokenmill.apis.tools import name_of

DEFAULT_NAME = "answer"
"""Name of a schema where the API gives it none."""


def schema_format(node: Node, name: str | None = None) -> Json:
    """Return the format of an answer that fits a schema with these members; `name` where they have none."""
    node.only("type", "name", "schema", "description", "strict")
    inner: Json = {"name": name or name_of(node.need("name")), "schema": node.need("schema").object()}
    if (description := node.maybe("description", Node.text)) is not None:
        inner["description"] = description
    if (strict := node.maybe("strict", Node.flag)) is not None:
        inner["strict"] = strict
    return {"type": "json_schema", "json_schema": inner}


def read_format(node: Node, *, within: bool) -> Json | None:
    """Read it as OpenAI's APIs spell it; chat completions have the schema `within` an object. None: any text."""
    kind = node.need("type").word("text", "json_object", "json_schema")
    if within:
        node.only("type", "json_schema")
    if kind == "json_schema":
        return schema_format(node.need("json_schema") if within else node)
    return {"type": kind} if kind == "json_object" else None
