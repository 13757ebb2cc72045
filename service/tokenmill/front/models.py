"""`GET /v1/models` and `/v1/models/{model}`: the models that clients may ask for, as OpenAI or Anthropic list them."""

from typing import Any

import msgspec
from aiohttp import web

from tokenmill.caller.served import unknown_model
from tokenmill.front.route_context import RouteContext

PATH = "/v1/models"

CREATED = 0
"""Time at which a model was created, in seconds since the epoch. It is unknown, and the API requires one."""

VERSION = "anthropic-version"
"""Header that only Anthropic's clients send."""


class Models:
    """The routes that list models."""

    def __init__(self, context: RouteContext) -> None:
        self._context = context

    def routes(self) -> list[web.RouteDef]:
        """Return the routes. The name of a model may have slashes."""
        return [web.get(PATH, self.all), web.get(f"{PATH}/{{model:.+}}", self.one)]

    async def all(self, request: web.Request) -> web.Response:
        """List all models."""
        await self._context.admission.who(request)
        found = [_model(name, request) for name in sorted(self._context.models)]
        further: dict[str, Any] = {"object": "list"}
        if VERSION in request.headers:
            ends = [found[at]["id"] if found else None for at in (0, -1)]
            further = {"has_more": False, "first_id": ends[0], "last_id": ends[1]}
        return _json({**further, "data": found})

    async def one(self, request: web.Request) -> web.Response:
        """Describe one model. Raises `BadAsk` if there is none of this name."""
        await self._context.admission.who(request)
        name = request.match_info["model"]
        if name not in self._context.models:
            raise unknown_model(name, self._context.models)
        return _json(_model(name, request))


def _model(name: str, request: web.Request) -> dict[str, Any]:
    if VERSION in request.headers:
        fixed = {"type": "model", "created_at": "1970-01-01T00:00:00Z", "lifecycle": "active"}
        return {**fixed, "id": name, "display_name": name}
    return {"id": name, "object": "model", "created": CREATED, "owned_by": "tokenmill"}


def _json(body: dict[str, Any]) -> web.Response:
    return web.Response(body=msgspec.json.encode(body), content_type="application/json")
