"""How vLLM writes its answers: derived from vLLM 0.33.0, read in its wheel.

Below `vllm/entrypoints/`: chats in `openai/chat_completion/serving.py` and `protocol.py`, completions in
`openai/completion/serving.py`, errors in `generate/base/serving.py` and `serve/exception_handling/`. Chunks have the
fields that were set, in the order of the models; the token that reaches the limit comes with the finish; behind an
error there still is `[DONE]`.
"""

import uuid
from collections.abc import Sequence
from typing import Any, ClassVar

from tests.support.model_servers.speech import Piece, Speech
from tests.support.model_servers.wire import Body, Wire, now, prompt_tokens, sse

FINGERPRINT = "vllm-0.33.0-5f1e2d3c"
TYPES = {
    400: "BadRequestError",
    404: "NotFoundError",
    422: "UnprocessableEntityError",
    500: "InternalServerError",
    501: "NotImplementedError",
    503: "ServiceUnavailableError",
}


class CompletionWire(Wire):
    """Text that goes on from a prompt."""

    joins_last = True
    prefix: ClassVar[str] = "cmpl"
    kind: ClassVar[str] = "text_completion"

    def __init__(self, body: Body, request_id: str | None) -> None:
        self._body = body
        self._options = body.get("stream_options") or {}
        self._id = f"{self.prefix}-{request_id or uuid.uuid4().hex}"
        self._head = {"id": self._id, "object": self.kind, "created": now(), "model": body.get("model", "test-model")}

    def piece(self, index: int, piece: Piece) -> bytes:
        return self._text(index, piece.text, None)

    def finish(self, index: int, said: Speech, tail: Piece | None) -> bytes:
        return self._text(index, tail.text if tail else "", said)

    def _text(self, index: int, text: str, said: Speech | None) -> bytes:
        choice: dict[str, Any] = {"index": index, "text": text, "logprobs": None}
        choice |= {"finish_reason": said and said.finish, "stop_reason": said and said.matched}
        return self._chunk(choice | {"prompt_token_ids": None, "token_ids": None})

    def _chunk(self, choice: dict[str, Any], **more: Any) -> bytes:
        return sse(self._head | {"choices": [choice]} | more)

    def end(self, said: Sequence[Speech]) -> bytes:
        frames = b""
        if self.counts and self._options.get("include_usage"):
            last = {"choices": [], "usage": self._usage(said), "system_fingerprint": FINGERPRINT}
            frames = sse(self._head | last)
        return frames + sse(b"[DONE]")

    def _usage(self, said: Sequence[Speech]) -> dict[str, Any]:
        prompt, answer = prompt_tokens(self._body), sum(speech.tokens for speech in said)
        return {"prompt_tokens": prompt, "total_tokens": prompt + answer, "completion_tokens": answer}

    def error(self) -> bytes:
        return sse(vllm_error(500, "Internal server error")) + sse(b"[DONE]")

    def whole(self, said: Sequence[Speech]) -> Any:
        choices = [
            {"index": index, "text": speech.told("content"), "logprobs": None, "finish_reason": speech.finish}
            | {"stop_reason": speech.matched, "token_ids": None, "prompt_logprobs": None, "prompt_token_ids": None}
            for index, speech in enumerate(said)
        ]
        usage = self._usage(said) | {"prompt_tokens_details": None, "completion_tokens_details": None}
        middle = {"service_tier": None, "system_fingerprint": FINGERPRINT, "usage": usage}
        return self._head | {"choices": choices} | middle | {"kv_transfer_params": None, "metrics": None}


class ChatWire(CompletionWire):
    """A chat: the role of each choice first."""

    prefix = "chatcmpl"
    kind = "chat.completion.chunk"

    def __init__(self, body: Body, request_id: str | None, *, named: bool) -> None:
        super().__init__(body, request_id)
        self._named = named
        self._reasons = body.get("include_reasoning", True)

    def begin(self, choices: int) -> bytes:
        delta = {"role": "assistant", "content": ""}
        nothing = {"prompt_token_ids": None, "prompt_text": None}
        return b"".join(
            self._chunk({"index": index, "delta": delta, "logprobs": None, "finish_reason": None}, **nothing)
            for index in range(choices)
        )

    def piece(self, index: int, piece: Piece) -> bytes:
        if piece.kind == "reasoning" and not self._reasons:
            return b""
        choice = {"index": index, "delta": delta_of(piece), "logprobs": None, "finish_reason": None, "token_ids": None}
        return self._chunk(choice, kv_transfer_params=None)

    def finish(self, index: int, said: Speech, tail: Piece | None) -> bytes:
        delta = delta_of(tail or Piece(""))
        choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": self._reason(said)}
        choice |= {"stop_reason": said.matched, "token_ids": None, "weight_versions": None}
        mark = {} if self._options.get("include_usage") else {"system_fingerprint": FINGERPRINT}
        return self._chunk(choice, **mark, kv_transfer_params=None)

    def _reason(self, said: Speech) -> str:
        return "stop" if self._named and said.finish == "tool_calls" else said.finish

    def whole(self, said: Sequence[Speech]) -> Any:
        choices = [self._message(index, speech) for index, speech in enumerate(said)]
        usage = self._usage(said) | {"prompt_tokens_details": None, "completion_tokens_details": None}
        head = self._head | {"object": "chat.completion", "choices": choices, "service_tier": None}
        head |= {"system_fingerprint": FINGERPRINT, "usage": usage, "prompt_logprobs": None, "prompt_token_ids": None}
        return head | {"prompt_text": None, "kv_transfer_params": None, "ec_transfer_params": None, "metrics": None}

    def _message(self, index: int, said: Speech) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": said.told("content"), "refusal": None}
        message |= {"annotations": None, "audio": None, "function_call": None}
        if said.calls:
            functions = [{"name": call.name, "arguments": call.arguments} for call in said.calls]
            calls = zip(said.calls, functions, strict=True)
            message["tool_calls"] = [{"id": call.id, "type": "function", "function": one} for call, one in calls]
        message["reasoning"] = (said.told("reasoning") or None) if self._reasons else None
        choice = {"index": index, "message": message, "logprobs": None, "finish_reason": self._reason(said)}
        return choice | {
            "stop_reason": said.matched,
            "token_ids": None,
            "routed_experts": None,
            "weight_versions": None,
        }


def delta_of(piece: Piece) -> dict[str, Any]:
    """What a token adds to the message."""
    if piece.opens is not None:
        function = {"name": piece.opens.name, "arguments": ""}
        call = {"id": piece.opens.id, "type": "function", "index": piece.number, "function": function}
        return {"tool_calls": [call]}
    if piece.kind == "call":
        return {"tool_calls": [{"index": piece.number, "function": {"arguments": piece.text}}]}
    return {piece.kind: piece.text}


def vllm_error(status: int, message: str, param: str | None = None) -> dict[str, Any]:
    """An error, before or behind the status."""
    type_ = "Not Found" if message == "Not Found" else TYPES.get(status, "BadRequestError")
    return {"error": {"message": message, "type": type_, "param": param, "code": status}}
