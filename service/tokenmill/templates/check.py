"""Which formats read back a template's output, and what each misses."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from tokenmill.events import Error, ReasoningDelta, TextDelta, ToolCall
from tokenmill.formats import FORMATS, compile_grammar
from tokenmill.parser import Format, MessageParser, Options
from tokenmill.templates.answers import SHAPES, WORDS, Answer, Shape, answer, conversations
from tokenmill.templates.probes import PROBES, Probe
from tokenmill.templates.rendering import CannotRender, Rendering, render

Start: TypeAlias = Literal["text", "reasoning"] | None

Progress: TypeAlias = Callable[[str, int, int | None], None]
"""What is being done, how much of it is done, and of how much, if that is known."""

_TOKENS = re.compile(r"<[|｜][^<>]*[|｜]>|</?s>|<(?:eos|bos|pad|end_of_turn)>|\[/INST\]")
"""Ends of a turn, where they could not be found from the answer: no server passes them on."""

_TRIED_FIRST = 2
"""Probes that decide first: a format that finds nothing in these finds nothing in the others."""


class Miss(msgspec.Struct, frozen=True):
    """One answer that a format does not read as it was meant."""

    probe: str
    reason: str


class Verdict(msgspec.Struct, frozen=True):
    """One format's results for all answers."""

    format: str
    read: int
    """Probes whose calls came back, without anything else."""
    of: int
    start: Start
    """The option `start` that it needs, if any."""
    misses: tuple[Miss, ...] = ()


class Report(msgspec.Struct, frozen=True):
    """The results of a template."""

    sample: str
    """The model's part of the first probe."""
    arguments: str
    """How the template takes arguments: as an `object` or as `text`."""
    unrendered: dict[str, str]
    """Probes that the template does not render, and why."""
    verdicts: tuple[Verdict, ...]
    """Verdicts of the formats that read any answer, the best first."""

    @property
    def complete(self) -> bool:
        """Whether a format reads all that the template renders."""
        return any(verdict.read == verdict.of for verdict in self.verdicts)


def check_template(template: str, progress: Progress = lambda *_: None) -> Report:
    """Render the probes and let every format read them. Raises `CannotRender` where nothing comes of it.

    `progress` is called with what is done, how much of it, and of how much.
    """
    progress("rendering", 0, None)
    asked = [(probe, shape) for shape in SHAPES for probe in PROBES]
    rendered = render(template, [one for probe, shape in asked for one in conversations(probe, shape)])
    triples = [tuple(rendered[at : at + 3]) for at in range(0, len(rendered), 3)]
    answers = [_answer(probe, shape, three) for (probe, shape), three in zip(asked, triples, strict=True)]
    found = [one for one in answers if one is not None]
    if not found:
        raise CannotRender(_why_not(triples))
    problems = {
        probe.name: three[2].problem or "the call is not in what it renders"
        for (probe, _), three in zip(asked, triples, strict=True)
    }
    groups = {(one.shape.nested, one.shape.arguments): one.shape for one in reversed(found)}
    formats = _tried()
    of = len(groups) * len(formats)
    reports = list[Report]()
    for shape in reversed(groups.values()):
        tried = _counted(formats, len(reports) * len(formats), of, progress)
        reports.append(_report(found, shape, problems, tried))
    return max(reports, key=lambda report: (report.verdicts[0].read if report.verdicts else -1, report.complete))


def _answer(probe: Probe, shape: Shape, three: Sequence[Rendering]) -> Answer | None:
    prompt, plain, calling = (rendering.text for rendering in three)
    if plain is None or calling is None:
        return None
    return answer(probe, shape, "\uffff" if prompt is None else prompt, plain, calling)


def _why_not(triples: Iterable[Sequence[Rendering]]) -> str:
    problems = list(dict.fromkeys(rendering.problem for three in triples for rendering in three if rendering.problem))
    if not problems:
        return "the template renders no calls of the model: it has no tools, or no calls in the history"
    return f"the template renders no calls of the model; it reports: {problems[0]}"


