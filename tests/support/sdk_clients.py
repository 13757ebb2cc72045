"""The official SDKs for Python, each running the tool loop: every turn as the SDK shows it when it is over."""

import json
import ssl
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import anthropic
import openai
from anthropic import Anthropic
from anthropic.types import Message
from openai import OpenAI
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from tests.support.sdk_loops import FUNCTIONS, RESULTS, TOOLS

TIMEOUT_S = 30

Turn = dict[str, Any]
"""`message`: all that the SDK shows; and of it text, reasoning, calls, reason and usage, as all SDKs have them."""

RESPONSES_TOOLS = [{"type": "function", "strict": False, **function} for function in FUNCTIONS]
ANTHROPIC_TOOLS = [
    {"name": each["name"], "description": each["description"], "input_schema": each["parameters"]} for each in FUNCTIONS
]


TLS = ssl.create_default_context()
"""Unused, but each client would make one of its own, which takes longer than a request."""


def openai_client(url: str, retries: int = 0) -> OpenAI:
    http = openai.DefaultHttpxClient(verify=TLS)
    return OpenAI(base_url=f"{url}/v1", api_key="x", max_retries=retries, timeout=TIMEOUT_S, http_client=http)


def anthropic_client(url: str, retries: int = 0) -> Anthropic:
    http = anthropic.DefaultHttpxClient(verify=TLS)
    return Anthropic(base_url=url, api_key="x", max_retries=retries, timeout=TIMEOUT_S, http_client=http)


def chat(url: str, model: str, question: str, *, stream: bool) -> list[Turn]:
    """OpenAI's chat completions."""
    with openai_client(url) as client:
        messages: list[Any] = [{"role": "user", "content": question}]
        turns: list[Turn] = []
        for result in [*RESULTS, ""]:
            body: Any = {"model": model, "messages": messages, "tools": TOOLS}
            if stream:
                state = ChatCompletionStreamState()
                counted: Any = {"stream": True, "stream_options": {"include_usage": True}}
                for chunk in client.chat.completions.create(**body, **counted):
                    state.handle_chunk(chunk)
                done: ChatCompletion = state.get_final_completion()
            else:
                done = client.chat.completions.create(**body)
            turns.append(_chat_turn(done))
            messages.append(done.choices[0].message.to_dict())
            calls = turns[-1]["calls"]
            messages += [{"role": "tool", "tool_call_id": call["id"], "content": result} for call in calls]
        return turns


def _chat_turn(done: ChatCompletion) -> Turn:
    message, usage = done.choices[0].message, done.usage
    assert usage is not None
    calls = [call for call in message.tool_calls or () if call.type == "function"]
    return {
        "message": done.to_dict(),
        "text": message.content or "",
        "reasoning": getattr(message, "reasoning_content", None) or "",
        "calls": [_call(call.id, call.function.name, json.loads(call.function.arguments)) for call in calls],
        "reason": done.choices[0].finish_reason,
        "usage": [usage.prompt_tokens, usage.completion_tokens],
    }


def responses(url: str, model: str, question: str, *, stream: bool) -> list[Turn]:
    """OpenAI's Responses, with the whole conversation in each request."""
    with openai_client(url) as client:
        items: list[Any] = [{"role": "user", "content": question}]
        turns: list[Turn] = []
        for result in [*RESULTS, ""]:
            body: Any = {"model": model, "input": items, "tools": RESPONSES_TOOLS}
            if stream:
                with client.responses.stream(**body) as events:
                    done: Response = events.get_final_response()
            else:
                done = client.responses.create(**body)
            turns.append(_response_turn(done))
            items += [item.to_dict() for item in done.output]
            calls = turns[-1]["calls"]
            items += [{"type": "function_call_output", "call_id": call["id"], "output": result} for call in calls]
        return turns


def _response_turn(done: Response) -> Turn:
    usage = done.usage
    assert usage is not None
    calls = [item for item in done.output if item.type == "function_call"]
    thoughts = [part.text for item in done.output if item.type == "reasoning" for part in item.content or ()]
    return {
        "message": done.to_dict(),
        "text": done.output_text,
        "reasoning": "".join(thoughts),
        "calls": [_call(call.call_id, call.name, json.loads(call.arguments)) for call in calls],
        "reason": done.status,
        "usage": [usage.input_tokens, usage.output_tokens],
    }


