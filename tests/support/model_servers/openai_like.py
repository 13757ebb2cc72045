"""A hosted server of OpenAI's chats, which tells calls as such: derived from the types of the SDK `openai` 3.54.0.

Chunks are `types/chat/chat_completion_chunk.py`, answers `types/chat/chat_completion.py`, errors what `_exceptions.py`
and `_streaming.py` look for: an object `error` with message, type, param and code. With `padded` each chunk has its
`obfuscation`, as OpenAI's own server sends it unless told not to; with `reasons` reasoning comes in the field of that
name, as with OpenRouter and Groq.
"""

import secrets
from collections.abc import Iterable, Sequence
from typing import Any

from aiohttp import web

from tests.support.model_servers.serving import Answer, FakeModelServer, Refuse
from tests.support.model_servers.speech import Piece, Rules, Speech
from tests.support.model_servers.wire import Body, Wire, now, prompt_tokens, sse, stop_words, tool_names

FINGERPRINT = "fp_0123456789"
TYPES = {401: "invalid_request_error", 429: "requests", 500: "server_error", 503: "service_unavailable_error"}


class OpenAiLike(FakeModelServer):
    """The server."""

    software = "cloudflare"

    def __init__(self, answer: Answer, *, reasons: str = "", padded: bool = False, **settings: Any) -> None:
        super().__init__(answer, **settings)
        self._reasons = reasons
        self._padded = padded

    def routes(self) -> Iterable[web.RouteDef]:
        return [web.post("/v1/chat/completions", self._chat), web.get("/v1/models", self._models)]

    def error_body(self, status: int, message: str) -> Any:
        return {"error": _error(status, message)}

    def unauthorized(self) -> Any:
        return {"error": _error(401, "Incorrect API key provided: ****.") | {"code": "invalid_api_key"}}

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await self.read(request)
        self._check(body)
        rules = Rules(
            stop=stop_words(body.get("stop")),
            limit=body.get("max_completion_tokens") or body.get("max_tokens"),
            native=bool(body.get("tools")) and body.get("tool_choice") != "none",
        )
        wire = OpenAiWire(body, reasons=self._reasons, padded=self._padded)
        return await self.generate(request, body, wire, rules, stream=bool(body.get("stream")), tools=tool_names(body))

    def _check(self, body: Body) -> None:
        if not body.get("messages"):
            raise Refuse(400, {"error": _error(400, "Missing required parameter: 'messages'.") | {"param": "messages"}})
        if body.get("model") != self.model:
            error = _error(404, f"The model `{body.get('model')}` does not exist or you do not have access to it.")
            raise Refuse(404, {"error": error | {"code": "model_not_found"}})
        if body.get("tool_choice") not in (None, "none") and not body.get("tools"):
            message = "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."
            raise Refuse(400, {"error": _error(400, message) | {"param": "tool_choice"}})

    async def _models(self, _: web.Request) -> web.StreamResponse:
        card = {"id": self.model, "object": "model", "created": now(), "owned_by": "system"}
        return await self.answer_json({"object": "list", "data": [card]})


class OpenAiWire(Wire):
    """A chat."""

    def __init__(self, body: Body, *, reasons: str, padded: bool) -> None:
        self._body = body
        self._reasons = reasons
        self._padded = padded
        self._usage_asked = bool((body.get("stream_options") or {}).get("include_usage"))
        head = {"id": f"chatcmpl-{secrets.token_hex(12)}", "object": "chat.completion.chunk", "created": now()}
        self._head = head | {"model": body["model"], "service_tier": "default", "system_fingerprint": FINGERPRINT}

    def begin(self, choices: int) -> bytes:
        delta = {"role": "assistant", "content": "", "refusal": None}
        return b"".join(self._delta(index, delta) for index in range(choices))

    def piece(self, index: int, piece: Piece) -> bytes:
        if piece.kind == "reasoning":
            return self._delta(index, {self._reasons: piece.text}) if self._reasons else b""
        return self._delta(index, _call_delta(piece) if piece.kind == "call" else {"content": piece.text})

    def finish(self, index: int, said: Speech, tail: Piece | None) -> bytes:
        del tail
        return self._delta(index, {}, said.finish)

    def _delta(self, index: int, delta: dict[str, Any], finish: str | None = None) -> bytes:
        return self._chunk([{"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}], None)

    def _chunk(self, choices: list[dict[str, Any]], usage: dict[str, Any] | None) -> bytes:
        asked = {"usage": usage} if self._usage_asked else {}
        padding = {"obfuscation": secrets.token_urlsafe(6)} if self._padded else {}
        return sse(self._head | {"choices": choices} | asked | padding)

    def end(self, said: Sequence[Speech]) -> bytes:
        last = self._chunk([], self._usage(said)) if self._usage_asked and self.counts else b""
        return last + sse(b"[DONE]")

    def _usage(self, said: Sequence[Speech]) -> dict[str, Any]:
        prompt, answer = prompt_tokens(self._body), sum(speech.tokens for speech in said)
        thought = sum(piece.kind == "reasoning" for speech in said for piece in speech.pieces)
        usage: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}
        usage["prompt_tokens_details"] = {"cached_tokens": 0, "audio_tokens": 0}
        details = {"reasoning_tokens": thought, "audio_tokens": 0}
        return usage | {
            "completion_tokens_details": details | {"accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0}
        }

    def error(self) -> bytes:
        return sse({"error": _error(500, "The server had an error while processing your request. Sorry about that!")})

    def whole(self, said: Sequence[Speech]) -> Any:
        choices = [
            {"index": index, "message": _message(speech), "logprobs": None, "finish_reason": speech.finish}
            for index, speech in enumerate(said)
        ]
        return self._head | {"object": "chat.completion", "choices": choices, "usage": self._usage(said)}


def _call_delta(piece: Piece) -> dict[str, Any]:
    call: dict[str, Any] = {"index": piece.number}
    if piece.opens is None:
        return {"tool_calls": [call | {"function": {"arguments": piece.text}}]}
    function = {"name": piece.opens.name, "arguments": ""}
    return {"tool_calls": [call | {"id": piece.opens.id, "type": "function", "function": function}]}


def _message(said: Speech) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.told("content") or None, "refusal": None}
    if said.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in said.calls
        ]
    return message


def _error(status: int, message: str) -> dict[str, Any]:
    type_ = TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    code = "rate_limit_exceeded" if status == 429 else None
    return {"message": message, "type": type_, "param": None, "code": code}
