"""The gateway's OpenAPI document, made from the table of its routes and the types of their bodies."""

import json
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import groupby
from typing import Any

import msgspec

from tokenmill.gateway.problems import Kind
from tokenmill.gateway.routes.table import EVERYWHERE, ROUTES, Answer, Parameter, Route

REFERENCE = "#/components/schemas/{name}"

PROBLEM: dict[str, Any] = {
    "type": "object",
    "description": "Why a request was refused (RFC 9457). `detail` says what to change.",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "pattern": "^urn:tokenmill:problem:"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}

SECURITY = {
    "token": {"type": "http", "scheme": "bearer", "description": "A signed token, or a key."},
    "key": {"type": "apiKey", "in": "header", "name": "x-api-key", "description": "A key."},
    "ticket": {"type": "apiKey", "in": "query", "name": "ticket", "description": "A ticket, for an `EventSource`."},
}


def document() -> str:
    """Return the document as JSON."""
    bodies = [kind for route in ROUTES for kind in (route.body, *(answer.body for answer in route.answers)) if kind]
    _, schemas = msgspec.json.schema_components(bodies, ref_template=REFERENCE)
    whole = {
        "openapi": "3.1.0",
        "info": {
            "title": "tokenmill gateway",
            "version": version("tokenmill"),
            "summary": "Events of language models over HTTP",
            "description": "Generated from the code by `make gen`.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "http://127.0.0.1:8090", "description": "As it starts without settings."}],
        "security": [{}, *({name: []} for name in SECURITY)],
        "paths": {path: dict(_operations(list(routes))) for path, routes in groupby(ROUTES, lambda route: route.path)},
        "components": {"schemas": {**schemas, "Problem": PROBLEM}, "securitySchemes": SECURITY},
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _operations(routes: Sequence[Route]) -> Iterator[tuple[str, Any]]:
    return ((route.method.lower(), _operation(route)) for route in routes)


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": route.summary,
        "description": f"{route.text} Needs the right to `{route.right}`.",
        "operationId": operation_id(route),
        "parameters": [_parameter(parameter) for parameter in route.parameters if parameter.name != "ticket"],
        "responses": {
            **{str(answer.status): _answer(answer) for answer in route.answers},
            **dict(_problems((*EVERYWHERE, *route.problems))),
        },
    }
    if route.body is not None:
        operation["requestBody"] = {"content": _bodies(route)}
    return operation


def _bodies(route: Route) -> dict[str, Any]:
    """Return the schema of JSON; streams, and other types, have none."""
    return {name: each for name in route.media for each in _content([name], _kind(route, name)).values()}


def _kind(route: Route, media: str) -> Any:
    return route.body if media == "application/json" else None


def operation_id(route: Route) -> str:
    """Return a name for generated clients: the method and the significant words of the path."""
    words = [word for word in route.path.split("/") if word and not word.startswith("{")]
    return "_".join([route.method.lower(), *words]).replace("-", "_").replace("v1_", "")


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.text,
        "required": parameter.place == "path",
        "schema": msgspec.json.schema(parameter.kind),
    }


def _answer(answer: Answer) -> dict[str, Any]:
    found: dict[str, Any] = {"description": answer.text}
    if answer.media:
        found["content"] = _content(answer.media, answer.body)
    return found


def _content(media: Sequence[str], kind: Any) -> dict[str, Any]:
    if kind is None:
        return {name: {"schema": {"type": "string"}} for name in media}
    (schema,), _ = msgspec.json.schema_components([kind], ref_template=REFERENCE)
    return {name: {"schema": schema} for name in media}


def _problems(kinds: Sequence[Kind]) -> Iterator[tuple[str, Any]]:
    """Return one answer for each status, with the kinds of problem that it stands for."""
    ordered = sorted(dict.fromkeys(kinds), key=lambda kind: kind.status)
    for status, same in groupby(ordered, lambda kind: kind.status):
        yield (
            str(status),
            {
                "description": "; ".join(f"`{kind.name}`: {kind.title}" for kind in same),
                "content": {"application/problem+json": {"schema": {"$ref": REFERENCE.format(name="Problem")}}},
            },
        )
