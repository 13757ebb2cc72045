"""An answer with two calls, and what came of them while it still flowed, in any dialect."""

import json
from typing import Any

from tokenmill import Parser, render
from tokenmill.events import Finish, ToolCall, ToolResult

CALLS = (
    '<tool_call>{"name": "clock", "arguments": {}}</tool_call><tool_call>{"name": "fail", "arguments": {}}</tool_call>'
)
SHOWN = {"content": [{"type": "text", "text": "It is"}, {"type": "text", "text": "noon."}]}
ERROR = "no such zone"


def answered(dialect: str, *, late: bool = False) -> tuple[list[bytes], list[str]]:
    """The payloads, and the ids of the calls: one with a result, one with an error, in front of its end or behind."""
    parser = Parser(format="hermes", tools=[{"type": "function", "function": {"name": "clock"}}])
    events = [*parser.feed(CALLS), *parser.finish()]
    good, bad = [event.id for event in events if isinstance(event, ToolCall)]
    results = [ToolResult(good, "clock", SHOWN, elapsed_ms=7), ToolResult(bad, "fail", error=ERROR, elapsed_ms=8)]
    end = len(events) if late else next(at for at, event in enumerate(events) if isinstance(event, Finish))
    return list(render([*events[:end], *results, *events[end:]], dialect, "conversation", "message")), [good, bad]


def results_in(payloads: list[bytes], *kinds: str) -> list[dict[str, Any]]:
    """The payloads of these types."""
    decoded = [json.loads(payload) for payload in payloads if payload != b"[DONE]"]
    return [each for each in decoded if each["type"] in kinds]
