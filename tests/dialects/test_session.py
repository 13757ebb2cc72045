"""Dialect `session`."""

import json
from typing import Any

import pytest

from tests.support.scenarios import SCENARIOS, lost, rendered
from tokenmill.dialects import Envelope
from tokenmill.dialects.session import CREATED, SESSION, SessionState
from tokenmill.events import Event, Finish, Part, TextDelta
from tokenmill.formats import compile_grammar
from tokenmill.parser import Options
from tokenmill.systems.qwen_web import qwen_sse


def record(*events: Event, **options: Any) -> dict[str, Any]:
    """The one record of a message."""
    start = compile_grammar(Options(**options)).message_start
    state, envelope = SessionState(), Envelope("c", "m", 0, 1_000, start)
    (payload,) = [p for event in (*events, Finish("stop")) for p in SESSION.encode(state, envelope, event, 0, 2_000)]
    found: dict[str, Any] = json.loads(payload)
    return found


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_answer_makes_one_record(name: str) -> None:
    """With counts of what its events said, and nothing of its text."""
    done = rendered(SCENARIOS[name], "session")
    (payload,) = done.payloads
    found = json.loads(payload)
    assert found.get("text_chars", 0) == len(done.text)
    assert found.get("reasoning_chars", 0) == len(done.reasoning)
    assert found.get("tool_calls", 0) == len(done.calls)
    assert found["reason"] == done.finish.reason
    assert (found["conversation_id"], found["message_id"], found["model"]) == ("conversation", "message", "some-model")


def test_ids_are_those_that_the_provider_told() -> None:
    """The next request refers to the answer; where the provider told no id, by that of the message."""
    told = Part(CREATED, {"chat_id": "chat-1", "parent_id": "p-1", "response_id": "r-1"})
    found = record(told, TextDelta("t", "abc"), conversation_hash="h")
    assert found == {
        "conversation_id": "c",
        "message_id": "m",
        "conversation_hash": "h",
        "chat_id": "chat-1",
        "parent_id": "r-1",
        "reason": "stop",
        "opened": 1_000,
        "ended": 2_000,
        "text_chars": 3,
    }
    assert record()["parent_id"] == "m"


@pytest.mark.parametrize("value", [None, "x", {}, {"chat_id": 5, "response_id": None}])
def test_odd_ids_are_none(value: Any) -> None:
    """A provider may tell anything."""
    found = record(Part(CREATED, value))
    assert (found.get("chat_id"), found["parent_id"]) == (None, "m")


def test_the_part_is_the_one_that_the_codec_makes() -> None:
    """Both name it, as neither may know the other."""
    assert CREATED == qwen_sse.CREATED


def test_a_lost_message_leaves_a_record() -> None:
    """It was an answer, of which nothing is known."""
    *_, payload = lost("session").payloads
    assert json.loads(payload)["reason"] == "error"
