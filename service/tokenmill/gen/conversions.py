"""The page of conversions: any codec's stream into any dialect."""

from typing import NamedTuple

from tokenmill.codecs import CODECS
from tokenmill.dialects import DIALECTS, Dialect, Envelope
from tokenmill.events import (
    Error,
    Event,
    Finish,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from tokenmill.formats import compile_grammar
from tokenmill.gen import markdown
from tokenmill.parser import Options

YES = "✓"


class Shown(NamedTuple):
    """Content of a message: events with a word that a dialect either passes on or leaves out."""

    what: str
    events: tuple[Event, ...]
    word: bytes


_CALL = (
    ToolInputStart("c", "tool", "json"),
    ToolInputDelta("c", '{"a": "growing'),
    ToolInputDelta("c", '"}'),
    ToolInputEnd("c"),
)

SHOWN = (
    Shown("text", (TextStart("t"), TextDelta("t", "visible"), TextEnd("t")), b"visible"),
    Shown("reasoning", (ReasoningStart("r"), ReasoningDelta("r", "thought"), ReasoningEnd("r")), b"thought"),
    Shown("calls", (*_CALL, ToolCall("c", "tool", {"a": "growing"})), b"growing"),
    Shown("calls as they grow, by default", _CALL[:2], b"growing"),
    Shown("errors in the middle", (Error("gap", "a chunk is missing"),), b"missing"),
    Shown("counts of tokens", (Finish("stop", usage={"prompt_tokens": 4711, "completion_tokens": 1}),), b"4711"),
)


def page() -> str:
    """Return the page: the matrix, and what each dialect shows."""
    names = [markdown.code(dialect.name) for dialect in DIALECTS]
    matrix = [[markdown.code(codec.name), *(YES for _ in DIALECTS)] for codec in CODECS]
    shown = [[markdown.code(dialect.name), *(_shows(dialect, shown) for shown in SHOWN)] for dialect in DIALECTS]
    return markdown.page(
        "Conversions",
        "Every codec's stream can be turned into every dialect; a test does so for each cell.",
        markdown.table(("codec ↓ dialect →", *names), matrix),
        "`tokenmill parse --codec CODEC --dialect DIALECT FILE` does it for a captured stream, one record per line:\n"
        "a provider's events as JSON, or lines of its SSE stream. A worker does it for a topic.\n"
        "With `sse+CODEC` the records are raw bytes of an SSE stream, cut anywhere.",
        "## What a dialect shows",
        "A dialect leaves out what its shape has no place for. The native events always have everything.",
        markdown.table(("dialect", *(shown.what for shown in SHOWN)), shown),
    )


def _shows(dialect: Dialect, shown: Shown) -> str:
    """Return whether the word of the events comes out."""
    streams = dialect.streams_tool_input or None
    start = compile_grammar(Options(model="m", stream_tool_input=streams)).message_start
    envelope = Envelope("c1", "m1", 0, 0, start)
    state = dialect.state_type() if dialect.state_type else None
    events: list[Event] = [start, *shown.events]
    if not isinstance(events[-1], Finish) and shown.events != _CALL[:2]:
        events.append(Finish("stop"))
    payloads = [
        payload for seq, event in enumerate(events) for payload in dialect.encode(state, envelope, event, seq, 0)
    ]
    return YES if any(shown.word in payload for payload in payloads) else ""
