"""Codec `ollama`: reading the lines of chat and generate."""

from typing import Any

import pytest

from tests.support.provided import provided

DONE = {"model": "m", "message": {"content": ""}, "done": True, "done_reason": "stop", "eval_count": 7}


def line(content: str = "", **message: Any) -> dict[str, Any]:
    return {"model": "m", "message": {"role": "assistant", "content": content, **message}, "done": False}


def call(**function: Any) -> dict[str, Any]:
    return line(tool_calls=[{"function": function}])


def test_a_message_with_everything() -> None:
    """Thinking, text, calls whose arguments are objects, counts."""
    last = {**DONE, "prompt_eval_count": 5, "total_duration": 1}
    done = provided("ollama", line(thinking="plan"), line("Hi"), call(name="f", arguments={"x": 1}), last)
    assert (done.reasoning, done.text, done.calls) == ("plan", "Hi", [("f", {"x": 1})])
    assert done.messages == [("o0-0", "m")]
    assert done.ends == [("tool-calls", {"prompt_eval_count": 5, "eval_count": 7})]


def test_calls_are_counted_over_lines() -> None:
    """Calls have no index; ids are optional and kept."""
    named = line(tool_calls=[{"id": "c2", "function": {"name": "g", "arguments": '{"y":2}'}}])
    done = provided("ollama", call(name="f", arguments={}), named, call(name="f"), DONE)
    assert done.calls == [("f", {}), ("g", {"y": 2}), ("f", {})]
    assert done.call_ids[1] == "c2"


def test_generate_has_its_text_in_response() -> None:
    """The rest is the same."""
    done = provided("ollama", {"response": "Hel", "done": False}, {"response": "lo", "thinking": "hm"}, DONE)
    assert (done.text, done.reasoning) == ("Hello", "hm")


@pytest.mark.parametrize(("reason", "native"), [("stop", "stop"), ("length", "length"), (None, "stop")])
def test_reasons(reason: str | None, native: str) -> None:
    """Older servers give none."""
    assert provided("ollama", line("a"), {**DONE, "done_reason": reason}).ends[0][0] == native


def test_an_error_is_looked_at_first() -> None:
    """It ends the message."""
    done = provided("ollama", line("a"), {"error": "model runner has stopped", "done": True}, line("b"), DONE)
    assert done.errors == [("upstream", "model runner has stopped")]
    assert [reason for reason, _ in done.ends] == ["error", "stop"]


@pytest.mark.parametrize("reason", ["load", "unload"])
def test_loading_a_model_is_no_answer(reason: str) -> None:
    """No message opens."""
    assert provided("ollama", {**DONE, "done_reason": reason}).events == []


def test_an_empty_answer_is_told() -> None:
    """It begins and ends."""
    assert [event.type for event in provided("ollama", DONE).events] == ["message-start", "finish"]


def test_messages_follow_each_other() -> None:
    """Lines after the end are the next message."""
    done = provided("ollama", line("a"), DONE, line("b"), None)
    assert [message for message, _ in done.messages] == ["o0-0", "o0-2"]
    assert len(done.ends) == 2


def test_several_lines_in_one_record() -> None:
    """Producers pass on what one read of a socket gave them; blank lines are ignored."""
    record = b'{"message":{"content":"a"}}\n\n{"message":{"content":"b"},"done":true}\n'
    done = provided("ollama", record)
    assert (done.text, len(done.ends)) == ("ab", 1)


def test_the_header_names_the_message() -> None:
    """The lines have no ids."""
    assert provided("ollama", line("a"), headers=[("tm-message-id", b"m7")]).messages == [("m7", "m")]


def test_images_are_a_part() -> None:
    """As they are."""
    assert provided("ollama", line("a", images=["aGk="]), DONE).parts == [("images", ["aGk="])]


@pytest.mark.parametrize("junk", [b"junk", b"{", b"[]", b"{}", b'{"x":1}', b'{"message":{}}\n{'])
def test_junk_is_a_dead_letter_and_changes_nothing(junk: bytes) -> None:
    """The message continues after it."""
    done = provided("ollama", line("a"), junk, line("b"), DONE)
    assert (done.rejected, done.text, len(done.ends)) == (["undecodable"], "ab", 1)
