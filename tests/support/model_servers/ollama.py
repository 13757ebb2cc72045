"""Ollama as it answers over HTTP: derived from Ollama 0.17.4, read as a Go module.

| what | file |
| --- | --- |
| raw prompts: no template, no built-in parser, not with template, system or context | `server/routes.go` |
| special tokens are in the text | `llama/llama.go` TokenToPiece, `runner/ollamarunner/runner.go` |
| a model that can think does so unless told, and the template's tags are sorted out even if raw | `server/routes.go` |
| `_debug_render_only` answers the prompt | `server/routes.go`, `api/types.go` |
| chats with tools are always parsed | `server/routes.go` |
| lines: the order of fields, zeroes are left out | `api/types.go` |
| errors: the first one has a status, later ones are a line | `server/routes.go` streamResponse |
| tags, show | `api/types.go` |
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from aiohttp import web

from tests.support.model_servers.llama_cpp import chatml
from tests.support.model_servers.serving import Answer, FakeModelServer, Refuse
from tests.support.model_servers.speech import Call, Piece, Rules, Speech
from tests.support.model_servers.wire import Body, Wire, prompt_tokens, stop_words, tool_names

DETAILS = {
    "parent_model": "",
    "format": "gguf",
    "family": "qwen3",
    "families": ["qwen3"],
    "parameter_size": "751.63M",
    "quantization_level": "Q4_K_M",
}
THEN = "2026-01-01T00:00:00Z"


class Ollama(FakeModelServer):
    """The server; what its model is like are its parameters."""

    software = ""
    json_type = "application/json; charset=utf-8"
    json_only = False

    def __init__(
        self,
        answer: Answer,
        *,
        template: Callable[[Body], str] = chatml,
        capabilities: Sequence[str] = ("completion", "tools", "thinking"),
        think: tuple[str, str] = ("<think>", "</think>"),
        stop: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        super().__init__(answer, **settings)
        self._template = template
        self._capabilities = tuple(capabilities)
        self._think = think
        self._stop = tuple(stop)
        """The Modelfile's."""

    def routes(self) -> Iterable[web.RouteDef]:
        return [
            web.post("/api/generate", self._generate),
            web.post("/api/chat", self._chat),
            web.get("/api/tags", self._tags),
            web.post("/api/show", self._show),
            web.get("/api/version", self._version),
        ]

    def error_body(self, status: int, message: str) -> Any:
        del status
        return {"error": message}

    async def _generate(self, request: web.Request) -> web.StreamResponse:
        body = await self._known(request)
        if body.get("raw") and (body.get("template") or body.get("system") or body.get("context")):
            raise Refuse(400, message="raw mode does not support template, system, or context")
        rules = self._rules(body, native=False)
        return await self.generate(request, body, GenerateWire(body), rules, stream=body.get("stream", True))

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await self._known(request)
        if body.get("tools") and "tools" not in self._capabilities:
            raise Refuse(400, message=f"registry.ollama.ai/library/{self.model} does not support tools")
        rules = self._rules(body, native=True)
        if body.get("_debug_render_only"):
            empty = {"model": self.model, "created_at": _now(), "message": {"role": "", "content": ""}, "done": False}
            return await self.answer_json(empty | {"_debug_info": {"rendered_template": self._template(body)}})
        wire, stream = ChatWire(body), body.get("stream", True)
        return await self.generate(request, body, wire, rules, stream=stream, tools=tool_names(body))

    async def _known(self, request: web.Request) -> Body:
        body = await self.read(request)
        if body.get("model") not in (self.model, f"{self.model}:latest"):
            raise Refuse(404, message=f"model '{body.get('model')}' not found")
        return body

    def _rules(self, body: Body, *, native: bool) -> Rules:
        can_think = "thinking" in self._capabilities
        if body.get("think") and not can_think:
            raise Refuse(400, message=f'"{body["model"]}" does not support thinking')
        options = body.get("options") or {}
        limit = options.get("num_predict", -1)
        return Rules(
            special=(),
            stop=stop_words(options.get("stop", self._stop)),
            limit=limit if limit >= 0 else None,
            think=self._think if can_think and body.get("think") is not False else None,
            native=native,
        )

    async def _tags(self, _: web.Request) -> web.StreamResponse:
        name = f"{self.model}:latest"
        model: dict[str, Any] = {"name": name, "model": name, "modified_at": THEN, "size": 522653767}
        return await self.answer_json({"models": [model | {"digest": "7df6b6e09427", "details": DETAILS}]})

    async def _show(self, request: web.Request) -> web.StreamResponse:
        await self._known(request)
        shown: dict[str, Any] = {"template": "{{ .Prompt }}", "details": DETAILS, "model_info": {}}
        return await self.answer_json(shown | {"capabilities": self._capabilities, "modified_at": THEN})

    async def _version(self, _: web.Request) -> web.StreamResponse:
        return await self.answer_json({"version": "0.17.4"})


