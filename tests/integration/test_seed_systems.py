"""The worked example of each system that tokenmill joins, through a worker on a real Kafka. One row for each system.

A worker is killed in the middle of the message and the next one goes on: the dialect's state comes back, too.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pytest

from tests.support.stage import Stage, until
from tests.support.topics import make_topics, read_topic

pytestmark = pytest.mark.integration


class Example(NamedTuple):
    """One worked example."""

    dialect: str
    options: dict[str, Any]
    chunks: Sequence[dict[str, Any] | bytes]
    """Native chunks, or bytes for another codec; the worker is killed behind the first one."""
    form: Callable[[list[Any], list[str]], list[Any]]
    """What of the payloads is compared; with them come the ids on `tool-calls`."""
    expected: list[Any]
    headers: dict[str, Any] = {}
    """Of every record; with some the chunks are bytes, and the options are among them."""


def segments_of(payloads: list[dict[str, Any]], calls: list[str]) -> list[Any]:
    """Payloads as the example writes them, adjacent content joined; ids of calls by their order on `tool-calls`."""
    names = {id_: f"CALL {number}" for number, id_ in enumerate(calls, 1)}
    found: list[Any] = []
    for payload in payloads:
        about, body = names.get(payload["segment_id"], payload["segment_id"]), payload["payload"]
        if payload["type"] == "SEGMENT_START":
            found.append((payload["type"], about, payload["segment_type"], body))
        elif payload["type"] == "SEGMENT_END":
            found.append((payload["type"], about, body))
        elif found[-1][:2] == ("SEGMENT_CONTENT", about):
            found[-1] = (*found[-1][:2], found[-1][2] + body["delta"])
        else:
            found.append((payload["type"], about, body["delta"]))
    return found


SEGMENTS = Example(
    "segments",
    {"format": "autobyteus", "provider": "anthropic", "id_prefix": "turn_1:"},
    [
        {"delta": 'I\'ll create a file.\n<write_file path="/a.py">print('},
        {"delta": "'hi')\n</wri"},
        {"delta": 'te_file>\nDone. <tool name="read_file"><arguments><arg name="path">/a.py</arg></argum'},
        {"delta": "ents></tool>", "finish_reason": "stop"},
    ],
    segments_of,
    [
        ("SEGMENT_START", "turn_1:seg_1", "text", {}),
        ("SEGMENT_CONTENT", "turn_1:seg_1", "I'll create a file.\n"),
        ("SEGMENT_END", "turn_1:seg_1", {}),
        ("SEGMENT_START", "CALL 1", "write_file", {"metadata": {"path": "/a.py"}}),
        ("SEGMENT_CONTENT", "CALL 1", "print('hi')\n"),
        ("SEGMENT_END", "CALL 1", {}),
        ("SEGMENT_START", "turn_1:seg_3", "text", {}),
        ("SEGMENT_CONTENT", "turn_1:seg_3", "\nDone. "),
        ("SEGMENT_END", "turn_1:seg_3", {}),
        ("SEGMENT_START", "CALL 2", "tool_call", {"metadata": {"tool_name": "read_file"}}),
        ("SEGMENT_CONTENT", "CALL 2", '<arguments><arg name="path">/a.py</arg></arguments>'),
        ("SEGMENT_END", "CALL 2", {}),
    ],
)


def rows_of(payloads: list[dict[str, Any]], calls: list[str]) -> list[Any]:
    """Rows of an agent's page as the example writes them, and whether the tool runners know the calls by their ids."""
    streamed = [row for row in payloads if row["type"] == "assistant_streaming_tool_call"]
    last = [row for row in payloads if row["type"] in ("assistant_message", "tool_call")]
    shown = [(row["toolName"], row["arguments"], row["isComplete"]) for row in streamed]
    assert {row["toolCallId"] for row in streamed} == set(calls)
    return [*shown, *((row["type"], row.get("finishReason", row.get("arguments"))) for row in last)]


