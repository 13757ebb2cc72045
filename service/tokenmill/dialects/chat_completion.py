"""The parts of a chat completion, streamed or whole: ids, reasons, counts and errors in OpenAI's words."""

from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

from msgspec import UNSET, UnsetType

from tokenmill.dialects.arguments import whole
from tokenmill.dialects.custom_tools import INPUT, input_of, is_custom
from tokenmill.dialects.dialect import Envelope, failure_text
from tokenmill.events import Error, FinishReason
from tokenmill.usage import tokens

CALLED = "tool_calls"
"""The reason that has a client run calls."""

FINISH_REASONS: dict[FinishReason, str] = {
    "stop": "stop",
    "tool-calls": CALLED,
    "length": "length",
    "content-filter": "content_filter",
    "cancelled": "stop",
}
"""Reasons that a client of this shape supports; with the others an answer ends with an error."""

FAILED_CALLS = frozenset({"malformed-call", "unfinished-call", "limit"})
"""Codes of errors after which a call's text may follow."""


class CallShape(NamedTuple):
    """How a call is written: its type is also the name of the member that has the tool's name and what it gets."""

    type: str
    field: str
    """Field of that member: arguments as JSON text, or a text."""
    given: Callable[[Mapping[str, Any]], str]
    """Function from a call's arguments to what the tool gets."""
    delta: bytes
    """More of that in a chunk, to be filled with the call's index and a JSON string."""

    def said(self, name: str, given: str) -> dict[str, Any]:
        """Return the members of a call besides its id."""
        return {"type": self.type, self.type: {"name": name, self.field: given}}


def _call_shape(type_: str, field: str, given: Callable[[Mapping[str, Any]], str]) -> CallShape:
    return CallShape(type_, field, given, f'"tool_calls":[{{"index":%d,"{type_}":{{"{field}":%b}}}}]'.encode())


FUNCTION = _call_shape("function", "arguments", whole)
CUSTOM = _call_shape("custom", INPUT, input_of)


def shape_of(envelope: Envelope, name: str) -> CallShape:
    """Return how calls of this tool are written."""
    return CUSTOM if is_custom(envelope, name) else FUNCTION


_PREFIX = "chatcmpl-"


def finish_of(reason: FinishReason, *, called: bool) -> str | None:
    """Return the reason as this shape has it; None if it has none. `called` is whether a call is in the answer.

    A provider may give calls as its reason though none could be read. A client that waits for their results then has
    nothing to run.
    """
    found = FINISH_REASONS.get(reason)
    return FINISH_REASONS["stop"] if found == CALLED and not called else found


def completion_id(envelope: Envelope) -> str:
    """Return the id of the answer, the same in all its choices: the provider's own, or one derived from the message."""
    if envelope.message_id.startswith(_PREFIX):
        return envelope.message_id
    return _PREFIX + _hash(f"{envelope.conversation_id}\n{envelope.message_id}")


def head(envelope: Envelope, kind: str) -> dict[str, Any]:
    """Return the fields with which every object of the answer begins."""
    return {
        "id": completion_id(envelope),
        "object": kind,
        "created": envelope.created // 1000,
        "model": envelope.model,
    }


def usage_of(counts: Mapping[str, Any] | UnsetType) -> dict[str, Any]:
    """Return the counts of tokens; zeros where there are none."""
    read = tokens({} if counts is UNSET else counts)
    usage: dict[str, Any] = {
        "prompt_tokens": read.input,
        "completion_tokens": read.output,
        "total_tokens": read.total,
    }
    if read.cached or read.cache_written:
        written = {"cache_write_tokens": read.cache_written} if read.cache_written else {}
        usage["prompt_tokens_details"] = {"cached_tokens": read.cached} | written
    if read.reasoning:
        usage["completion_tokens_details"] = {"reasoning_tokens": read.reasoning}
    return usage


def error_of(envelope: Envelope, reason: FinishReason, failure: Error | None) -> dict[str, Any]:
    """Return why an answer ended early; `failure` is its error, if it had one."""
    return {
        "message": failure_text(reason, failure.message if failure is not None else ""),
        "type": "stream_error",
        "code": failure.code if failure is not None else reason,
        "error_id": "err_" + _hash(f"{envelope.conversation_id}\n{envelope.message_id}\n{envelope.choice}"),
    }


def _hash(text: str) -> str:
    return blake2b(text.encode(errors="replace"), digest_size=12).hexdigest()
