"""Cases of the five systems that tokenmill joins, as data outside this repository: `s0.jsonl` to `s4.jsonl`.

They lie beside the cases of formats (see `shared_cases`). Each is asked as a line of `parse --batch`: with its own
chunks, in one piece, a character at a time and at random cuts. Only runs of text are cut anew.
"""

import json
import random
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tests.conformance.shared_cases import needed_folder

SYSTEMS = {"s0": "ai_sdk_parts", "s1": "openai", "s2": "agent", "s3": "segments", "s4": "interceptor"}
"""The dialect in which each writes its expectations."""

FORMATS = {
    "json-mix": "json_mix",
    "morph-xml": "morph_xml",
    "tool_choice": "tool_choice",
    "S1": "qwen_web_xml",
    "S4": "bare_json",
    "native": "plain",
    "prompt_engineering": "tool_call_json",
    "structured_outputs": "structured_output",
    "api_tool_call": "plain",
    "xml_tag": "autobyteus_xml",
    "json_tool": "autobyteus_json",
    "sentinel": "autobyteus_sentinel",
}
"""What a case calls its protocol, engine, strategy or kind."""

OPTIONS = {
    "toolCallStart": "start_tag",
    "toolCallEnd": "end_tag",
    "unfinished_text": "on_unfinished",
    "model": "model",
    "enableStreamingToolCallEvents": "stream_tool_input",
    "json_tool_patterns": "json_patterns",
    "json_tool_parser": "json_profile",
    "segment_id_prefix": "id_prefix",
    "segment_end_metadata": "segment_end_metadata",
    "max_buffer_chars": "max_buffer_chars",
    "placeholder_text": "placeholder_text",
}
TEXT_MODES = {"smart_buffering": "smart", "with_placeholders": "placeholder", "passthrough": "passthrough"}
FUNCTIONS = {"coerce": "coerce", "parameters": "qwen_web_parameters", "parameter_value": "qwen_web_value"}

Case = dict[str, Any]
Line = dict[str, Any]


def seed_cases(system: str) -> list[Case]:
    """The cases of one system."""
    path = needed_folder().parent / f"{system}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def lines_of(case: Case) -> dict[str, Line]:
    """What is asked about a case: the cuts of its stream, or its function, and what it expects besides."""
    if case["kind"] == "function":
        return {"function": _function(case)}
    if case["kind"] == "tool_choice":
        return {"own": _line(case, list(_answer_parts(case)))}
    lines = {cut: _line(case, chunks) for cut, chunks in _cuts(case["chunks"])}
    lines["own"]["per_chunk"] = True
    if "expect_complete_response" in case:
        lines["completion"] = _line(case, case["chunks"], "openai_completion")
    if "expect_invocations" in case or "expect_tools" in case:
        lines["native"] = _line(case, case["chunks"], "native")
    return lines


def _function(case: Case) -> Line:
    """A value function, or, where the service has none, a stream in which it shows."""
    name, arguments = case["config"]["function"], case["input"]
    if name in FUNCTIONS:
        return {"function": FUNCTIONS[name], "input": arguments}
    name, _, profile = name.partition(":")
    strategy, text = {
        "xml_arguments": ("xml_tag", f'<tool name="t">{arguments[0]}</tool>'),
        "json_tool_call": ("sentinel", f'[[SEG_START {{"type":"tool"}}]]{arguments[0]}[[SEG_END]]'),
        "json_strategy": ("json_tool", arguments[0]),
    }[name]
    config = {"strategy_order": [strategy]} | ({"json_tool_parser": profile} if profile else {})
    return _line({**case, "config": config}, [text], "native")


def _line(case: Case, chunks: list[Any], dialect: str | None = None) -> Line:
    config, seed = case["config"], case["seed"]
    structured = any(not isinstance(chunk, str) for chunk in chunks)
    codec = "qwen_sse" if seed == "S1" else "text"
    if seed == "S0" and structured:
        codec, chunks = "ai_sdk_parts", list(_parts(chunks))
    elif structured or config.get("engine") == "native":
        codec, chunks = "openai", [_completion_chunk(chunk) for chunk in chunks]
    names = _formats(case)
    line = {
        "format": names[0] if len(names) == 1 else names,
        "codec": codec,
        "dialect": dialect or SYSTEMS[seed.lower()],
        "open": _options(case),
        "chunks": chunks,
    }
    return line | ({"tools": [_tool(tool) for tool in config["tools"]]} if "tools" in config else {})


