"""Benchmark of the parser alone, beside the cheapest loop that CPython could run over the same chunks."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from statistics import median
from time import thread_time
from typing import Any

import msgspec

from tokenmill.bench.clock import growth_exponent, in_turns, median_ratio
from tokenmill.bench.memory import Footprint, measure_memory
from tokenmill.bench.texts import (
    CHUNK_CHARS,
    PAGES,
    RUNNING,
    TOOL,
    TOOLS,
    Sample,
    call_text,
    chunks_of,
    running_text,
    samples,
)
from tokenmill.errors import FatalError
from tokenmill.events import AnyEvent, ToolCall
from tokenmill.formats import compile_grammar
from tokenmill.limits import Limits
from tokenmill.parser import Grammar, MessageParser, read_options

LONG = 200_000
"""Characters of a long call; of its chunks the slowest one is told."""

SIZES = (1_000, 10_000, LONG, 1_000_000)

GROWTH_FROM = 10_000
"""Growth is told from this size on: in shorter calls the beginning and the end count."""

LEAST_CHUNKS = 20_000
"""A short text is parsed again until this many chunks went through, so that a timing is more than noise, and than the
memory that each round finds cold."""

SHORT = 3
"""A text that is parsed again has that many times the rounds: each takes milliseconds, and one of them says little."""

LOOPS = 8
"""The reference is that much quicker than a parser: it runs so often that both take about the same time."""

LIMITS = Limits(call_chars=4 * SIZES[-1])
"""Above every size: the rest of a call that hit the cap is text, which is cheaper."""

NATIVE = "tool-call deltas"
"""Calls that come beside the text, already cut out by the provider."""

Feed = Callable[[MessageParser, Any], list[AnyEvent]]


class Line(msgspec.Struct, frozen=True):
    """One measurement. Times are microseconds for one chunk."""

    grammar: str
    """What is parsed: the name of a body grammar, or what stands beside them."""
    format: str
    text: str
    """What the text, or the long argument of the call, is."""
    chars: int
    """How many were asked for: the call around them makes a few more."""
    loop_us: float
    parser_us: float
    ratio: float
    """How many loops the parser costs, in the same round."""
    slowest_us: float
    """The slowest single chunk."""


class Growth(msgspec.Struct, frozen=True):
    """How the total time of a kind of call grows with its length."""

    grammar: str
    text: str
    exponent: float
    """1.0 is linear."""


class Report(msgspec.Struct, frozen=True):
    """Everything measured in one run."""

    chunk_chars: int
    lines: list[Line]
    growth: list[Growth]
    memory: list[Footprint]


class Subject(msgspec.Struct, frozen=True):
    """What is measured at every size."""

    grammar: str
    format: str
    text: str
    make: Callable[[int], str]
    """A text by its least number of characters."""
    calls: int = 0
    native: bool = False
    """The text is the arguments of a call that comes beside the text."""


def subjects() -> list[Subject]:
    """Running text, and a call in each grammar."""
    native = Sample("plain", '{"city": "', '"}', quote='"', calls=1)
    found = [Subject("none", "hermes", name, partial(running_text, line)) for name, line in RUNNING.items()]
    for grammar, sample in samples().items():
        found += [
            Subject(grammar, sample.format_name, name, partial(call_text, sample, page), sample.calls)
            for name, page in PAGES.items()
        ]
    return found + [
        Subject(NATIVE, "plain", name, partial(call_text, native, page), 1, native=True) for name, page in PAGES.items()
    ]


def run_parser(*, rounds: int, sizes: Sequence[int] = SIZES, progress: Callable[[str], None]) -> Report:
    """Measure every subject at every size; `progress` hears what comes next."""
    lines = []
    for subject in subjects():
        for chars in sizes:
            progress(f"{subject.grammar}, {subject.text}: {chars:,} characters")
            lines.append(_measure(subject, chars, rounds))
    progress("memory of open messages")
    return Report(CHUNK_CHARS, lines, growth_of(lines), measure_memory())


def growth_of(lines: Sequence[Line]) -> list[Growth]:
    """The growth of every subject of which there are long texts; in loops, so that it is not that of the machine."""
    grown: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        if line.chars >= GROWTH_FROM:
            grown.setdefault((line.grammar, line.text), []).append(line)
    return [
        Growth(
            grammar,
            text,
            growth_exponent([line.chars for line in several], [line.chars * line.ratio for line in several]),
        )
        for (grammar, text), several in grown.items()
        if len(several) > 1
    ]


def reference_loop(chunks: Iterable[str]) -> list[str]:
    """Look for a marker's first character and keep the chunk: no parser can do less."""
    kept: list[str] = []
    for chunk in chunks:
        chunk.find("<")
        kept.append(chunk)
    return kept


def count_calls(grammar: Grammar, chunks: Iterable[Any], feed: Feed = MessageParser.feed) -> int:
    """Parse one message and count its complete calls."""
    parser = MessageParser.of(grammar, "bench")
    calls = 0
    for chunk in chunks:
        for event in feed(parser, chunk):
            calls += event.__class__ is ToolCall
    return calls + sum(event.__class__ is ToolCall for event in parser.finish())


def parse(grammar: Grammar, chunks: Iterable[Any], feed: Feed = MessageParser.feed) -> list[AnyEvent]:
    """Parse one message, and do nothing else; the events of its end."""
    parser = MessageParser.of(grammar, "bench")
    for chunk in chunks:
        feed(parser, chunk)
    return parser.finish()


def _measure(subject: Subject, chars: int, rounds: int) -> Line:
    grammar = compile_grammar(read_options({"format": subject.format, "tools": TOOLS}), LIMITS)
    chunks = chunks_of(subject.make(chars))
    fed, feed = (native_deltas(chunks), MessageParser.tool_calls) if subject.native else (chunks, MessageParser.feed)
    if (calls := count_calls(grammar, fed, feed)) != subject.calls:
        raise FatalError(f"{subject.grammar} of {chars} characters: {calls} calls instead of {subject.calls}")
    again = max(1, LEAST_CHUNKS // len(chunks))
    seconds = in_turns(
        {
            "loop": lambda: [reference_loop(chunks) for _ in range(LOOPS * again)],
            "parser": lambda: [parse(grammar, fed, feed) for _ in range(again)],
        },
        rounds * (SHORT if again > 1 else 1),
    )
    each = 1e6 / (again * len(chunks))
    return Line(
        grammar=subject.grammar,
        format=subject.format,
        text=subject.text,
        chars=chars,
        loop_us=median(seconds["loop"]) / LOOPS * each,
        parser_us=median(seconds["parser"]) * each,
        ratio=median_ratio(seconds["parser"], seconds["loop"]) * LOOPS,
        slowest_us=_slowest_us(grammar, fed, feed),
    )


def native_deltas(chunks: Sequence[str]) -> list[list[dict[str, Any]]]:
    """The arguments of one call as OpenAI tool-call deltas, one for each chunk."""
    first = {"index": 0, "id": "call_1", "function": {"name": TOOL, "arguments": ""}}
    return [[first], *([{"index": 0, "function": {"arguments": chunk}}] for chunk in chunks)]


def _slowest_us(grammar: Grammar, chunks: Sequence[Any], feed: Feed) -> float:
    parser = MessageParser.of(grammar, "bench")
    slowest = 0.0
    for chunk in chunks:
        started = thread_time()
        feed(parser, chunk)
        slowest = max(slowest, thread_time() - started)
    return slowest * 1e6
