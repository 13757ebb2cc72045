"""llama.cpp's server as it answers over HTTP: derived from the sources in llama-cpp-python 0.3.36.

| what | file, below `vendor/llama.cpp/` |
| --- | --- |
| `/apply-template` takes a chat, and answers its prompt alone | `tools/server/server-context.cpp` |
| a special token has no text unless it is preserved, or with `--special` | `tools/server/server-context.cpp` |
| lines of `/completion`; no `[DONE]` | `tools/server/server-task.cpp` |
| chunks of chats, the order of their keys | `tools/server/server-task.cpp` |
| `parse_tool_calls` changes nothing; a named tool counts as `auto` | `server-common.cpp`, `server-schema.cpp` |
| turns without content or calls and parts that are not text are refused | `common/chat.cpp` |
| `none` keeps the tools in the prompt | `common/chat-auto-parser-generator.cpp` |
| a chat preserves what its template says, whatever the body says | `tools/server/server-common.cpp` |
| errors, and the first one of a stream has a status | `server-common.cpp`, `server-http.cpp` |
| models, health | `tools/server/server-context.cpp` |
"""

from collections.abc import Callable, Iterable
from typing import Any

from aiohttp import web

from tests.support.model_servers.llama_cpp_wire import ChatWire, CompletionWire
from tests.support.model_servers.serving import Answer, FakeModelServer, Refuse
from tests.support.model_servers.speech import Rules
from tests.support.model_servers.wire import Body, Wire, now, stop_words, tool_names

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    500: "server_error",
    501: "not_supported_error",
    503: "unavailable_error",
}


def chatml(body: Body) -> str:
    """A prompt as many templates make it, with the tools in front."""
    tools = "".join(f"{name}\n" for name in tool_names(body))
    front = f"<|im_start|>system\n<tools>\n{tools}</tools><|im_end|>\n" if tools else ""
    turns = "".join(f"<|im_start|>{turn['role']}\n{turn.get('content')}<|im_end|>\n" for turn in body["messages"])
    return f"{front}{turns}<|im_start|>assistant\n"


class LlamaCpp(FakeModelServer):
    """The server; what it is started with are its parameters."""

    software = "llama.cpp"
    json_type = "application/json; charset=utf-8"
    json_only = False

    def __init__(
        self,
        answer: Answer,
        *,
        template: Callable[[Body], str] = chatml,
        preserved: Iterable[str] = (),
        shows_special: bool = False,
        think: tuple[str, str] | None = ("<think>", "</think>"),
        loading: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(answer, **settings)
        self._template = template
        self._preserved = tuple(preserved)
        """What the template needs in a chat."""
        self._shows_special = shows_special
        """`--special`."""
        self._think = think
        """What the template's parser of reasoning looks for."""
        self.loading = loading

    def routes(self) -> Iterable[web.RouteDef]:
        return [
            web.post("/apply-template", self._apply),
            web.post("/completion", self._completion),
            web.post("/v1/chat/completions", self._chat),
            web.get("/v1/models", self._models),
            web.get("/health", self._health),
        ]

    def error_body(self, status: int, message: str) -> Any:
        if message == "Not Found":
            return {"error": {"message": "File Not Found", "type": "not_found_error", "code": 404}}
        return {"error": {"code": status, "message": message, "type": TYPES.get(status, "server_error")}}

    def unauthorized(self) -> Any:
        return {"error": {"message": "Invalid API Key", "type": "authentication_error", "code": 401}}

    async def _apply(self, request: web.Request) -> web.StreamResponse:
        body = await self._ready(request)
        _checked(body)
        return await self.answer_json({"prompt": self._template(body)})

    async def _completion(self, request: web.Request) -> web.StreamResponse:
        body = await self._ready(request)
        if "prompt" not in body:
            raise Refuse(400, message='"prompt" must be provided')
        return await self._generate(request, body, CompletionWire(body, self.model), self._rules(body))

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await self._ready(request)
        _checked(body)
        choice = body.get("tool_choice", "auto")
        native = bool(body.get("tools")) and choice != "none"
        sorts = body.get("reasoning_format", "auto") != "none"
        preserved = body | {"preserved_tokens": self._preserved}
        rules = self._rules(preserved, native=native, think=self._think if sorts else None)
        return await self._generate(request, body, ChatWire(body, self.model), rules)

    async def _generate(self, request: web.Request, body: Body, wire: Wire, rules: Rules) -> web.StreamResponse:
        stream = bool(body.get("stream"))
        return await self.generate(request, body, wire, rules, stream=stream, tools=tool_names(body))

    def _rules(self, body: Body, *, native: bool = False, think: tuple[str, str] | None = None) -> Rules:
        limit = body.get("n_predict", body.get("max_tokens", -1))
        return Rules(
            special=self.special,
            keep=self.special if self._shows_special else tuple(body.get("preserved_tokens") or ()),
            stop=stop_words(body.get("stop")),
            limit=limit if limit is not None and limit >= 0 else None,
            native=native,
            think=think,
        )

    async def _ready(self, request: web.Request) -> Body:
        self._serve()
        return await self.read(request)

    def _serve(self) -> None:
        if self.loading:
            error = {"message": "Loading model", "type": "unavailable_error", "code": 503}
            raise Refuse(503, {"error": error})

    async def _models(self, _: web.Request) -> web.StreamResponse:
        self._serve()
        details = {"parent_model": "", "format": "gguf", "family": "", "families": [""]}
        details |= {"parameter_size": "", "quantization_level": ""}
        model: dict[str, Any] = {"name": self.model, "model": self.model, "modified_at": "", "size": "", "digest": ""}
        model |= {"type": "model", "description": "", "tags": [""], "capabilities": ["completion"]}
        meta = {"vocab_type": 2, "n_vocab": 151936, "n_ctx": 4096, "n_ctx_train": 32768, "n_embd": 896}
        card: dict[str, Any] = {"id": self.model, "aliases": [], "tags": [], "object": "model", "created": now()}
        card |= {"owned_by": "llamacpp", "meta": meta | {"n_params": 494032768, "size": 397807616, "ftype": "Q4_K_M"}}
        models = [model | {"parameters": "", "details": details}]
        return await self.answer_json({"models": models, "object": "list", "data": [card]})

    async def _health(self, _: web.Request) -> web.StreamResponse:
        self._serve()
        return await self.answer_json({"status": "ok"})


def _checked(body: Body) -> None:
    if "messages" not in body:
        raise Refuse(400, message="'messages' is required")
    if not isinstance(body["messages"], list):
        raise Refuse(400, message="Expected 'messages' to be an array")
    if body.get("tools") and body.get("tool_choice") != "none" and "grammar" in body:
        raise Refuse(400, message="Cannot use custom grammar constraints with tools.")
    for message in body["messages"]:
        content = message.get("content")
        if message["role"] == "assistant" and "content" not in message and not message.get("tool_calls"):
            raise Refuse(400, message="Assistant message must contain either 'content' or 'tool_calls'!")
        if isinstance(content, list) and any(part["type"] != "text" for part in content):
            raise Refuse(400, message="unsupported content[].type")
