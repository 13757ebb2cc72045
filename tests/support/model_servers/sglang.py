"""SGLang as it answers over HTTP: derived from SGLang 0.5.23, read in its wheel.

| what | file, below `sglang/srt/` |
| --- | --- |
| `none` keeps the tools out of the prompt; `auto` without a parser is text | `entrypoints/openai/serving_chat.py` |
| tools that may be called switch `skip_special_tokens` off | `entrypoints/openai/serving_chat.py` |
| `required` without a parser: the model's array of JSON comes as content | `entrypoints/openai/serving_chat.py` |
| a named tool is the only one in the prompt | `entrypoints/openai/serving_chat.py` |
| chunks; finishes come when all choices are over | `entrypoints/openai/sse_utils.py`, `serving_chat.py` |
| flat errors before, nested ones behind the status | `entrypoints/openai/serving_base.py` |
| a stream's generation goes on for two seconds without a client | `managers/tokenizer_manager.py` |
| `rid` may be chosen, is the chunks' id, and ends a generation | `entrypoints/http_server.py` |
| models | `entrypoints/http_server.py` |

The two seconds are left out: a test measures when the connection was closed, which is all that a client can do.
"""

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from aiohttp import web

from tests.support.model_servers.serving import Answer, FakeModelServer, Refuse
from tests.support.model_servers.speech import Piece, Rules, Script, Speech
from tests.support.model_servers.wire import Body, Wire, now, prompt_tokens, sse, stop_words, tool_names


class Sglang(FakeModelServer):
    """The server; what it is started with are its parameters."""

    def __init__(
        self,
        answer: Answer,
        *,
        tool_parser: bool = False,
        think: tuple[str, str] | None = ("<think>", "</think>"),
        **settings: Any,
    ) -> None:
        super().__init__(answer, **settings)
        self._tool_parser = tool_parser
        """`--tool-call-parser`."""
        self._think = think
        """`--reasoning-parser`."""
        self._numbers = dict[str, int]()

    def routes(self) -> Iterable[web.RouteDef]:
        return [
            web.post("/v1/chat/completions", self._chat),
            web.post("/abort_request", self._abort),
            web.get("/v1/models", self._models),
            web.get("/health", self._health),
        ]

    def error_body(self, status: int, message: str) -> Any:
        return _flat(status, message)

    def unauthorized(self) -> Any:
        return {"error": "Unauthorized"}

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await self.read(request)
        choice = _checked(body)
        calls = bool(body.get("tools")) and choice != "none"
        native = calls and self._tool_parser
        rid = body.get("rid") or uuid.uuid4().hex
        self._numbers[rid] = len(self.generations)
        wire = SglangWire(body, rid)
        rules = self._rules(body, calls=calls, native=native)
        try:
            return await self.generate(
                request, body, wire, rules, stream=bool(body.get("stream")), tools=_shown(body, choice)
            )
        finally:
            del self._numbers[rid]

    def _scripts(self, body: Body) -> list[Script]:
        # A parser of reasoning that may not stream tells all of it at once.
        scripts = super()._scripts(body)
        if body.get("stream_reasoning", True) or self._think is None:
            return scripts
        return [_in_one(script, self._think) for script in scripts]

    def _rules(self, body: Body, *, calls: bool, native: bool) -> Rules:
        keeps = calls or body.get("skip_special_tokens") is False
        return Rules(
            special=self.special,
            keep=self.special if keeps else (),
            stop=stop_words(body.get("stop")),
            limit=body.get("max_completion_tokens") or body.get("max_tokens"),
            think=self._think if body.get("separate_reasoning", True) else None,
            native=native,
        )

    async def _abort(self, request: web.Request) -> web.StreamResponse:
        body = await self.read(request)
        for rid, number in self._numbers.items():
            if body.get("abort_all") or rid == body.get("rid"):
                self.generations[number].stopped.set()
        return web.Response(headers={"Server": self.software})

    async def _models(self, _: web.Request) -> web.StreamResponse:
        card = {"id": self.model, "object": "model", "created": now(), "owned_by": "sglang", "root": self.model}
        return await self.answer_json({"object": "list", "data": [card | {"parent": None, "max_model_len": 32768}]})

    async def _health(self, _: web.Request) -> web.StreamResponse:
        return web.Response(headers={"Server": self.software})


