"""A server of fake models: each writes the sample of a format, as vLLM without a parser would.

A model's name is that of its format. Given a tool's result, it repeats that, so a tool loop ends. Run as
`python -m tokenmill.demo.model_server PORT [RATE]`, where the rate is tokens per second, and 0 is unlimited.
"""

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
from aiohttp import web

from tokenmill.formats import FORMATS

TOKEN_CHARS = 4

PATH = "/v1/chat/completions"

IN_REASONING = {
    "apriel": "\n[BEGIN FINAL RESPONSE]\n",
    "ernie45": "</think>",
    "minimax_m2": "</think>",
    "nemotron_toolcall_array": "</think>",
}
"""Formats whose answers begin with reasoning, and the marker that ends it."""

NO_PARSER = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'

SAMPLES = {format_.name: format_.sample for format_ in FORMATS}

BAD_REQUEST, NOT_FOUND = 400, 404


class Reply(NamedTuple):
    """An answer in tokens."""

    tokens: list[str]
    reason: str


def model_server(rate: float = 0) -> web.Application:
    """Return the application; `rate` is tokens per second."""
    app = web.Application()
    app.add_routes([web.get("/v1/models", _models), web.post(PATH, _chat)])
    app[RATE] = rate
    return app


RATE = web.AppKey("rate", float)


def say(body: dict[str, Any]) -> Reply:
    """Return what the model of a request's body writes."""
    messages, limit = body["messages"], body.get("max_completion_tokens") or body.get("max_tokens")
    text = _text(body["model"], messages)
    tokens = [text[at : at + TOKEN_CHARS] for at in range(0, len(text), TOKEN_CHARS)]
    if limit and limit < len(tokens):
        return Reply(tokens[:limit], "length")
    return Reply(tokens, "stop")


def _text(model: str, messages: Sequence[dict[str, Any]]) -> str:
    last = messages[-1] if messages else {}
    if last.get("role") == "tool":
        return f"{IN_REASONING.get(model, '')}The tool says: {_content(last)}"
    sample = SAMPLES[model]
    if last.get("role") == "assistant":  # the text to continue
        begun = _content(last)
        return sample.partition(begun)[2] if begun in sample else sample
    return sample


def _content(message: dict[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())


async def _models(_: web.Request) -> web.Response:
    cards = [{"id": name, "object": "model", "created": 0, "owned_by": "vllm", "root": name} for name in SAMPLES]
    return _json({"object": "list", "data": cards})


async def _chat(request: web.Request) -> web.StreamResponse:
    body = await request.json()
    if body.get("model") not in SAMPLES:
        return _refused(NOT_FOUND, "NotFoundError", f"The model `{body.get('model')}` does not exist.")
    if body.get("tools") and body.get("tool_choice", "auto") != "none":
        return _refused(BAD_REQUEST, "BadRequestError", NO_PARSER)
    reply, head = say(body), _head(body)
    if not body.get("stream"):
        return _json(head | {"object": "chat.completion", "choices": _whole(body, reply), "usage": _usage(body, reply)})
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    with suppress(ConnectionResetError):  # the client has left
        await _stream(response, [head | chunk for chunk in _chunks(body, reply)], request.app[RATE])
    return response


async def _stream(response: web.StreamResponse, chunks: Sequence[dict[str, Any]], rate: float) -> None:
    for chunk in chunks:
        await response.write(b"data: " + msgspec.json.encode(chunk) + b"\n\n")
        if rate:
            await asyncio.sleep(1 / rate)
    await response.write(b"data: [DONE]\n\n")


def _chunks(body: dict[str, Any], reply: Reply) -> Iterator[dict[str, Any]]:
    """Yield the role, the tokens, the last with the finish reason, and the usage if requested."""
    choices = range(body.get("n") or 1)
    for index in choices:
        yield _chunk(index, {"role": "assistant", "content": ""})
    for number, token in enumerate(reply.tokens, 1):
        for index in choices:
            yield _chunk(index, {"content": token}, reply.reason if number == len(reply.tokens) else None)
    if (body.get("stream_options") or {}).get("include_usage"):
        yield {"choices": [], "usage": _usage(body, reply)}


def _chunk(index: int, delta: dict[str, str], reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": index, "delta": delta, "logprobs": None, "finish_reason": reason}]}


def _whole(body: dict[str, Any], reply: Reply) -> list[dict[str, Any]]:
    message = {"role": "assistant", "content": "".join(reply.tokens)}
    return [
        {"index": index, "message": message, "logprobs": None, "finish_reason": reply.reason}
        for index in range(body.get("n") or 1)
    ]


def _usage(body: dict[str, Any], reply: Reply) -> dict[str, int]:
    asked = len(msgspec.json.encode([body["messages"], body.get("tools")])) // TOKEN_CHARS
    answered = len(reply.tokens) * (body.get("n") or 1)
    return {"prompt_tokens": asked, "total_tokens": asked + answered, "completion_tokens": answered}


def _head(body: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{time.time_ns():x}",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": body["model"],
    }


def _refused(status: int, kind: str, message: str) -> web.Response:
    return _json({"error": {"message": message, "type": kind, "param": None, "code": status}}, status)


def _json(body: dict[str, Any], status: int = 200) -> web.Response:
    return web.Response(body=msgspec.json.encode(body), content_type="application/json", status=status)


if __name__ == "__main__":
    web.run_app(
        model_server(float(sys.argv[2]) if len(sys.argv) > 2 else 0),  # noqa: PLR2004 -- the second argument
        host="127.0.0.1",
        port=int(sys.argv[1]),
        print=None,
    )
