"""A server of Anthropic's messages: derived from the types of the SDK `anthropic` 2.12.0.

Events are `types/raw_message_stream_event.py` and what it names, each with its name in a line `event:`; errors are
`types/shared/error_response.py`, and an error behind the status is an event. Statuses: 529 is an overload.
"""

import secrets
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from aiohttp import web

from tests.support.model_servers.serving import FakeModelServer, Refuse
from tests.support.model_servers.speech import Piece, Rules, Speech
from tests.support.model_servers.wire import Body, Wire, prompt_tokens

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}


class Anthropic(FakeModelServer):
    """The server."""

    software = "cloudflare"

    def routes(self) -> Iterable[web.RouteDef]:
        return [web.post("/v1/messages", self._messages), web.get("/v1/models", self._models)]

    def error_body(self, status: int, message: str) -> Any:
        return _error(TYPES.get(status, "api_error"), message)

    def unauthorized(self) -> Any:
        return _error("authentication_error", "invalid x-api-key")

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        if "anthropic-version" not in request.headers:
            raise Refuse(400, message="anthropic-version: header is required")
        body = await self.read(request)
        for field in ("model", "messages", "max_tokens"):
            if field not in body:
                raise Refuse(400, message=f"{field}: Field required")
        if body["model"] != self.model:
            raise Refuse(404, message=f"model: {body['model']}")
        names = [tool["name"] for tool in body.get("tools") or ()]
        native = bool(names) and (body.get("tool_choice") or {}).get("type") != "none"
        rules = Rules(stop=tuple(body.get("stop_sequences") or ()), limit=body["max_tokens"], native=native)
        wire, stream = MessageWire(body), bool(body.get("stream"))
        return await self.generate(request, body, wire, rules, stream=stream, tools=names)

    async def _models(self, _: web.Request) -> web.StreamResponse:
        card = {"type": "model", "id": self.model, "display_name": self.model, "created_at": "2026-01-01T00:00:00Z"}
        ends = {"has_more": False, "first_id": self.model, "last_id": self.model}
        return await self.answer_json({"data": [card]} | ends)


class MessageWire(Wire):
    """Events of one message: a block begins when its first token comes, and ends when that of another one does."""

    junk = b'event: content_block_delta\ndata: {"type":\n\n'

    def __init__(self, body: Body) -> None:
        self._body = body
        self._id = f"msg_{secrets.token_hex(12)}"
        self._block = -1
        self._open: tuple[str, int] | None = None

    def begin(self, choices: int) -> bytes:
        del choices
        message = self._message([], None, None) | {"usage": self._usage(1)}
        return _event("message_start", {"message": message}) + _event("ping", {})

    def piece(self, index: int, piece: Piece) -> bytes:
        del index
        front = b""
        if self._open != (piece.kind, piece.number):
            front = self._close()
            self._open = (piece.kind, piece.number)
            self._block += 1
            front += _event("content_block_start", {"index": self._block, "content_block": _block(piece)})
        return front + (self._delta(_delta(piece)) if piece.text else b"")

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return _event("content_block_delta", {"index": self._block, "delta": delta})

    def _close(self) -> bytes:
        if self._open is None:
            return b""
        signed = self._delta({"type": "signature_delta", "signature": "c2ln"}) if self._open[0] == "reasoning" else b""
        return signed + _event("content_block_stop", {"index": self._block})

    def finish(self, index: int, said: Speech, tail: Piece | None) -> bytes:
        del index, tail
        delta = {"stop_reason": _reason(said), "stop_sequence": said.matched}
        usage = {"output_tokens": said.tokens}
        return self._close() + _event("message_delta", {"delta": delta, "usage": usage}) + _event("message_stop", {})

    def _message(self, content: list[Any], reason: str | None, matched: str | None) -> dict[str, Any]:
        message = {"id": self._id, "type": "message", "role": "assistant", "content": content}
        return message | {"model": self._body["model"], "stop_reason": reason, "stop_sequence": matched}

    def _usage(self, tokens: int) -> dict[str, Any]:
        cached = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        return {"input_tokens": prompt_tokens(self._body)} | cached | {"output_tokens": tokens}

    def error(self) -> bytes:
        return _event("error", {"error": {"type": "overloaded_error", "message": "Overloaded"}})

    def whole(self, said: Sequence[Speech]) -> Any:
        content: list[dict[str, Any]] = []
        if thought := said[0].told("reasoning"):
            content.append({"type": "thinking", "thinking": thought, "signature": "c2ln"})
        if text := said[0].told("content"):
            content.append({"type": "text", "text": text})
        content += [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": msgspec.json.decode(call.arguments)}
            for call in said[0].calls
        ]
        return self._message(content, _reason(said[0]), said[0].matched) | {"usage": self._usage(said[0].tokens)}


def _block(piece: Piece) -> dict[str, Any]:
    if piece.opens is not None:
        return {"type": "tool_use", "id": piece.opens.id, "name": piece.opens.name, "input": {}}
    return {"type": "thinking", "thinking": "", "signature": ""} if piece.kind == "reasoning" else _TEXT


_TEXT = {"type": "text", "text": ""}


def _delta(piece: Piece) -> dict[str, Any]:
    if piece.kind == "call":
        return {"type": "input_json_delta", "partial_json": piece.text}
    if piece.kind == "reasoning":
        return {"type": "thinking_delta", "thinking": piece.text}
    return {"type": "text_delta", "text": piece.text}


def _reason(said: Speech) -> str:
    return "stop_sequence" if said.matched is not None else REASONS.get(said.finish, said.finish)


def _event(name: str, fields: dict[str, Any]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode({"type": name} | fields))


def _error(type_: str, message: str) -> dict[str, Any]:
    request_id = f"req_{secrets.token_hex(12)}"
    return {"type": "error", "error": {"type": type_, "message": message}, "request_id": request_id}
