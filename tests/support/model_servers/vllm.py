"""vLLM as it answers over HTTP: derived from vLLM 0.33.0, read in its wheel.

| what | file, below `vllm/` |
| --- | --- |
| tools without a choice count as `auto`; an empty list is refused | `entrypoints/openai/chat_completion/protocol.py` |
| `auto`, `required` and a named tool are refused without a parser | `renderers/online_renderer.py` |
| `none` leaves the tools in the prompt | `renderers/online_renderer.py` |
| with a parser and `none` the text of calls is gone (issue 55080) | `parser/abstract_parser.py` |
| errors before there is a status | `entrypoints/serve/exception_handling/`, `entrypoints/serve/engine/serving.py` |
| a completion without a length has 16 tokens | `entrypoints/openai/completion/protocol.py` |
| models | `entrypoints/openai/models/serving.py` |

`forced="native"` is older vLLM (seen in `entrypoints/openai/serving_chat.py` at commit 003fe593): `required` and a
named tool make structured output and so `tool_calls`, with or without a parser.
"""

import re
import uuid
from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from aiohttp import web

from tests.support.model_servers.serving import Answer, FakeModelServer, Refuse
from tests.support.model_servers.speech import Rules, Script
from tests.support.model_servers.vllm_wire import ChatWire, CompletionWire, vllm_error
from tests.support.model_servers.wire import Body, now, stop_words, tool_names

NO_PARSER = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'

COMPLETION_TOKENS = 16
"""Length of a completion whose request sets none."""


class Vllm(FakeModelServer):
    """The server; what it is started with are its parameters."""

    headers_first = True

    def __init__(
        self,
        answer: Answer,
        *,
        auto_tools: bool = False,
        markers: tuple[str, str] = ("<tool_call>", "</tool_call>"),
        exclude_tools: bool = False,
        forced: Literal["refuse", "native"] = "refuse",
        think: tuple[str, str] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(answer, **settings)
        self._auto_tools = auto_tools
        """`--enable-auto-tool-choice` and a parser of calls between these markers."""
        self._markers = markers
        self._exclude_tools = exclude_tools
        """`--exclude-tools-when-tool-choice-none`."""
        self._forced = forced
        self._think = think
        """`--reasoning-parser`."""

    def routes(self) -> Iterable[web.RouteDef]:
        return [
            web.post("/v1/chat/completions", self._chat),
            web.post("/v1/completions", self._completions),
            web.get("/v1/models", self._models),
            web.get("/health", self._health),
            web.get("/version", self._version),
        ]

    def error_body(self, status: int, message: str) -> Any:
        return vllm_error(status, message)

    def unauthorized(self) -> Any:
        return {"error": "Unauthorized"}

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await self.read(request)
        choice = _checked(body)
        self._know(body)
        self._allow(choice)
        shown = [] if choice == "none" and self._exclude_tools else tool_names(body)
        forced = isinstance(choice, dict) or choice == "required"
        native = forced or (self._auto_tools and choice == "auto")
        rules = msgspec.structs.replace(self._rules(body), think=self._think, native=native)
        stream = bool(body.get("stream"))
        wire = ChatWire(body, request.headers.get("X-Request-Id"), named=isinstance(choice, dict))
        return await self.generate(request, body, wire, rules, stream=stream, tools=shown)

    async def _completions(self, request: web.Request) -> web.StreamResponse:
        body = await self.read(request)
        if "prompt" not in body:
            raise Refuse(400, message="Either prompt or prompt_embeds must be provided and non-empty.")
        self._know(body)
        wire, rules = CompletionWire(body, request.headers.get("X-Request-Id")), self._rules(body)
        rules = msgspec.structs.replace(rules, limit=rules.limit or COMPLETION_TOKENS)
        return await self.generate(request, body, wire, rules, stream=bool(body.get("stream")))

    def _scripts(self, body: Body) -> list[Script]:
        scripts = super()._scripts(body)
        if not self._auto_tools or body.get("tool_choice") != "none":
            return scripts
        calls = re.compile("(?s)" + ".*?".join(map(re.escape, self._markers)))
        return [_without(calls, script) for script in scripts]

    def _know(self, body: Body) -> None:
        model = body.get("model", self.model)
        if model != self.model:
            message = f"The model `{model}` does not exist. Valid aliases: {self.model}."
            raise Refuse(404, vllm_error(404, message, "model"))

    def _allow(self, choice: Any) -> None:
        if choice == "none" or self._auto_tools:
            return
        if choice == "auto":
            raise Refuse(400, message=NO_PARSER)
        if self._forced == "refuse":
            which = f'function "{choice["function"]["name"]}"' if isinstance(choice, dict) else f'"{choice}"'
            raise Refuse(400, message=f"tool_choice={which} requires --tool-call-parser to be set")

    def _rules(self, body: Body) -> Rules:
        skips = body.get("skip_special_tokens") is not False
        limit = body.get("max_completion_tokens") or body.get("max_tokens")
        return Rules(
            special=self.special,
            keep=() if skips else self.special,
            spaced=not skips and body.get("spaces_between_special_tokens") is not False,
            stop=stop_words(body.get("stop")),
            limit=limit,
        )

    async def _models(self, _: web.Request) -> web.StreamResponse:
        permission = {"id": f"modelperm-{uuid.uuid4().hex}", "object": "model_permission", "created": now()}
        permission |= {"allow_create_engine": False, "allow_sampling": True, "allow_logprobs": True}
        permission |= {"allow_search_indices": False, "allow_view": True, "allow_fine_tuning": False}
        permission |= {"organization": "*", "group": None, "is_blocking": False}
        card = {"id": self.model, "object": "model", "created": now(), "owned_by": "vllm", "root": self.model}
        card |= {"parent": None, "max_model_len": 32768, "permission": [permission]}
        return await self.answer_json({"object": "list", "data": [card]})

    async def _health(self, _: web.Request) -> web.StreamResponse:
        return web.Response(headers={"Server": self.software})

    async def _version(self, _: web.Request) -> web.StreamResponse:
        return await self.answer_json({"version": "0.33.0"})


def _without(calls: re.Pattern[str], script: Script) -> Script:
    """A script whose calls are gone from its text, but not from the count of tokens."""
    text = calls.sub("", script.text)
    gone = (len(script.text) - len(text)) // script.cut
    return msgspec.structs.replace(script, text=text, pieces=None, hidden=gone)


def _checked(body: Body) -> Any:
    """The choice of tools, of a body that has all it needs."""
    if not isinstance(body.get("messages"), list):
        raise _invalid("Field required", "body.messages")
    if body.get("tools") == []:
        message = "`tools` must not be an empty array. Either provide at least one tool or omit the field entirely."
        raise _invalid(f"Value error, {message}", "tools")
    if body.get("stream_options") and not body.get("stream"):
        raise _invalid("Value error, Stream options can only be defined when `stream=True`.", "stream_options")
    choice = body.get("tool_choice", "auto" if body.get("tools") else "none") or "none"
    if choice != "none" and not body.get("tools"):
        raise _invalid("Value error, When using `tool_choice`, `tools` must be set.", "tool_choice")
    if isinstance(choice, dict) and choice["function"]["name"] not in tool_names(body):
        message = "The tool specified in `tool_choice` does not match any of the specified `tools`"
        raise _invalid(f"Value error, {message}", "tool_choice")
    return choice


def _invalid(message: str, param: str) -> Refuse:
    text = "1 validation error:\n  " + str({"type": "value_error", "loc": "body", "msg": message})
    return Refuse(400, {"error": {"message": text, "type": "Bad Request", "param": param, "code": 400}})
