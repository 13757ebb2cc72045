"""What a chat completion is made of."""

from typing import Any

import pytest
from msgspec import UNSET

from tokenmill.dialects import Envelope
from tokenmill.dialects.chat_completion import FINISH_REASONS, completion_id, error_of, finish_of, head, usage_of
from tokenmill.events import Error, FinishReason, MessageStart


def envelope(message_id: str = "m", choice: int = 0) -> Envelope:
    """Of a message in the conversation `c`."""
    return Envelope("c", message_id, choice, 1_760_000_000_999, MessageStart("q", "plain"))


def test_ids_are_derived_from_the_message() -> None:
    """The same in all choices and whenever it is rendered; a provider's own is kept."""
    made = completion_id(envelope())
    assert made == completion_id(envelope(choice=1)) == "chatcmpl-" + made[9:]
    assert made != completion_id(envelope("other"))
    assert completion_id(envelope("chatcmpl-7")) == "chatcmpl-7"


def test_calls_are_a_reason_where_there_are_some() -> None:
    """A client has nothing to run where none could be read; other reasons do not depend on it."""
    assert [finish_of("tool-calls", called=called) for called in (True, False)] == ["tool_calls", "stop"]
    assert [finish_of("length", called=called) for called in (True, False)] == ["length"] * 2
    assert finish_of("timeout", called=True) is None


def test_every_object_begins_alike() -> None:
    """Seconds, rounded down."""
    fields = head(envelope("chatcmpl-7"), "chat.completion")
    assert fields == {"id": "chatcmpl-7", "object": "chat.completion", "created": 1_760_000_000, "model": "q"}


@pytest.mark.parametrize(
    ("given", "usage"),
    [
        (UNSET, {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}),
        ({"input_tokens": 5, "output_tokens": 2}, {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}),
        (
            {"input_tokens": 5, "output_tokens": 2, "total_tokens": 9},
            {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 9},
        ),
        (
            {
                "prompt_tokens": 5,
                "completion_tokens": 2,
                "prompt_tokens_details": {"cached_tokens": 3},
                "completion_tokens_details": {"reasoning_tokens": 1},
            },
            {
                "prompt_tokens": 5,
                "completion_tokens": 2,
                "total_tokens": 7,
                "prompt_tokens_details": {"cached_tokens": 3},
                "completion_tokens_details": {"reasoning_tokens": 1},
            },
        ),
        (
            {"input_tokens": 1, "output_tokens": 2, "cache_creation_input_tokens": 4},
            {
                "prompt_tokens": 5,
                "completion_tokens": 2,
                "total_tokens": 7,
                "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 4},
            },
        ),
    ],
)
def test_counts_have_openais_names(given: Any, usage: dict[str, Any]) -> None:
    """Details only where there are some."""
    assert usage_of(given) == usage


def test_an_error_tells_what_the_provider_said() -> None:
    """Or that the answer ended early, and how."""
    said = error_of(envelope(), "error", Error("upstream", "overloaded"))
    assert (said["message"], said["type"], said["code"]) == ("overloaded", "stream_error", "upstream")
    unsaid = error_of(envelope(), "timeout", None)
    assert (unsaid["message"], unsaid["code"]) == ("the answer ended early: timeout", "timeout")
    assert said["error_id"] == unsaid["error_id"]
    assert said["error_id"] != error_of(envelope(choice=1), "error", None)["error_id"]


def test_every_reason_has_a_word_or_is_an_error() -> None:
    """Clients of this shape check the words."""
    reasons: set[FinishReason] = set(FinishReason.__args__)  # type: ignore[attr-defined] # -- a Literal knows its values
    assert reasons - FINISH_REASONS.keys() == {"error", "timeout"}
    assert set(FINISH_REASONS.values()) <= {"stop", "length", "tool_calls", "content_filter"}
