"""Benchmark of the parser alone, compared with CPython's cheapest loop over the same chunks."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from statistics import median
from time import thread_time
from typing import Any

import msgspec

from tokenmill.bench.clock import Progress, growth_exponent, in_turns, median_ratio
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
"""Characters of a long call; the slowest of its chunks is reported."""

SIZES = (1_000, 10_000, LONG, 1_000_000)

GROWTH_FROM = 10_000
"""Size from which growth is measured: in shorter calls the beginning and the end count."""

LEAST_CHUNKS = 20_000
"""Chunks that a turn parses at least: a short text is parsed repeatedly, so that a timing is more than noise and cold
memory."""

SHORT = 3
"""Factor for the rounds of a text that is parsed repeatedly: each takes milliseconds, and one of them says little."""

LOOPS = 8
"""Repetitions of the reference, which is about this many times as fast as a parser, so that both take about as long."""

LIMITS = Limits(call_chars=4 * SIZES[-1])
"""Limits above every size: the rest of a call that hit the cap is text, which is cheaper."""

NATIVE = "tool-call deltas"
"""Calls that come beside the text, already extracted by the provider."""

Feed = Callable[[MessageParser, Any], list[AnyEvent]]


class Line(msgspec.Struct, frozen=True):
    """One measurement. Times are microseconds per chunk."""

    grammar: str
    """The parsed grammar: the name of a body grammar, or of what is measured beside them."""
    format: str
    text: str
    """The content of the text, or of the call's long argument."""
    chars: int
    """Characters requested: the call around them adds a few."""
    loop_us: float
    parser_us: float
    ratio: float
    """The parser's time over the loop's, in the same round."""
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
    """A text that is measured at every size."""

    grammar: str
    format: str
    text: str
    make: Callable[[int], str]
    """Function from a minimum number of characters to a text."""
    calls: int = 0
    native: bool = False
    """Whether the text is the arguments of a call that comes beside the text."""


def subjects() -> list[Subject]:
    """Return running text, and a call in each grammar."""
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


def run_parser(*, rounds: int, sizes: Sequence[int] = SIZES, progress: Progress) -> Report:
    """Measure every subject at every size; `progress` is called with what comes next."""
    lines = []
    for subject in subjects():
        for chars in sizes:
            progress(f"{subject.grammar}, {subject.text}: {chars:,} characters")
            lines.append(_measure(subject, chars, rounds))
    progress("memory of open messages")
    return Report(CHUNK_CHARS, lines, growth_of(lines), measure_memory())


def growth_of(lines: Sequence[Line]) -> list[Growth]:
    """Return the growth of every subject with long texts; in loops, so that it is not the machine's."""
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
    """Parse one message, and do nothing else; return the events of its end."""
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
    """Return the arguments of one call as OpenAI tool-call deltas, one for each chunk."""
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
