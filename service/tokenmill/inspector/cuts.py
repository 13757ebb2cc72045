"""Whether a text gives the same events wherever it is cut: what every format promises."""

from collections.abc import Iterable

import msgspec

from tokenmill.events import AnyEvent, ArgumentDelta, ReasoningDelta, TextDelta, ToolInputDelta
from tokenmill.formats import compile_grammar
from tokenmill.inspector.steps import ParseRequest, pieces
from tokenmill.parser import Grammar, MessageParser

TRIED = 2_000
"""Cuts of one text: a longer one is cut at even distances."""

READ_CHARS = 20_000_000
"""Of all cuts together, as each is read whole: a few seconds. A long text is cut at fewer places."""

_DELTAS = (TextDelta, ReasoningDelta, ToolInputDelta, ArgumentDelta)


class CutDifference(msgspec.Struct):
    """A cut that gives other events."""

    cut: int
    """In front of this character."""
    events: list[AnyEvent]
    expected: list[AnyEvent]
    """In one piece."""


class CutCheck(msgspec.Struct):
    """All cuts in two."""

    tried: int
    differs: CutDifference | None = None


def check_cuts(asked: ParseRequest) -> CutCheck:
    """Cut it in two at every place, up to the first that differs. Raises `BadOpen` as `parse_in_steps` does."""
    grammar, text = compile_grammar(asked.options()), "".join(pieces(asked))
    expected = _events(grammar, (text,), asked.finish)
    count, size = 0, len(text)
    most = max(1, min(TRIED, READ_CHARS // max(1, size)))
    for cut in range(1, size, max(1, -(-size // most))):
        count += 1
        events = _events(grammar, (text[:cut], text[cut:]), asked.finish)
        if events != expected:
            return CutCheck(count, CutDifference(cut, events, expected))
    return CutCheck(count)


def _events(grammar: Grammar, chunks: Iterable[str], reason: str) -> list[AnyEvent]:
    parser = MessageParser.of(grammar, "inspect")
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return merged([*events, *parser.finish(reason)])


def merged(events: Iterable[AnyEvent]) -> list[AnyEvent]:
    """The events with adjacent deltas of one kind joined: what a cut may change."""
    found = list[AnyEvent]()
    for event in events:
        last = found[-1] if found else None
        if isinstance(event, _DELTAS) and last is not None and _same(last, event):
            found[-1] = msgspec.structs.replace(event, delta=last.delta + event.delta)  # type: ignore[union-attr] # -- `_same` says that it is a delta
        else:
            found.append(event)
    return found


def _same(last: AnyEvent, event: AnyEvent) -> bool:
    """Whether both are deltas of one thing."""
    return type(last) is type(event) and _without_text(last) == _without_text(event)


def _without_text(event: AnyEvent) -> dict[str, object]:
    """Its fields but for the text."""
    return {**msgspec.structs.asdict(event), "delta": ""}
