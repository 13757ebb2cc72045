"""How llama.cpp's server writes its answers: derived from `tools/server/server-task.cpp` in llama-cpp-python 0.3.36.

The settings on the last line of a completion are some of those that the server repeats.
"""

import secrets
from collections.abc import Sequence
from typing import Any, ClassVar

from tests.support.model_servers.speech import Piece, Speech
from tests.support.model_servers.wire import Body, Wire, now, prompt_tokens, sse

BUILD = "b7777-0123abcd"
SETTINGS: dict[str, Any] = {
    "seed": 4294967295,
    "temperature": 0.8,
    "top_k": 40,
    "top_p": 0.95,
    "min_p": 0.05,
    "typical_p": 1.0,
    "repeat_last_n": 64,
    "repeat_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "stop": [],
    "max_tokens": -1,
    "n_predict": -1,
    "n_keep": 0,
    "ignore_eos": False,
    "stream": True,
    "n_probs": 0,
    "grammar": "",
    "preserved_tokens": [],
    "timings_per_token": False,
}


class CompletionWire(Wire):
    """Lines of `/completion`."""

    content_type = "text/event-stream"
    junk = b'data: {"index":0,"content":\n\n'

    def __init__(self, body: Body, model: str) -> None:
        self._body = body
        self._model = model
        self._counts = dict[int, int]()
        self._prompt = prompt_tokens(body)

    def piece(self, index: int, piece: Piece) -> bytes:
        count = self._counts[index] = self._counts.get(index, 0) + 1
        line = {"index": index, "content": piece.text, "tokens": [1000 + count], "stop": False, "id_slot": 0}
        return sse(line | {"tokens_predicted": count, "tokens_evaluated": self._prompt})

    def finish(self, index: int, said: Speech, tail: Piece | None) -> bytes:
        del tail
        return sse(self._last(index, said, ""))

    def _last(self, index: int, said: Speech, content: str) -> dict[str, Any]:
        line: dict[str, Any] = {"index": index, "content": content, "tokens": [], "id_slot": 0, "stop": True}
        line |= {"model": self._model, "tokens_predicted": said.tokens, "tokens_evaluated": self._prompt}
        settings = {name: self._body.get(name, value) for name, value in SETTINGS.items()}
        line |= {"generation_settings": settings, "prompt": self._body.get("prompt"), "has_new_line": False}
        line |= {"truncated": False, "stop_type": _stop_type(said), "stopping_word": said.matched or ""}
        line |= {"tokens_cached": self._prompt + said.tokens, "timings": self._timings(said)}
        wanted = self._body.get("response_fields") or line
        return {name: line[name] for name in wanted if name in line}

    def _timings(self, said: Speech) -> dict[str, Any]:
        prompt = {"cache_n": 0, "prompt_n": self._prompt, "prompt_ms": 10.5, "prompt_per_token_ms": 0.5}
        predicted = {"predicted_n": said.tokens, "predicted_ms": 20.25, "predicted_per_token_ms": 1.25}
        return prompt | {"prompt_per_second": 2000.0} | predicted | {"predicted_per_second": 800.0}

    def error(self) -> bytes:
        return sse({"error": {"code": 500, "message": "Compute error.", "type": "server_error"}})

    def whole(self, said: Sequence[Speech]) -> Any:
        lines = [self._last(index, speech, speech.told("content")) for index, speech in enumerate(said)]
        return lines[0] if len(lines) == 1 else lines


class ChatWire(CompletionWire):
    """Chunks of a chat."""

    junk = b'data: {"choices":[{"finish_reason":\n\n'
    kind: ClassVar[str] = "chat.completion.chunk"

    def __init__(self, body: Body, model: str) -> None:
        super().__init__(body, model)
        self._id = f"chatcmpl-{secrets.token_urlsafe(24)}"
        self._began = set[int]()

    def piece(self, index: int, piece: Piece) -> bytes:
        role = b"" if index in self._began else self._delta(index, {"role": "assistant", "content": None})
        self._began.add(index)
        delta = _delta(piece)
        return role + (self._delta(index, delta) if delta else b"")

    def _delta(self, index: int, delta: dict[str, Any], finish: str | None = None) -> bytes:
        return sse(self._chunk([{"finish_reason": finish, "index": index, "delta": delta}]))

    def _chunk(self, choices: list[dict[str, Any]], kind: str | None = None) -> dict[str, Any]:
        head = {"choices": choices, "created": now(), "id": self._id, "model": self._model}
        return head | {"system_fingerprint": BUILD, "object": kind or self.kind}

    def finish(self, index: int, said: Speech, tail: Piece | None) -> bytes:
        del tail
        return self._delta(index, {}, said.finish)

    def end(self, said: Sequence[Speech]) -> bytes:
        frames = b""
        if self.counts and (self._body.get("stream_options") or {}).get("include_usage"):
            frames = sse(self._chunk([]) | {"usage": self._usage(said), "timings": self._timings(said[0])})
        return frames + sse(b"[DONE]")

    def _usage(self, said: Sequence[Speech]) -> dict[str, Any]:
        answer = sum(speech.tokens for speech in said)
        usage = {"completion_tokens": answer, "prompt_tokens": self._prompt, "total_tokens": self._prompt + answer}
        return usage | {"prompt_tokens_details": {"cached_tokens": 0}}

    def whole(self, said: Sequence[Speech]) -> Any:
        choices = [
            {"finish_reason": speech.finish, "index": index, "message": _message(speech)}
            for index, speech in enumerate(said)
        ]
        head = {"choices": choices, "created": now(), "model": self._model, "system_fingerprint": BUILD}
        head |= {"object": "chat.completion", "usage": self._usage(said), "id": self._id}
        return head | {"timings": self._timings(said[0])}


def _delta(piece: Piece) -> dict[str, Any]:
    if piece.opens is not None:
        opening = {"index": piece.number, "id": piece.opens.id, "type": "function"}
        return {"tool_calls": [opening | {"function": {"name": piece.opens.name}}]}
    if piece.kind == "call":
        return {"tool_calls": [{"index": piece.number, "function": {"arguments": piece.text}}]}
    name = "reasoning_content" if piece.kind == "reasoning" else "content"
    return {name: piece.text} if piece.text else {}


def _message(said: Speech) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.told("content")}
    if thought := said.told("reasoning"):
        message["reasoning_content"] = thought
    if said.calls:
        message["tool_calls"] = [
            {"type": "function", "function": {"name": call.name, "arguments": call.arguments}, "id": call.id}
            for call in said.calls
        ]
    return message


def _stop_type(said: Speech) -> str:
    if said.matched is not None:
        return "word"
    return {"stop": "eos", "length": "limit"}.get(said.finish, "none")
