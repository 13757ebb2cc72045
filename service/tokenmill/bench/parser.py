"""Benchmark of the parser alone, beside the cheapest loop that CPython could run over the same chunks."""

from collections.abc import Callable, Iterable, Sequence
from time import perf_counter

import msgspec

from tokenmill.bench.clock import growth_exponent, medians
from tokenmill.bench.memory import Footprint, measure_memory
from tokenmill.bench.texts import CALLS, CHUNK_CHARS, TOOLS, call_text, chunks_of, plain_text
from tokenmill.errors import FatalError
from tokenmill.events import ToolCall
from tokenmill.formats import compile_grammar
from tokenmill.limits import Limits
from tokenmill.parser import Grammar, Parser, read_options

SIZES = (1_000, 10_000, 50_000, 200_000)
LONG_SIZE = 1_000_000
PLAIN_CHARS = 200_000

LEAST_CHUNKS = 50_000
"""A short text is parsed again until this many chunks went through, so that a timing is more than noise."""

SLOWEST_PASSES = 3
"""Of several times for the same chunk the fastest counts, so that no interruption is taken for a slow chunk."""

LIMITS = Limits(call_chars=2 * LONG_SIZE)
"""Above every size: the rest of a call that hit the cap is text, which is cheaper."""


class Line(msgspec.Struct, frozen=True):
    """One measurement. Times are microseconds for one chunk."""

    what: str
    chars: int
    loop_us: float
    parser_us: float
    slowest_us: float

    @property
    def ratio(self) -> float:
        """How many loops the parser costs."""
        return self.parser_us / self.loop_us


class Report(msgspec.Struct, frozen=True):
    """Everything measured in one run."""

    chunk_chars: int
    lines: list[Line]
    growth: dict[str, float]
    """Format → exponent of the total time over the length of a call; 1.0 is linear."""
    memory: list[Footprint]


def run_parser(*, rounds: int, long: bool, progress: Callable[[str], None]) -> Report:
    """Measure plain text and, in each format, calls of growing length; `progress` hears what comes next."""
    progress("plain text")
    lines = [_measure("plain text", "hermes", plain_text(PLAIN_CHARS), rounds)]
    growth = {}
    for format_name in CALLS:
        grown = []
        for chars in (*SIZES, LONG_SIZE) if long else SIZES:
            progress(f"{format_name}: a call of {chars:,} characters")
            grown.append(_measure(f"call, {format_name}", format_name, call_text(format_name, chars), rounds))
        growth[format_name] = growth_exponent(
            [line.chars for line in grown], [line.chars * line.parser_us for line in grown]
        )
        lines += grown
    progress("memory of open messages")
    return Report(CHUNK_CHARS, lines, growth, measure_memory())


def reference_loop(chunks: Iterable[str]) -> list[str]:
    """Look for a marker's first character and keep the chunk: no parser can do less."""
    kept: list[str] = []
    for chunk in chunks:
        chunk.find("<")
        kept.append(chunk)
    return kept


def count_calls(grammar: Grammar, chunks: Iterable[str]) -> int:
    """Parse one message and count its complete calls."""
    parser = Parser.of(grammar, "bench")
    calls = 0
    for chunk in chunks:
        for event in parser.feed(chunk):
            calls += event.__class__ is ToolCall
    return calls + sum(event.__class__ is ToolCall for event in parser.finish())


def _measure(what: str, format_name: str, text: str, rounds: int) -> Line:
    grammar = compile_grammar(read_options({"format": format_name, "tools": TOOLS}), LIMITS)
    chunks = chunks_of(text)
    wanted = 0 if what == "plain text" else 1
    if (calls := count_calls(grammar, chunks)) != wanted:
        raise FatalError(f"{what} of {len(text)} characters: {calls} calls instead of {wanted}; nothing to measure")
    again = max(1, LEAST_CHUNKS // len(chunks))
    seconds = medians(
        {
            "loop": lambda: [reference_loop(chunks) for _ in range(again)],
            "parser": lambda: [count_calls(grammar, chunks) for _ in range(again)],
        },
        rounds,
    )
    each = 1e6 / (again * len(chunks))
    return Line(what, len(text), seconds["loop"] * each, seconds["parser"] * each, _slowest_us(grammar, chunks))


def _slowest_us(grammar: Grammar, chunks: Sequence[str]) -> float:
    best = [float("inf")] * len(chunks)
    for _ in range(SLOWEST_PASSES):
        parser = Parser.of(grammar, "bench")
        for number, chunk in enumerate(chunks):
            started = perf_counter()
            parser.feed(chunk)
            best[number] = min(best[number], perf_counter() - started)
    return max(best) * 1e6