class GenerateWire(Wire):
    """Lines of `/api/generate`."""

    content_type = "application/x-ndjson"
    junk = b'{"model":"\n'

    def __init__(self, body: Body) -> None:
        self._body = body

    def piece(self, index: int, piece: Piece) -> bytes:
        del index
        thinking = {"thinking": piece.text} if piece.kind == "reasoning" else {}
        said = {"response": piece.text if piece.kind == "content" else ""} | thinking
        return _line(self._head() | said | {"done": False}) if piece.text else b""

    def finish(self, index: int, said: Speech, tail: Piece | None) -> bytes:
        del index, tail
        return _line(self._head() | {"response": ""} | self._last(said))

    def _head(self) -> dict[str, Any]:
        return {"model": self._body["model"], "created_at": _now()}

    def _last(self, said: Speech) -> dict[str, Any]:
        reason = "stop" if said.finish == "tool_calls" else said.finish
        times = {"total_duration": 1_500_000_000, "load_duration": 25_000_000}
        prompt = {"prompt_eval_count": prompt_tokens(self._body), "prompt_eval_duration": 50_000_000}
        answer = {"eval_count": said.tokens, "eval_duration": 900_000_000}
        return {"done": True, "done_reason": reason} | times | prompt | answer

    def error(self) -> bytes:
        return _line({"error": "an error was encountered while running the model: unexpected EOF"})

    def whole(self, said: Sequence[Speech]) -> Any:
        thought = said[0].told("reasoning")
        text = {"response": said[0].told("content")} | ({"thinking": thought} if thought else {})
        return _line(self._head() | text | self._last(said[0])).rstrip()


class ChatWire(GenerateWire):
    """Lines of `/api/chat`: a call comes as a whole."""

    def __init__(self, body: Body) -> None:
        super().__init__(body)
        self._calls = 0

    def piece(self, index: int, piece: Piece) -> bytes:
        del index
        message: dict[str, Any] = {"role": "assistant", "content": piece.text if piece.kind == "content" else ""}
        if piece.kind == "reasoning":
            message["thinking"] = piece.text
        elif piece.opens is not None:
            message["tool_calls"] = [_call(piece.opens, piece.number)]
        elif not piece.text or piece.kind == "call":
            return b""
        return _line(self._head() | {"message": message, "done": False})

    def finish(self, index: int, said: Speech, tail: Piece | None) -> bytes:
        del index, tail
        return _line(self._head() | {"message": {"role": "assistant", "content": ""}} | self._last(said))

    def whole(self, said: Sequence[Speech]) -> Any:
        message: dict[str, Any] = {"role": "assistant", "content": said[0].told("content")}
        if thought := said[0].told("reasoning"):
            message["thinking"] = thought
        if said[0].calls:
            message["tool_calls"] = [_call(call, number) for number, call in enumerate(said[0].calls)]
        return _line(self._head() | {"message": message} | self._last(said[0])).rstrip()


def _call(call: Call, number: int) -> dict[str, Any]:
    function = {"index": number, "name": call.name, "arguments": msgspec.json.decode(call.arguments)}
    return {"id": call.id, "function": function}


def _line(value: dict[str, Any]) -> bytes:
    """As Go writes JSON: with no sign in it that means something in HTML."""
    line = msgspec.json.encode(value)
    for sign in (b"<", b">", b"&"):
        line = line.replace(sign, b"\\u%04x" % ord(sign))
    return line + b"\n"


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")
