"""Tools that a client groups under a name, a `namespace`, as Codex does with those of an MCP server.

A model calls a tool by one name, so each is declared as `<namespace>__<name>`. The client knows it by the two names:
the name is split again in what the client gets, and joined in what it sends back.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from tokenmill.apis.ask import Json
from tokenmill.apis.reading import Node
from tokenmill.apis.responses_input import CALLS
from tokenmill.apis.tools import TYPES, flat_tool, name_of
from tokenmill.dialects.json_text import json_bytes
from tokenmill.errors import NOT_JSON

Namespaces: TypeAlias = Mapping[str, tuple[str, str]]
"""Tools by the names that the model has for them: their namespace, and the name in it."""

_NAMED = b'"name":'
"""Occurs in every payload that names a call; deltas don't contain it, as quotes in a text are escaped."""

_NAMESPACE = b'"namespace"'
"""Occurs in every body that declares one."""

_CALLS = frozenset({*CALLS, "response.function_call_arguments.done"})


def one_name(namespace: str, name: str) -> str:
    """Return the model's name for a tool of a namespace."""
    return f"{namespace.rstrip('_')}__{name}"


def members(node: Node) -> list[tuple[Json, tuple[str, str]]]:
    """Return the members of a tool that is a namespace, under their one name, each with the client's names."""
    node.only("type", "name", "description", "tools")
    namespace = name_of(node.need("name"))
    return [_member(namespace, each) for each in node.need("tools").items()]


def _member(namespace: str, node: Node) -> tuple[Json, tuple[str, str]]:
    tool = flat_tool(node)
    said = tool["function"]
    name: str = said["name"]
    return tool | {"function": said | {"name": one_name(namespace, name)}}, (namespace, name)


def with_one_name(node: Node) -> Node:
    """Return an input whose calls have the model's names."""
    if not isinstance(node.value, list):
        return node
    return Node([_with_one_name(item, CALLS) for item in node.value], node.path)


def choice_with_one_name(node: Node, tools: Sequence[Json], namespaces: Namespaces) -> Node:
    """Return a choice among these tools that names them as the model does.

    The namespace may be missing, as the API has no place for it there, if only one has a tool of that name.
    """
    if not isinstance(node.value, dict):
        return node
    known = {tool["function"]["name"] for tool in tools}
    owners = Counter(name for _, name in namespaces.values())
    meant = {name: one for one, (_, name) in namespaces.items() if owners[name] == 1 and name not in known}
    choice = _meant(node.value, meant)
    if isinstance(listed := choice.get("tools"), list):
        choice = choice | {"tools": [_meant(each, meant) for each in listed]}
    return Node(choice, node.path)


def _meant(said: Any, names: Mapping[str, str]) -> Any:
    said = _with_one_name(said, TYPES)
    name = said.get("name") if isinstance(said, dict) else None
    return said | {"name": names[name]} if isinstance(name, str) and name in names else said


def _with_one_name(said: Any, kinds: Sequence[str]) -> Any:
    namespace, name = (said.get(each) for each in ("namespace", "name")) if isinstance(said, dict) else (None, None)
    if not (isinstance(namespace, str) and isinstance(name, str) and said.get("type") in kinds):
        return said
    rest = {field: value for field, value in said.items() if field != "namespace"}
    return rest | {"name": one_name(namespace, name)} if namespace else rest


class _Tool(msgspec.Struct):
    """What is read of a declared tool."""

    type: str | None = None
    name: str | None = None
    tools: list["_Tool"] | None = None


class _Declaring(msgspec.Struct):
    """What is read of the body of a request."""

    tools: list[_Tool] | None = None


def declared_namespaces(body: bytes | msgspec.Raw) -> Namespaces:
    """Return the tools in namespaces that the body of a request declares; none for a body that no front has read."""
    if _NAMESPACE not in bytes(body):
        return {}
    try:
        tools = msgspec.json.decode(body, type=_Declaring).tools or ()
    except NOT_JSON:
        return {}
    named = [each for each in tools if each.type == "namespace" and each.name]
    pairs = [(each.name or "", tool.name or "") for each in named for tool in each.tools or ()]
    return {one_name(*names): names for names in pairs}


def told_apart(payload: bytes, namespaces: Namespaces) -> bytes:
    """Return a payload of Responses whose calls have the client's names."""
    if _NAMED not in payload:
        return payload
    said = json.loads(payload)
    for each in _parts(said):
        if each.get("type") in _CALLS and (known := namespaces.get(str(each.get("name")))) is not None:
            each["namespace"], each["name"] = known
    return json_bytes(said)


def _parts(said: Json) -> Iterator[Json]:
    """Yield what may be a call in a payload: itself, its item, and those of a whole response."""
    yield said
    yield said.get("item") or {}
    yield from (said.get("response") or said).get("output") or ()
