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
    for event in events:
        if isinstance(event, TextDelta | ReasoningDelta):
            if out and isinstance(out[-1], type(event)) and out[-1].id == event.id:
                out[-1] = type(event)(event.id, out[-1].delta + event.delta)
                continue
        elif isinstance(event, ToolInputDelta | ArgumentDelta):
            stream = ("source", "") if isinstance(event, ToolInputDelta) else ("argument", event.argument)
            deltas = growing.setdefault(event.id, {})
            deltas[stream] = deltas.get(stream, "") + event.delta
            continue
        elif isinstance(event, Span) and event.kind == "coded":
            continue  # how much text stands with it depends on the cut
        elif isinstance(event, Span) and out and isinstance(out[-1], Span) and _goes_on(out[-1], event):
            out[-1] = Span(event.kind, out[-1].source + event.source, event.ahead)
            continue
        elif isinstance(event, ToolInputEnd | ToolCall) or (isinstance(event, Error) and event.id):
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
        if isinstance(event, TextDelta | ReasoningDelta):
            text += event.delta
        elif isinstance(event, Span):
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
        dice, chunks, at = random.Random(f"{seed}/{round_}"), [], 0
        while at < len(text):
            step = dice.choice((1, 2, 3, 5, 8, 13, 40))
            chunks.append(text[at : at + step])
            at += step
        yield chunks


def all_cuts(text: str, seed: int = 0) -> Iterator[Sequence[str]]:
    """One character at a time, in two at every position, and at random."""
    yield list(text)
    yield from two_cuts(text)
    yield from random_cuts(text, seed)
