"""What tests of parsers share: running one over chunks, and the form in which cuts make no difference."""

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tokenmill.events import (
    AnyEvent,
    ArgumentDelta,
    Error,
    Event,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
)
from tokenmill.formats import compile_grammar, find_format
from tokenmill.limits import Limits
from tokenmill.parser import Format, Grammar, MessageParser, Options
from tokenmill.parser.run.run import Span
from tokenmill.parser.values.repair import decode_string

SIZES = (1, 2, 3, 5, 8, 13, 40)
"""Characters of a chunk where texts are cut at random."""


def grammar(format_: str | Format = "plain", limits: Limits | None = None, **options: Any) -> Grammar:
    """A grammar by format name, or of a format that only a test has."""
    if isinstance(format_, Format):
        return Grammar(Options(format=format_.name, **options), [format_], limits or Limits())
    return compile_grammar(Options(format=format_, **options), limits)


def traced(name: str, **options: Any) -> Grammar:
    """A grammar that records the source of markers and calls among the events."""
    plain = compile_grammar(Options(format=name, **options))
    return Grammar(plain.options, [find_format(name)], plain.limits, traced=True)


def parse(compiled: Grammar, chunks: Iterable[str], reason: str = "stop") -> list[Any]:
    """Every event of a message that arrives in these chunks; tests know which types they expect."""
    parser = MessageParser.of(compiled, "identity")
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return events + parser.finish(reason)


def merged(events: Iterable[AnyEvent | Span]) -> list[Any]:
    """Events with all that the cut may change removed: adjacent deltas joined, a call's deltas joined at its end."""
    out: list[Any] = []
    growing: dict[str, dict[tuple[str, str], str]] = {}
    event: Any
    for event in events:  # of each only its type is asked, once: millions of events are compared
        kind = type(event)
        last: Any = out[-1] if out else None
        if kind is TextDelta or kind is ReasoningDelta:
            if type(last) is kind and last.id == event.id:
                out[-1] = kind(event.id, last.delta + event.delta)
                continue
        elif kind is ToolInputDelta or kind is ArgumentDelta:
            stream = ("source", "") if kind is ToolInputDelta else ("argument", event.argument)
            deltas = growing.setdefault(event.id, {})
            deltas[stream] = deltas.get(stream, "") + event.delta
            continue
        elif kind is Span:
            if event.kind == "coded":
                continue  # how much text stands with it depends on the cut
            if type(last) is Span and _goes_on(last, event):
                out[-1] = Span(event.kind, last.source + event.source, event.ahead)
                continue
        elif kind is ToolInputEnd or kind is ToolCall or (kind is Error and event.id):
            out.extend(sorted(growing.pop(str(event.id), {}).items()))
        out.append(event)
    assert not growing, "deltas of a call that never ended"
    return out


def _goes_on(before: Span, span: Span) -> bool:
    """Whether two spans are pieces of one."""
    return (before.kind, before.ahead) == (span.kind, span.ahead) and span.kind != "call"


def text_of(events: Iterable[AnyEvent | Span]) -> str:
    """All visible text."""
    return "".join(event.delta for event in events if isinstance(event, TextDelta))


def reasoning_of(events: Iterable[AnyEvent | Span]) -> str:
    """All reasoning."""
    return "".join(event.delta for event in events if isinstance(event, ReasoningDelta))


def codes_of(events: Iterable[AnyEvent | Span]) -> list[str]:
    """Codes of the errors, in order."""
    return [event.code for event in events if isinstance(event, Error)]


def named(events: Iterable[AnyEvent | Span], kind: type[Event]) -> list[Any]:
    """The events of one type."""
    return [event for event in events if isinstance(event, kind)]


def source_of(events: Iterable[AnyEvent | Span]) -> str:
    """The input, put together again from what a traced parser made of it."""
    text, spans = "", list[tuple[int, Span]]()
    for event in events:
        if type(event) is TextDelta or type(event) is ReasoningDelta:
            text += event.delta
        elif type(event) is Span:
            spans.append((len(text) + event.ahead, event))
    source, read = "", 0
    for at, span in spans:
        source, read = source + text[read:at], at
        if span.kind == "coded":  # it stands for the text in front of it
            source = source.removesuffix(decode_string(span.source))
        source += span.source
    return source + text[read:]


def two_cuts(text: str) -> Iterator[list[str]]:
    """The text cut in two at every single position."""
    for at in range(1, len(text)):
        yield [text[:at], text[at:]]


def random_cuts(text: str, seed: int, rounds: int = 3) -> Iterator[list[str]]:
    """The text in pieces of random sizes; the same for the same seed."""
    for round_ in range(rounds):
        draw, chunks, at = random.Random(f"{seed}/{round_}").random, [], 0
        while at < len(text):
            step = SIZES[int(draw() * len(SIZES))]
            chunks.append(text[at : at + step])
            at += step
        yield chunks


def all_cuts(text: str, seed: int = 0) -> Iterator[Sequence[str]]:
    """One character at a time, in two at every position, and at random."""
    yield list(text)
    yield from two_cuts(text)
    yield from random_cuts(text, seed)