def _report(found: Iterable[Answer], shape: Shape, problems: dict[str, str], formats: Iterable[Format]) -> Report:
    """Return what these formats read from answers in one way of passing calls to the template."""
    chosen: dict[str, dict[bool, Answer]] = {}
    for one in found:
        if (one.shape.nested, one.shape.arguments) == (shape.nested, shape.arguments):
            chosen.setdefault(one.probe.name, {}).setdefault(bool(one.shape.content), one)
    probed = [list(chosen[probe.name].values()) for probe in PROBES if probe.name in chosen]
    verdicts = [verdict for format_ in formats if (verdict := _verdict(format_, probed)).read]
    known = [format_.name for format_ in FORMATS if format_.models]
    verdicts.sort(key=lambda verdict: (-verdict.read, verdict.format not in known, verdict.start is not None))
    unrendered = {probe.name: problems[probe.name] for probe in PROBES if probe.name not in chosen}
    return Report(probed[0][0].text, shape.arguments, unrendered, tuple(verdicts))


def _tried() -> list[Format]:
    """Return the formats that can be tried alone: others take a whole answer, or depend on a message's options."""
    return [format_ for format_ in FORMATS if format_.answer is None and format_.configured is None]


def _counted(formats: Iterable[Format], done: int, of: int, progress: Progress) -> Iterator[Format]:
    """Yield the formats; `progress` has how many were tried before each."""
    for number, format_ in enumerate(formats, done):
        progress("trying formats", number, of)
        yield format_


def _verdict(format_: Format, probed: Sequence[Sequence[Answer]]) -> Verdict:
    """Return the best result of a format for the answers: it may need to be told where they begin."""
    prompted = all(one.prompted for answers in probed for one in answers)
    starts: list[Start] = [None, "text", *(["reasoning"] if prompted else [])]  # type: ignore[list-item] # -- words of the type
    verdicts = []
    for start in starts:
        first = [_miss(format_, answers, start) for answers in probed[:_TRIED_FIRST]]
        if all(first):
            verdicts.append(Verdict(format_.name, 0, len(probed), start))
            continue
        misses = [
            miss for miss in (*first, *(_miss(format_, answers, start) for answers in probed[_TRIED_FIRST:])) if miss
        ]
        verdicts.append(Verdict(format_.name, len(probed) - len(misses), len(probed), start, tuple(misses)))
    return max(verdicts, key=lambda verdict: verdict.read)


def _miss(format_: Format, answers: Iterable[Answer], start: Start) -> Miss | None:
    for one in answers:
        options = Options(format=format_.name, tools=one.probe.tools, start=start)
        parser = MessageParser.of(compile_grammar(options), "check")
        if reason := _difference(one, [*parser.feed(one.text), *parser.finish()]):
            return Miss(one.probe.name, reason)
    return None


def _difference(one: Answer, events: Sequence[Any]) -> str:
    """Return how the events differ from the answer; empty if they don't."""
    calls = [event for event in events if isinstance(event, ToolCall)]
    codes = "".join(f", {event.code}" for event in events if isinstance(event, Error))
    if len(calls) != len(one.probe.calls):
        return f"{len(calls)} of {len(one.probe.calls)} calls{codes}"
    for call, (name, arguments) in zip(calls, one.probe.calls, strict=True):
        if call.name != name:
            return f"the name: {call.name!r} in place of {name!r}"
        for key in dict.fromkeys([*arguments, *call.arguments]):
            if key not in call.arguments:
                return f"{key}: nothing in place of {arguments[key]!r}"
            if key not in arguments or not same(call.arguments[key], arguments[key]):
                return f"{key}: {call.arguments[key]!r} in place of {arguments.get(key)!r}"
    text = "".join(event.delta for event in events if isinstance(event, TextDelta))
    reasoning = "".join(event.delta for event in events if isinstance(event, ReasoningDelta))
    left = _TOKENS.sub("", text).strip()
    if reasoning.strip() or left != (WORDS if one.has_words else ""):
        return f"the text around: {left or reasoning!r}"
    return ""


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same in JSON: 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
