"""The shape that an answer has to have, however an API spells it; in the neutral shape of `Ask`."""

from tokenmill.apis.ask import Json
from tokenmill.apis.reading import Said
from tokenmill.apis.tools import name_of

DEFAULT_NAME = "answer"
"""Of a schema where the API gives it none."""


def schema_format(said: Said, name: str | None = None) -> Json:
    """An answer that fits a schema, whose members are said; `name` where they have none."""
    said.only("type", "name", "schema", "description", "strict")
    inner: Json = {"name": name or name_of(said.need("name")), "schema": said.need("schema").object()}
    if (description := said.maybe("description", Said.text)) is not None:
        inner["description"] = description
    if (strict := said.maybe("strict", Said.flag)) is not None:
        inner["strict"] = strict
    return {"type": "json_schema", "json_schema": inner}


def read_format(said: Said, *, within: bool) -> Json | None:
    """As OpenAI's APIs spell it; chat completions have the schema `within` an object. None: any text."""
    kind = said.need("type").word("text", "json_object", "json_schema")
    if within:
        said.only("type", "json_schema")
    if kind == "json_schema":
        return schema_format(said.need("json_schema") if within else said)
    return {"type": kind} if kind == "json_object" else None
