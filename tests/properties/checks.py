"""One random stream against every promise of the parser.

P2: cut at random, one character at a time, and encoded and decoded at the cuts, it gives the same events. P3: the state
as bytes is all that the parser knows. P7: nothing raises and the events are well-formed. P8: what is held is bounded.
P9: text, reasoning and what else is known of the source are the input, each character once. And argument deltas are the
argument. And all dialects bear it: see `rendering`.
"""

import random
from collections.abc import Sequence
from typing import Any

import msgspec

from tests.properties.rendering import check_dialect
from tests.properties.soup import BESIDE, Setting, Step, Stream
from tests.support.parsing import merged, source_of
from tests.support.promises import check_events, require
from tokenmill.dialects import DIALECTS
from tokenmill.events import ArgumentDelta, ToolCall
from tokenmill.library import Parser
from tokenmill.limits import KIB, NAME_CHARS
from tokenmill.parser import Grammar
from tokenmill.parser.modes.call import HEADER_CHARS
from tokenmill.parser.modes.text import FRAMING_CHARS
from tokenmill.parser.run.run import Span
from tokenmill.parser.run.state import State
from tokenmill.parser.values.repair import single_halves

HELD_CHARS = 16 * KIB
"""The longest that a marker with what must follow it can be, white space between its tokens included."""

DIALECTS_AT_ONCE = 2
"""In which a stream is rendered, drawn anew for each: many streams see all of them."""

REREAD = frozenset({"json_mix"})
"""Formats that find out at a call's end where its strings ended."""

Steps = Sequence[Step]


def check(setting: Setting, stream: Stream, dice: random.Random, dialects: int = DIALECTS_AT_ONCE) -> None:
    """Parse the stream whole and cut at random. Raises `promises.Broken` or whatever the parser raises."""
    grammar = setting.grammar
    whole = run(grammar, stream.steps, stream.reason)
    cut = cut_steps(stream.steps, dice)
    events = run(grammar, cut, stream.reason, dice)
    check_answer(grammar, stream, events)
    require(_same(events, whole), f"P2: another answer when cut as {[step.value for step in cut]}")
    check_dialects(grammar, events, dice, dialects)


def check_every_cut(setting: Setting, stream: Stream) -> None:
    """The same for each character alone, saved in between, and for each two pieces. For streams that have failed."""
    grammar = setting.grammar
    whole = run(grammar, stream.steps, stream.reason)
    check_answer(grammar, stream, whole)
    for saves in (None, random.Random(0)):
        events = run(grammar, _characters(stream.steps), stream.reason, saves, every=True)
        check_answer(grammar, stream, events)
        require(_same(events, whole), "P2: another answer for each character alone")
        check_dialects(grammar, events, random.Random(0), len(DIALECTS))
    for number, step in enumerate(stream.steps):
        for at in range(1, len(step.value) if step.kind == "feed" else 0):
            halves = [Step("feed", step.value[:at]), Step("feed", step.value[at:])]
            events = run(grammar, [*stream.steps[:number], *halves, *stream.steps[number + 1 :]], stream.reason)
            require(_same(events, whole), f"P2: another answer when cut at {at}")


def run(
    grammar: Grammar,
    steps: Steps,
    reason: str | None,
    saving: random.Random | None = None,
    *,
    every: bool = False,
) -> list[Any]:
    """All events; with `saving` the parser is encoded and decoded between some steps, or between all."""
    parser, events = Parser.of(grammar, "identity"), []
    for step in steps:
        events += getattr(parser, step.kind)(*_arguments(step))
        check_size(parser.state, grammar)
        if saving and (every or saving.random() < 0.3):
            parser = Parser.of_state(grammar, parser.encode_state())
    return events + parser.finish(reason)


def _arguments(step: Step) -> tuple[Any, ...]:
    return ("kind", step.value) if step.kind == "part" else (step.value,)


def check_answer(grammar: Grammar, stream: Stream, events: Sequence[Any]) -> None:
    """Events that are well-formed and give the input back."""
    check_events(events, delta_chars=grammar.limits.delta_chars, streams_input=grammar.streams_input)
    msgspec.json.encode([event for event in events if not isinstance(event, Span)])
    given = single_halves(stream.text)
    if grammar.watches_arguments:
        check_growth(grammar, given, events)
    own = [event for event in events if not (isinstance(event, Span) and BESIDE in event.source)]
    source = source_of(own).replace(BESIDE, "")
    text = grammar.prompt + given if given else ""
    require(source == text, f"P9: the source came out as {source!r}")


def check_dialects(grammar: Grammar, events: Sequence[Any], dice: random.Random, number: int) -> None:
    """The answer in so many dialects."""
    bare = [event for event in events if not isinstance(event, Span)]
    for dialect in dice.sample(DIALECTS, number):
        check_dialect(dialect, grammar, bare, dice)


def check_growth(grammar: Grammar, text: str, events: Sequence[Any]) -> None:
    """Argument deltas joined are the argument; one that came twice or was read otherwise counts in the end."""
    reread = not REREAD.isdisjoint(grammar.format_names)
    grown: dict[tuple[str, str], str] = {}
    for event in events:
        if isinstance(event, ArgumentDelta):
            key = (event.id, event.argument)
            grown[key] = grown.get(key, "") + event.delta
        elif isinstance(event, ToolCall) and not (event.repaired and reread):
            for (call_id, name), joined in grown.items():
                if call_id == event.id and text.count(name) == 1:
                    require(event.arguments.get(name) == joined, f"{name} grew to {joined!r}")


def check_size(state: State, grammar: Grammar) -> None:
    """P8: what the parser holds is within its caps, wherever it stands."""
    limits = grammar.limits
    require(len(state.held) <= HELD_CHARS, f"P8: {len(state.held)} characters held")
    require(len(state.pending) <= FRAMING_CHARS + HEADER_CHARS, f"P8: {len(state.pending)} characters of framing")
    calls = [native.call for native in state.native or ()] + ([state.call] if state.call else [])
    longest = max(limits.call_chars, FRAMING_CHARS + HEADER_CHARS)
    for call in calls:
        require(call.source.size <= longest, f"P8: a call of {call.source.size} characters")
        require(len(call.name) <= NAME_CHARS and len(call.header) <= HEADER_CHARS, "P8: a name or header too long")
    require(len(calls) <= limits.calls + 2, f"P8: {len(calls)} calls kept")
    require(len(state.wire_ids) <= limits.calls, f"P8: {len(state.wire_ids)} ids kept")


def cut_steps(steps: Steps, dice: random.Random) -> list[Step]:
    """The same steps with their text in pieces."""
    out: list[Step] = []
    longest = dice.choice((1, 2, 5, 12, 40))
    for step in steps:
        if step.kind != "feed":
            out.append(step)
            continue
        text, at = step.value, 0
        while at < len(text):
            size = dice.randint(1, longest)
            out.append(Step("feed", text[at : at + size]))
            at += size
    return out


def _characters(steps: Steps) -> list[Step]:
    pieces = [[Step("feed", char) for char in step.value] if step.kind == "feed" else [step] for step in steps]
    return [step for several in pieces for step in several]


def _same(events: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether two runs gave the same, however it was divided."""
    return merged(events) == merged(others)
