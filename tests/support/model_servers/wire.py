"""How model servers write answers, and what their requests have in common."""

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from tests.support.model_servers.speech import Piece, Speech

Body = dict[str, Any]


class Wire(ABC):
    """How a server writes one answer: what comes before, for and behind each token, and as a whole."""

    content_type: ClassVar[str] = "text/event-stream; charset=utf-8"
    junk: ClassVar[bytes] = b'data: {"id":"chatcmpl-\n\n'
    joins_last: ClassVar[bool] = False
    """A token that reaches the limit comes with the finish."""
    counts: bool = True
    """Whether tokens are counted at all."""

    def begin(self, choices: int) -> bytes:
        """Before the first token."""
        del choices
        return b""

    @abstractmethod
    def piece(self, index: int, piece: Piece) -> bytes:
        """One token of a choice, or nothing if the server would not tell it."""

    @abstractmethod
    def finish(self, index: int, said: Speech, tail: Piece | None) -> bytes:
        """The end of a choice."""

    def end(self, said: Sequence[Speech]) -> bytes:
        """The end of all."""
        del said
        return b""

    @abstractmethod
    def error(self) -> bytes:
        """Something went wrong behind the status."""

    @abstractmethod
    def whole(self, said: Sequence[Speech]) -> Any:
        """The answer to a request without a stream."""


def sse(value: Any) -> bytes:
    """One frame of a stream of server-sent events."""
    return b"data: " + (value if isinstance(value, bytes) else msgspec.json.encode(value)) + b"\n\n"


def prompt_tokens(body: Body) -> int:
    """About how many tokens the prompt has."""
    return len(msgspec.json.encode([body.get("messages"), body.get("prompt"), body.get("tools")])) // 4


def tool_names(body: Body) -> list[str]:
    """Names of all tools of a request in OpenAI's form."""
    return [tool["function"]["name"] for tool in body.get("tools") or ()]


def stop_words(stop: str | Sequence[str] | None) -> tuple[str, ...]:
    """The stop strings of a request, of which one may come alone."""
    return (stop,) if isinstance(stop, str) else tuple(stop or ())


def now() -> int:
    """The time as chunks have it."""
    return int(time.time())
