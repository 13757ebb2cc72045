"""What an answer says, however a client was told it: text, reasoning and calls; and what it should say."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeAlias

import msgspec

from tokenmill.dialects import Renderer, find_dialect
from tokenmill.events import decode_event
from tokenmill.partition import PartitionSettings
from tokenmill.records import InputRecord
from tokenmill.replay import replay_records

Json: TypeAlias = dict[str, Any]

TOOLS = [
    {
        "type": "function",
        "function": {"name": "note", "parameters": {"type": "object", "properties": {"line": {"type": "string"}}}},
    }
]


CUT_OFF = "cut off:"
"""In front of arguments that are no JSON."""

MARK, MARKS = "·", "¹²³⁴⁵⁶⁷⁸⁹"
"""In scripts, behind each word; and what each generation has there instead."""


def unmarked(text: str) -> str:
    """A text as its script has it."""
    return text.translate(dict.fromkeys(map(ord, MARKS), MARK))


class Said(msgspec.Struct):
    """All of it."""

    text: str = ""
    reasoning: str = ""
    calls: list[tuple[str, str]] = []
    """Names and arguments."""

    def unmarked(self) -> "Said":
        """As the script has it."""
        calls = [(name, unmarked(arguments)) for name, arguments in self.calls]
        return Said(unmarked(self.text), unmarked(self.reasoning), calls)

    def marks(self) -> str:
        """Of the generations that it is from, each time that it changes."""
        everything = self.reasoning + self.text + "".join(arguments for _, arguments in self.calls)
        found = [mark for mark in everything if mark in MARKS]
        return "".join(mark for mark, _ in groupby(found))

    def begins(self, other: "Said") -> bool:
        """Whether this is the other one's beginning. Its last call may be cut off."""
        calls = [call for call in self.calls if not call[1].startswith(CUT_OFF)]
        return (
            calls == other.calls[: len(calls)]
            and len(calls) in (len(self.calls), len(self.calls) - 1)
            and other.text.startswith(self.text)
            and other.reasoning.startswith(self.reasoning)
        )


def chat(payloads: Iterable[str]) -> Said:
    """Of the chunks of a chat completion."""
    said, calls = Said(), defaultdict[int, list[str]](lambda: ["", ""])
    for payload in payloads:
        for choice in json.loads(payload).get("choices") or () if payload.startswith("{") else ():
            delta = choice.get("delta") or choice.get("message") or {}
            said.text += delta.get("content") or ""
            said.reasoning += delta.get("reasoning_content") or ""
            for number, call in enumerate(delta.get("tool_calls") or ()):
                growing, function = calls[call.get("index", number)], call["function"]
                growing[0] += function.get("name") or ""
                growing[1] += function["arguments"]
    said.calls = [(name, _canonical(arguments)) for name, arguments in calls.values()]
    return said


def responses(payloads: Iterable[str]) -> Said:
    """Of the events of a response."""
    said, calls = Said(), dict[str, list[str]]()
    for event in map(json.loads, payloads):
        if event["type"] == "response.output_text.delta":
            said.text += event["delta"]
        elif event["type"] == "response.reasoning_text.delta":
            said.reasoning += event["delta"]
        elif event["type"] == "response.output_item.added" and event["item"]["type"] == "function_call":
            calls[event["item"]["id"]] = [event["item"]["name"], ""]
        elif event["type"] == "response.function_call_arguments.delta":
            calls[event["item_id"]][1] += event["delta"]
    said.calls = [(name, _canonical(arguments)) for name, arguments in calls.values()]
    return said


def response(found: Json) -> Said:
    """Of a response in one piece."""
    said = Said()
    for item in found["output"]:
        if item["type"] == "function_call":
            said.calls.append((item["name"], _canonical(item["arguments"])))
        elif item["type"] == "reasoning":
            said.reasoning += "".join(part["text"] for part in item["content"])
        else:
            said.text += "".join(part["text"] for part in item["content"])
    return said


def messages(payloads: Iterable[str]) -> Said:
    """Of the events of a message."""
    said, calls = Said(), dict[int, list[str]]()
    for event in map(json.loads, payloads):
        if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
            calls[event["index"]] = [event["content_block"]["name"], ""]
        delta = event.get("delta") or {}
        if delta.get("type") == "text_delta":
            said.text += delta["text"]
        elif delta.get("type") == "thinking_delta":
            said.reasoning += delta["thinking"]
        elif delta.get("type") == "input_json_delta":
            calls[event["index"]][1] += delta["partial_json"]
    said.calls = [(name, _canonical(arguments)) for name, arguments in calls.values()]
    return said


READERS: Mapping[str, tuple[str, Callable[[Sequence[str]], Said]]] = {
    "chat": ("openai", chat),
    "whole": ("openai_completion", lambda payloads: chat(payloads[-1:])),
    "responses": ("openai_responses", responses),
    "messages": ("anthropic", messages),
}
"""By name: the dialect, and what reads it."""


def expected(text: str) -> dict[str, Said]:
    """What the service makes of a text that comes at once, as each reader reads it."""
    opens = {"format": "hermes", "model": "m", "tools": TOOLS}
    chunks: list[Json] = [{"open": opens}, {"delta": text}, {"finish_reason": "stop", "end": True}]
    records = [
        InputRecord("tokens", 0, at, 0, b"c", json.dumps({"message_id": "m", "seq": at, **chunk}).encode(), [])
        for at, chunk in enumerate(chunks)
    ]
    events = [
        json.loads(output["value"])
        for output in replay_records(records, PartitionSettings())
        if output["topic"] == "events"
    ]
    said = {name: read(rendered(events, dialect)) for name, (dialect, read) in READERS.items()}
    return {**said, "native": native(events)}


def rendered(events: Iterable[Json], dialect: str) -> list[str]:
    """Native events in another dialect."""
    renderer = Renderer(find_dialect(dialect))
    return [
        payload.decode() for event in events for payload in renderer.render(decode_event(msgspec.json.encode(event)))
    ]


def native(events: Iterable[Json]) -> Said:
    """Of native events. The source of a call that was cut off, which comes as a block of text, is left out."""
    said, cut = Said(), False
    for event in events:
        if event["type"] == "text-start":
            cut = event.get("cut", False)
        elif event["type"] == "text-delta" and not cut:
            said.text += event["delta"]
        elif event["type"] == "reasoning-delta":
            said.reasoning += event["delta"]
        elif event["type"] == "tool-call":
            said.calls.append((event["name"], json.dumps(event["arguments"], sort_keys=True, ensure_ascii=False)))
    return said


def _canonical(arguments: str) -> str:
    """The same for the same values; as it is where it is cut off."""
    try:
        return json.dumps(json.loads(arguments or "{}"), sort_keys=True, ensure_ascii=False)
    except json.JSONDecodeError:
        return f"{CUT_OFF} {arguments}"