def messages(url: str, model: str, question: str, *, stream: bool) -> list[Turn]:
    """Anthropic's messages."""
    with anthropic_client(url) as client:
        conversation: list[Any] = [{"role": "user", "content": question}]
        turns: list[Turn] = []
        for result in [*RESULTS, ""]:
            body: Any = {"model": model, "max_tokens": 1000, "messages": conversation, "tools": ANTHROPIC_TOOLS}
            if stream:
                with client.messages.stream(**body) as events:
                    done: Message = events.get_final_message()
            else:
                done = client.messages.create(**body)
            turns.append(_message_turn(done))
            conversation.append({"role": "assistant", "content": [block.to_dict() for block in done.content]})
            results = [
                {"type": "tool_result", "tool_use_id": call["id"], "content": result} for call in turns[-1]["calls"]
            ]
            conversation.append({"role": "user", "content": results})
        return turns


def _message_turn(done: Message) -> Turn:
    calls = [block for block in done.content if block.type == "tool_use"]
    return {
        "message": done.to_dict(),
        "text": "".join(block.text for block in done.content if block.type == "text"),
        "reasoning": "".join(block.thinking for block in done.content if block.type == "thinking"),
        "calls": [_call(call.id, call.name, call.input) for call in calls],
        "reason": done.stop_reason,
        "usage": [done.usage.input_tokens, done.usage.output_tokens],
    }


def _call(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    return {"id": call_id, "name": name, "arguments": arguments}


def ask_chat(url: str, model: str, words: str, *, stream: bool, retries: int = 0, **fields: Any) -> str:
    """One question by chat completions; the text of the answer, of which `seen` gets the pieces of a stream."""
    seen = fields.pop("seen", _nobody)
    with openai_client(url, retries) as client:
        said: Any = [{"role": "user", "content": words}]
        done: Any = client.chat.completions.create(model=model, messages=said, stream=stream, **fields)
        if stream:
            return _joined((chunk.choices[0].delta.content or "" for chunk in done), seen)
        return str(done.choices[0].message.content)


def ask_responses(url: str, model: str, words: str, *, stream: bool, retries: int = 0, **fields: Any) -> str:
    """The same by Responses."""
    seen = fields.pop("seen", _nobody)
    with openai_client(url, retries) as client:
        done: Any = client.responses.create(model=model, input=words, stream=stream, **fields)
        if stream:
            return _joined((event.delta for event in done if event.type == "response.output_text.delta"), seen)
        return str(done.output_text)


def ask_messages(url: str, model: str, words: str, *, stream: bool, retries: int = 0, **fields: Any) -> str:
    """The same by messages."""
    seen = fields.pop("seen", _nobody)
    with anthropic_client(url, retries) as client:
        said: Any = [{"role": "user", "content": words}]
        done: Any = client.messages.create(model=model, max_tokens=99, messages=said, stream=stream, **fields)
        if stream:
            return _joined((event.delta.text for event in done if event.type == "content_block_delta"), seen)
        return str(done.content[0].text)


def _nobody(piece: str) -> None:
    """Ignore the pieces."""


def _joined(pieces: Iterable[str], seen: Callable[[str], None]) -> str:
    text = ""
    for piece in pieces:
        seen(piece)
        text += piece
    return text


def _ways(plays: Mapping[str, Callable[..., Any]]) -> Mapping[str, Callable[..., Any]]:
    return {
        f"{api}, {how}": partial(play, stream=how == "streamed")
        for api, play in plays.items()
        for how in ("streamed", "whole")
    }


LOOPS = _ways({"chat": chat, "responses": responses, "messages": messages})
"""Run the loop, by the API and how it is asked for: the server's address, the model, the question."""

ASKS = _ways({"chat": ask_chat, "responses": ask_responses, "messages": ask_messages})
"""Ask once, in the same ways."""