AGENT = Example(
    "agent",
    {"stream_tool_input": True},
    [
        {"tool_calls": [{"index": 0, "id": "call_1", "function": {"name": "getWeather", "arguments": '{"'}}]},
        *({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in ("location", '":"', "Boston")),
        {"tool_calls": [{"index": 0, "function": {"arguments": '"}'}}]},
        {"finish_reason": "tool_calls"},
    ],
    rows_of,
    [
        ("getWeather", "", False),
        *(("getWeather", piece, False) for piece in ('{"', "location", '":"', "Boston", '"}')),
        ("getWeather", "", True),
        ("assistant_message", "tool_calls"),
        ("tool_call", {"location": "Boston"}),
    ],
)


def tokens_of(payloads: list[dict[str, Any]], calls: list[str]) -> list[Any]:
    """Tokens of a chat, adjacent narrative joined, and how many calls there are to run."""
    found: list[Any] = []
    for token in payloads:
        if found and found[-1][0] == token["type"] == "narrative":
            found[-1] = ("narrative", found[-1][1] + token["text"])
        else:
            found.append((token["type"], token["text"]))
    return [*found, len(calls)]


INTERCEPTOR = Example(
    "interceptor",
    {"format": "bare_json", "text_mode": "smart"},
    [
        {"delta": 'Let me check.\n\n{"tool": "ls",'},
        {"delta": ' "params": {}'},
        {"delta": '}\nI\'ll use {"tool": "calc", "params": {"expr":'},
        {"delta": ' "2+2"}} to help. The JSON format { key: value } is common.', "finish_reason": "stop"},
    ],
    tokens_of,
    [
        ("narrative", "Let me check.\n\n"),
        ("tool_call", '{"tool": "ls", "params": {}}'),
        ("narrative", "\nI'll use "),
        ("tool_call", '{"tool": "calc", "params": {"expr": "2+2"}}'),
        ("narrative", " to help. The JSON format { key: value } is common."),
        2,
    ],
)


def completion_of(payloads: list[Any], calls: list[str]) -> list[Any]:
    """Deltas of text joined, ids of calls by their order on `tool-calls`, counts, and the end."""
    found: list[Any] = []
    for payload in payloads:
        if payload == "[DONE]" or not payload["choices"]:
            found.append(payload if payload == "[DONE]" else payload["usage"])
            continue
        (choice,) = payload["choices"]
        delta = choice["delta"]
        if "content" in delta and found and isinstance(found[-1], str):
            found[-1] += delta["content"]
        elif "content" in delta:
            found.append(delta["content"])
        for call in delta.get("tool_calls", ()):
            name = [f"CALL {calls.index(call['id']) + 1}", call["function"]["name"]] if "id" in call else []
            found.append((call["index"], *name, call["function"]["arguments"]))
        if choice["finish_reason"]:
            found.append((choice["finish_reason"],))
    return found


def sse(**event: Any) -> bytes:
    """One event of Qwen's web chat."""
    return b"data: %b\n\n" % json.dumps(event).encode()


def said(content: str, **more: Any) -> bytes:
    """More of its answer."""
    return sse(choices=[{"delta": {"content": content, **more}}])


READ = {"name": "read", "parameters": {"type": "object", "properties": {"filePath": {"type": "string"}}}}
OPENAI = Example(
    "openai",
    {"format": "qwen_web_xml", "model": "qwen3-max", "tools": [{"type": "function", "function": READ}]},
    [
        sse(**{"response.created": {"chat_id": "chat-123", "parent_id": "parent-456", "response_id": "resp-789"}})
        + sse(choices=[{"delta": {"content": "I'll "}}], usage={"input_tokens": 25, "output_tokens": 1})
        + said("read "),
        said("the ")[:20],
        said("the ")[20:] + said("file.\n\n") + said("<re"),
        said("ad>\n") + said("<filePath>/home/user/package.json</filePath>\n") + said("</read>"),
        said("", phase="answer", status="finished") + b"data: [DONE]\n\n",
    ],
    completion_of,
    [
        "I'll read the file.",
        (0, "CALL 1", "read", ""),
        (0, '{"filePath":"/home/user/package.json"}'),
        ("tool_calls",),
        {"prompt_tokens": 25, "completion_tokens": 1, "total_tokens": 26},
        "[DONE]",
    ],
    {"tm-codec": "qwen_sse"},
)


def parts_of(payloads: list[dict[str, Any]], calls: list[str]) -> list[Any]:
    """Parts as the example writes them, deltas joined; ids of calls by their order on `tool-calls`."""
    names = {id_: f"CALL {number}" for number, id_ in enumerate(calls, 1)}
    found: list[Any] = []
    for part in payloads:
        about = part.get("id", part.get("toolCallId", ""))
        said = part.get("delta") or part.get("input") or part.get("finishReason", "")
        if "delta" in part and found[-1][:2] == (part["type"], names.get(about, about)):
            said = found.pop()[2] + said
        found.append((part["type"], names.get(about, about), said))
    return found


def part(kind: str, **fields: Any) -> bytes:
    """One stream part of the AI SDK."""
    return json.dumps({"type": kind, **fields}).encode()


AI_SDK_PARTS = Example(
    "ai_sdk_parts",
    {"format": "json_mix"},
    [
        part("text-delta", id="0", delta='Let me see. <tool_call>{"name":"now","argu'),
        part("reasoning-delta", id="r", delta="hm"),
        part("text-delta", id="0", delta='ments":{"city":"Seo'),
        part("text-delta", id="0", delta='ul"}}</tool_call> Done.'),
        part("finish", finishReason={"unified": "stop", "raw": "end_turn"}, usage={"totalTokens": 3}),
    ],
    parts_of,
    [
        ("text-start", "t0", ""),
        ("text-delta", "t0", "Let me see. "),
        ("text-end", "t0", ""),
        ("tool-input-start", "CALL 1", ""),
        ("reasoning-delta", "r", "hm"),
        ("tool-input-delta", "CALL 1", '{"city":"Seoul"}'),
        ("tool-input-end", "CALL 1", ""),
        ("tool-call", "CALL 1", '{"city":"Seoul"}'),
        ("text-start", "t1", ""),
        ("text-delta", "t1", " Done."),
        ("text-end", "t1", ""),
        ("finish", "", {"unified": "tool-calls", "raw": "end_turn"}),
    ],
    {"tm-codec": "ai_sdk_parts"},
)

EXAMPLES = {
    "agent": AGENT,
    "ai_sdk_parts": AI_SDK_PARTS,
    "interceptor": INTERCEPTOR,
    "openai": OPENAI,
    "segments": SEGMENTS,
}


@pytest.mark.parametrize("name", EXAMPLES)
async def test_worked_example(name: str, stage: Stage, unique: str) -> None:
    """What the example's clients read is on their topic, each payload once, and the calls are on theirs."""
    example, topic = EXAMPLES[name], f"{name}-{unique}"
    await make_topics(stage.bootstrap, topic, partitions=stage.partitions)
    stage.settings["outputs"] = [{"topic": topic, "dialect": example.dialect}]
    first = await stage.start()
    opening, *rest = _records(example)
    await stage.send("c", *opening)
    await until(stage.caught_up, "the beginning is committed")
    first.kill()
    await stage.start()
    for record in rest:
        await stage.send("c", *record)
    await until(stage.caught_up, "the end is committed")

    calls = [json.loads(record.value)["id"] for record in await read_topic(stage.bootstrap, stage.topics.tool_calls)]
    payloads = await _payloads(stage, topic)
    assert example.form(payloads, calls) == example.expected


def _records(example: Example) -> Iterator[tuple[dict[str, Any] | bytes, list[tuple[str, bytes]]]]:
    """Values and headers."""
    texts = {**example.headers, "tm-open": json.dumps(example.options)} if example.headers else {}
    headers = [(name, text.encode()) for name, text in texts.items()]
    for seq, chunk in enumerate(example.chunks):
        if isinstance(chunk, bytes):
            yield chunk, headers
        else:
            yield {"message_id": "m", "seq": seq, **({} if seq else {"open": example.options}), **chunk}, headers


async def _payloads(stage: Stage, topic: str) -> list[Any]:
    """The payloads of a topic, without repeats; `[DONE]` as a text."""
    found = {}
    for record in await read_topic(stage.bootstrap, topic):
        headers = dict(record.headers)
        found[int(headers["tm-seq"]), headers.get("tm-part", b"1/1")] = (
            "[DONE]" if record.value == b"[DONE]" else json.loads(record.value)
        )
    return [found[place] for place in sorted(found)]
