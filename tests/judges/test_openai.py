"""The Python SDK of OpenAI reads the dialects `openai` and `openai_completion`."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from openai import APIError, OpenAI
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from tests.support.judging import serving, sse
from tests.support.scenarios import SCENARIOS, Rendered, lost, rendered

CLIENT = OpenAI(base_url="http://127.0.0.1", api_key="x", max_retries=0)
MODES = [pytest.param({}, id="whole"), pytest.param({"stream_tool_input": True}, id="growing")]
FAILED = ("error", "timeout")
DONE = b"[DONE]"


def read(payloads: Sequence[bytes]) -> Any:
    """The completion that the SDK makes of a stream."""
    with (
        serving(sse(payloads)) as url,
        CLIENT.with_options(base_url=url).chat.completions.stream(
            model="m", messages=[{"role": "user", "content": "?"}], stream_options={"include_usage": True}
        ) as stream,
    ):
        for _ in stream:
            pass
        return stream.current_completion_snapshot


def check(done: Rendered, message: Any) -> None:
    """What the client shows is what happened; text beside calls without its white space."""
    assert message.role == "assistant"
    assert "".join((message.content or "").split()) == "".join(done.shown.split())
    assert getattr(message, "reasoning_content", None) in (done.reasoning, None)
    assert message.refusal in ("".join(done.parts("refusal")), None)
    complete = []
    for call in message.tool_calls or ():
        try:
            complete.append((call.id, call.function.name, json.loads(call.function.arguments)))
        except ValueError:  # one that broke off
            assert call.id not in [known[0] for known in done.calls]
    assert complete == done.calls


@pytest.mark.parametrize("options", MODES)
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_client_shows_what_happened(name: str, options: dict[str, Any]) -> None:
    """Text, reasoning and calls, whatever befell the message; strict models take every chunk."""
    done = rendered(SCENARIOS[name], "openai", **options)
    for payload in done.payloads[:-1]:
        if b'"error":' not in payload:
            ChatCompletionChunk.model_validate_json(payload, strict=True)
    if done.finish.reason in FAILED:
        with pytest.raises(APIError):
            read(done.payloads)
    else:
        check(done, read(done.payloads).choices[0].message)


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_whole_answer_is_one_of_its_completions(name: str) -> None:
    """Strict models take it."""
    (payload,) = rendered(SCENARIOS[name], "openai_completion").payloads
    done = rendered(SCENARIOS[name], "openai_completion")
    check(done, ChatCompletion.model_validate_json(payload, strict=True).choices[0].message)


def test_counts_of_tokens_arrive() -> None:
    """In a chunk of their own."""
    usage = read(rendered(SCENARIOS["text"], "openai").payloads).usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (5, 7, 12)


def test_a_lost_message_ends_with_an_error() -> None:
    """The client is told why."""
    with pytest.raises(APIError, match="the log no longer holds its beginning"):
        read(lost("openai").payloads)


# The judge judges: faults that it must see


def test_the_judge_sees_a_role_that_comes_twice() -> None:
    """It joins what comes twice."""
    payloads = rendered(SCENARIOS["text"], "openai").payloads
    twice = [payload.replace(b'"delta":{"content"', b'"delta":{"role":"assistant","content"') for payload in payloads]
    assert read(twice).choices[0].message.role != "assistant"


def test_the_judge_sees_another_object() -> None:
    """Chunks of another kind are skipped."""
    payloads = rendered(SCENARIOS["text"], "openai").payloads
    wrong = [payload.replace(b"chat.completion.chunk", b"chat.completion") for payload in payloads]
    with pytest.raises(Exception):  # noqa: B017, PT011 -- whatever the client makes of it, it is no answer
        assert read(wrong).choices[0].message.content == "Hello"


def test_the_judge_sees_a_missing_field() -> None:
    """The strict models want every field of the shape."""
    payload = rendered(SCENARIOS["text"], "openai").payloads[0]
    with pytest.raises(ValueError, match="created"):
        ChatCompletionChunk.model_validate_json(payload.replace(b'"created"', b'"made"'), strict=True)
