"""The time a dialect takes to encode an event, compared with CPython's cheapest loop over as many chunks.

The events are those of an agent's turn: reasoning, prose, and a call whose arguments are streamed, in chunks of four
characters.
"""

from collections.abc import Sequence
from statistics import median

import msgspec

from tokenmill.bench.clock import Progress, in_turns, median_ratio
from tokenmill.bench.parser import reference_loop
from tokenmill.bench.texts import FILE, PLAIN, TOOLS, call_text, chunks_of, running_text, samples
from tokenmill.dialects import DIALECTS, Dialect, Envelope
from tokenmill.events import Event
from tokenmill.formats import compile_grammar
from tokenmill.parser import Grammar, MessageParser, Options
from tokenmill.partition import OutputSpec, PartitionSettings

MESSAGES = 200
REASONING_CHARS, PROSE_CHARS, CALL_CHARS = 200, 600, 300
STARTED_MS = 1_760_000_000_000


class DialectCost(msgspec.Struct, frozen=True):
    """Microseconds per event."""

    name: str
    loop_us: float
    dialect_us: float
    ratio: float
    """The dialect's time over the loop's, in the same round."""


def run_dialects(*, rounds: int, progress: Progress) -> list[DialectCost]:
    """Measure every dialect; `progress` is called with what comes next."""
    progress("what dialects cost")
    return [_measure(dialect, rounds) for dialect in DIALECTS]


def grammar_for(dialect: Dialect) -> Grammar:
    """Return the grammar of a worker that has this dialect beside the native one."""
    settings = PartitionSettings(outputs=(OutputSpec("events"), OutputSpec("wire", dialect.name)))
    options = Options(
        format=samples()["json_call"].format_name, tools=TOOLS, model="some-model", stream_tool_input=True
    )
    return compile_grammar(settings.resolved(options))


def events_of(grammar: Grammar) -> list[Event]:
    """Return the events of one turn."""
    reasoning, prose = running_text(PLAIN, REASONING_CHARS), running_text(PLAIN, PROSE_CHARS)
    text = f"<think>{reasoning}</think>{prose}{call_text(samples()['json_call'], FILE, CALL_CHARS)}"
    parser = MessageParser.of(grammar, "bench")
    events = parser.start()
    for chunk in chunks_of(text):
        events += parser.feed(chunk)
    return [*events, *parser.finish("stop")]


def encode(dialect: Dialect, grammar: Grammar, events: Sequence[Event], messages: int) -> int:
    """Encode the events as those of `messages` messages; return the number of payloads."""
    payloads = 0
    for number in range(messages):
        state = dialect.state_type() if dialect.state_type is not None else None
        envelope = Envelope("conversation", f"message-{number}", 0, STARTED_MS, grammar.message_start)
        for seq, event in enumerate(events):
            payloads += len(dialect.encode(state, envelope, event, seq, STARTED_MS))
    return payloads


def _measure(dialect: Dialect, rounds: int) -> DialectCost:
    grammar = grammar_for(dialect)
    events = events_of(grammar)
    chunks = ["text"] * len(events) * MESSAGES
    times = in_turns(
        {"loop": lambda: reference_loop(chunks), "dialect": lambda: encode(dialect, grammar, events, MESSAGES)}, rounds
    )
    each, ratio = 1e6 / len(chunks), median_ratio(times["dialect"], times["loop"])
    return DialectCost(dialect.name, median(times["loop"]) * each, median(times["dialect"]) * each, ratio)
