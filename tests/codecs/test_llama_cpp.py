"""Codec `llama_cpp`: reading the events of a completion."""

from typing import Any

import pytest
from msgspec import UNSET

from tests.support.provided import provided
from tokenmill.codecs.llama_cpp import LLAMA_CPP
from tokenmill.errors import Undecodable
from tokenmill.events import Error, Finish
from tokenmill.records import InputRecord

STOP = {
    "index": 0,
    "content": "",
    "stop": True,
    "stop_type": "eos",
    "tokens_predicted": 2,
    "tokens_evaluated": 5,
    "timings": {"predicted_ms": 1.0},
}


def event(content: str) -> dict[str, Any]:
    return {"index": 0, "content": content, "tokens": [1], "stop": False, "tokens_predicted": 1, "tokens_evaluated": 5}


def test_a_completion() -> None:
    """Text, and at its end the counts under the names that others have for them."""
    done = provided("llama_cpp", event("Hel"), event("lo"), STOP)
    assert done.text == "Hello"
    assert done.ends == [("stop", {"prompt_tokens": 5, "completion_tokens": 2})]


@pytest.mark.parametrize(("kind", "native"), [("eos", "stop"), ("word", "stop"), ("limit", "length"), ("none", "stop")])
def test_reasons(kind: str, native: str) -> None:
    """Only a limit cuts an answer off."""
    assert provided("llama_cpp", event("a"), {**STOP, "stop_type": kind}).ends[0][0] == native


def test_an_empty_completion_is_told() -> None:
    """Its end opens it."""
    assert [reason for reason, _ in provided("llama_cpp", STOP).ends] == ["stop"]


def test_an_error_ends_the_message() -> None:
    """With its status; what follows opens another one."""
    done = provided("llama_cpp", event("a"), {"error": {"code": 500, "message": "no slot", "type": "server_error"}})
    assert done.errors == [("upstream", "no slot")]
    assert [failed.status for failed in done.events if isinstance(failed, Error)] == [500]
    assert [reason for reason, _ in done.ends] == ["error"]


def test_what_is_no_event_is_refused() -> None:
    """It goes to the dead letters."""
    with pytest.raises(Undecodable, match="not an event"):
        LLAMA_CPP.decode(b"", InputRecord("tokens", 0, 0, 0, b"c", b'{"choices":[]}'))


def test_the_word_at_which_it_stopped() -> None:
    """Empty where the model ended by itself."""
    for word, said in (("END", "END"), ("", UNSET)):
        *_, finish = provided("llama_cpp", event("a"), {**STOP, "stopping_word": word}).events
        assert isinstance(finish, Finish)
        assert finish.stop_sequence == said