def _formats(case: Case) -> list[str]:
    config = case["config"]
    told = next((config[key] for key in ("protocol", "engine", "handler", "strategy_order") if config.get(key)), None)
    told = told or (case["kind"] if case["kind"] == "tool_choice" else case["seed"])
    return [FORMATS[name] for name in ([told] if isinstance(told, str) else told)]


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    told = {"name": tool["name"], "description": tool.get("description"), "parameters": tool.get("inputSchema")}
    return {"type": "function", "function": {key: value for key, value in told.items() if value is not None}}


def _options(case: Case) -> dict[str, Any]:
    config = case["config"]
    settings = {**config, **config.get("protocol_options", {})}
    options = {OPTIONS[key]: value for key, value in settings.items() if key in OPTIONS}
    if "options" in config:
        policy = "text" if config["options"]["emitRawToolCallTextOnError"] else "drop"
        options |= {"on_broken": policy, "on_unfinished": policy}
    if "mode" in config:
        options["text_mode"] = TEXT_MODES[config["mode"]]
    if config.get("protocol") == "json-mix":
        options["unknown_tool"] = "call"
    if case["kind"] == "tool_choice":
        options["tool_choice"] = "required"
    if case["seed"] == "S1":
        options["text_after_calls"] = "drop"
    if config.get("parse_tool_calls") is False:
        options["parse"] = "none"
    return options


# Chunks as the codecs take them


def _completion_chunk(chunk: Any) -> dict[str, Any]:
    """A delta as a chunk of chat completions."""
    chunk = {"content": chunk} if isinstance(chunk, str) else chunk
    delta = {key: chunk[key] for key in ("content", "reasoning_content") if key in chunk}
    if chunk.get("tool_calls"):
        delta["tool_calls"] = [call if "function" in call else _tool_delta(call) for call in chunk["tool_calls"]]
    choice = {"index": 0, "delta": delta, "finish_reason": chunk.get("finish_reason")}
    return {"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}


def _tool_delta(call: dict[str, Any]) -> dict[str, Any]:
    function = {key: call[told] for key, told in (("name", "name"), ("arguments", "arguments_delta")) if told in call}
    opening = {"id": call["call_id"], "type": "function"} if "call_id" in call else {}
    return {"index": call["index"], **opening, "function": function}


def _parts(chunks: list[Any]) -> Iterator[dict[str, Any]]:
    """Text as deltas of the block that is open."""
    block = "0"
    for chunk in chunks:
        if isinstance(chunk, str):
            yield {"type": "text-delta", "id": block, "delta": chunk}
            continue
        block = chunk["id"] if chunk["type"] == "text-start" else block
        yield chunk


def _answer_parts(case: Case) -> Iterator[dict[str, Any]]:
    """The content of an answer under a forced choice, as the parts that a model sends."""
    yield {"type": "stream-start", "warnings": []}
    for number, part in enumerate(case["input"] or []):
        kind, block = part["type"], str(number)
        yield {"type": f"{kind}-start", "id": block}
        yield {"type": f"{kind}-delta", "id": block, "delta": part["text"]}
        yield {"type": f"{kind}-end", "id": block}
    yield {"type": "finish", **case["config"]["model_result"]}


def _cuts(chunks: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    """The same stream in other pieces."""
    yield "own", chunks
    text = "".join(chunk for chunk in chunks if isinstance(chunk, str))
    if text:
        seed = zlib.crc32(text.encode(errors="replace"))
        yield "one", _recut(chunks, lambda run: [run])
        yield "characters", _recut(chunks, list)
        for number in range(2):
            yield f"random {number}", _recut(chunks, partial(_random_pieces, random.Random(seed + number)))


def _random_pieces(dice: random.Random, run: str) -> list[str]:
    at = sorted({dice.randrange(1, len(run) + 1) for _ in range(len(run) // 6 + 1)} | {len(run)})
    return [run[begin:end] for begin, end in zip([0, *at], at, strict=False)]


def _recut(chunks: list[Any], cut: Callable[[str], list[str]]) -> list[Any]:
    pieces: list[Any] = []
    run = ""
    for chunk in [*chunks, None]:
        if isinstance(chunk, str):
            run += chunk
            continue
        pieces += cut(run) if run else []
        run = ""
        if chunk is not None:
            pieces.append(chunk)
    return pieces
