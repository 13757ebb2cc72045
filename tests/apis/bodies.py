"""Good bodies of each API, with everything that it may say, and the means to read them."""

from typing import Any

import pytest

from tokenmill.apis import APIS, Api, Ask, BadAsk

BY_NAME: dict[str, Api] = {api.name: api for api in APIS}

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"type": "function", "function": {"name": "weather", "description": "Now", "parameters": SCHEMA}}
CLOCK = {"type": "function", "function": {"name": "clock"}}
URL = "https://example.org/cat.png"

_CHAT_CALL = {"id": "k", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}

GOOD: dict[str, dict[str, Any]] = {
    "chat": {
        "model": "m",
        "messages": [
            {"role": "system", "content": [{"type": "text", "text": "Be short."}]},
            {"role": "developer", "content": "Be kind."},
            {
                "role": "user",
                "name": "ann",
                "content": [
                    {"type": "text", "text": "What is it?"},
                    {"type": "image_url", "image_url": {"url": URL, "detail": "low"}},
                ],
            },
            {"role": "assistant", "content": None, "reasoning_content": "Hm", "tool_calls": [_CHAT_CALL]},
            {"role": "tool", "tool_call_id": "k", "content": "7"},
            {"role": "assistant", "content": [{"type": "text", "text": "7"}, {"type": "refusal", "refusal": "No"}]},
            {"role": "user", "content": "Thanks"},
        ],
        "tools": [WEATHER, CLOCK],
        "tool_choice": {"type": "function", "function": {"name": "clock"}},
        "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA, "strict": True}},
        "stop": ["a", "b"],
        "metadata": {"conversation_id": "c", "other": "o"},
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "n": 2,
        "max_tokens": 9,
    },
    "responses": {
        "model": "m",
        "instructions": "Be short.",
        "input": [
            {"role": "user", "content": "Hi"},
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "?"}, {"type": "input_image", "image_url": URL}],
            },
            {
                "type": "reasoning",
                "id": "rs",
                "summary": [],
                "content": [{"type": "reasoning_text", "text": "Hm"}],
                "encrypted_content": "x",
            },
            {
                "type": "message",
                "id": "msg",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "So:", "annotations": [], "logprobs": []}],
            },
            {"type": "function_call", "id": "fc", "call_id": "k", "name": "weather", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "k", "output": [{"type": "input_text", "text": "7"}]},
        ],
        "tools": [{"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}],
        "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "weather"}]},
        "text": {"format": {"type": "json_schema", "name": "a", "schema": SCHEMA}, "verbosity": "low"},
        "reasoning": {"effort": "low", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "conversation": {"id": "c"},
        "max_output_tokens": 9,
        "background": True,
        "stream": True,
        "truncation": "disabled",
        "store": False,
    },
    "messages": {
        "model": "m",
        "max_tokens": 9,
        "system": [{"type": "text", "text": "Be short.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="}},
                    {"type": "image", "source": {"type": "url", "url": URL}},
                    {"type": "text", "text": "What is it?"},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm", "signature": "s"},
                    {"type": "redacted_thinking", "data": "x"},
                    {"type": "text", "text": "So: "},
                    {"type": "text", "text": "look.", "citations": None},
                    {"type": "tool_use", "id": "k", "name": "weather", "input": {"city": "Oslo"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "k", "content": "gone", "is_error": True},
                    {"type": "text", "text": "Again"},
                ],
            },
        ],
        "tools": [{"name": "weather", "input_schema": SCHEMA, "cache_control": {"type": "ephemeral"}}],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
        "stop_sequences": ["a"],
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "metadata": {"user_id": "u"},
        "top_k": 5,
        "stream": True,
    },
}


def ask(api: str, **changes: Any) -> Ask:
    """What the good body asks for with some other fields; null is without."""
    return BY_NAME[api].read(GOOD[api] | changes)


def refusal(api: str, **changes: Any) -> BadAsk:
    """Why that is refused."""
    with pytest.raises(BadAsk) as refused:
        ask(api, **changes)
    return refused.value


def param(api: str, **changes: Any) -> str:
    """The place that the refusal names."""
    return refusal(api, **changes).param


def read(api: str, body: Any) -> Ask | BadAsk:
    """What comes of any body; raises what no caller expects."""
    try:
        return BY_NAME[api].read(body)
    except BadAsk as refused:
        return refused