class SglangWire(Wire):
    """A chat."""

    def __init__(self, body: Body, rid: str) -> None:
        self._body = body
        self._began = set[int]()
        model = body.get("model", "default")
        self._head = {"id": rid, "object": "chat.completion.chunk", "created": now(), "model": model}

    def piece(self, index: int, piece: Piece) -> bytes:
        role = b""
        if index not in self._began:
            self._began.add(index)
            role = self._chunk(index, {"reasoning_content": None, "role": "assistant", "content": ""})
        if piece.kind == "call":
            return role + self._chunk(index, _call_delta(piece))
        if not piece.text:
            return role
        if piece.kind == "reasoning":
            return role + self._chunk(index, {"reasoning_content": piece.text})
        return role + self._chunk(index, {"reasoning_content": None, "content": piece.text})

    def finish(self, index: int, said: Speech, tail: Piece | None) -> bytes:
        del said, tail
        return b"" if index in self._began else self.piece(index, Piece(""))

    def _chunk(self, index: int, delta: Any, finish: str | None = None, matched: Any = None) -> bytes:
        choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish, "matched_stop": matched}
        return sse(self._head | {"choices": [choice]})

    def end(self, said: Sequence[Speech]) -> bytes:
        frames = [
            self._chunk(index, {"reasoning_content": None}, speech.finish, _matched(speech))
            for index, speech in enumerate(said)
        ]
        if self.counts and (self._body.get("stream_options") or {}).get("include_usage"):
            frames.append(sse(self._head | {"choices": [], "usage": self._usage(said)}))
        return b"".join([*frames, sse(b"[DONE]")])

    def _usage(self, said: Sequence[Speech]) -> dict[str, Any]:
        prompt, answer = prompt_tokens(self._body), sum(speech.tokens for speech in said)
        usage = {"prompt_tokens": prompt, "total_tokens": prompt + answer, "completion_tokens": answer}
        return usage | {"prompt_tokens_details": None, "reasoning_tokens": 0, "completion_tokens_details": None}

    def error(self) -> bytes:
        inner = '"object": "error", "message": "Generation aborted.", "type": "INTERNAL_SERVER_ERROR"'
        return sse(f'{{"error": {{{inner}, "param": null, "code": 500}}}}'.encode()) + sse(b"[DONE]")

    def whole(self, said: Sequence[Speech]) -> Any:
        choices = [
            {"index": index, "message": _message(speech), "logprobs": None, "finish_reason": speech.finish}
            | {"matched_stop": _matched(speech)}
            for index, speech in enumerate(said)
        ]
        head = self._head | {"object": "chat.completion", "choices": choices}
        return head | {"usage": self._usage(said), "metadata": {"weight_version": "default"}}


def _call_delta(piece: Piece) -> dict[str, Any]:
    opens = piece.opens
    function = {"name": opens.name if opens else None, "arguments": piece.text}
    call = {"id": opens and opens.id, "index": piece.number, "type": "function", "function": function}
    return {"role": None, "content": None, "reasoning_content": None, "tool_calls": [call]}


def _message(said: Speech) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.told("content")}
    message["reasoning_content"] = said.told("reasoning") or None
    if said.calls:
        message["tool_calls"] = [
            {"id": call.id, "index": number, "type": "function"}
            | {"function": {"name": call.name, "arguments": call.arguments}}
            for number, call in enumerate(said.calls)
        ]
    return message


def _matched(said: Speech) -> str | int | None:
    """The stop string, or the token that ends an answer."""
    return said.matched if said.matched is not None or said.finish != "stop" else 151645


def _in_one(script: Script, think: tuple[str, str]) -> Script:
    front, _, rest = script.text.partition(think[0])
    thought, closing, answer = rest.partition(think[1])
    if not closing:
        return script
    cut = [answer[at : at + script.cut] for at in range(0, len(answer), script.cut)]
    return msgspec.structs.replace(script, pieces=[*([front] if front else []), think[0], thought, think[1], *cut])


def _shown(body: Body, choice: Any) -> list[str]:
    if choice == "none":
        return []
    return [name for name in tool_names(body) if isinstance(choice, str) or name == choice["function"]["name"]]


def _checked(body: Body) -> Any:
    """The choice of tools, of a body that has all it needs."""
    if not isinstance(body.get("messages"), list):
        raise Refuse(400, _flat(400, "1 validation error: Field required: body.messages", "Bad Request"))
    choice = body.get("tool_choice") or ("auto" if body.get("tools") is not None else "none")
    if choice == "required" and not body.get("tools"):
        raise Refuse(400, message="Tools cannot be empty if tool choice is set to required.")
    if isinstance(choice, dict) and choice["function"]["name"] not in tool_names(body):
        raise Refuse(400, message=f"Tool '{choice['function']['name']}' not found in tools list.")
    if choice not in ("auto", "none") and (body.get("response_format") or body.get("regex") or body.get("ebnf")):
        message = "tool_choice 'required' or a named tool cannot be combined with response_format, regex, or ebnf"
        raise Refuse(400, _flat(400, message, "BadRequest"))
    return choice


def _flat(status: int, message: str, type_: str = "") -> dict[str, Any]:
    known = {400: "BadRequestError", 404: "Not Found", 500: "InternalServerError"}
    return {
        "object": "error",
        "message": message,
        "type": type_ or known.get(status, str(status)),
        "param": None,
        "code": status,
    }
