"""Compiles formats to modes.

1. Mode 0 is visible text, mode 1 is text in which nothing is parsed any longer. The others follow in the order of the
   formats' regions, sections and calls, so that the same options always give the same numbers.
2. Where several formats live at once, their markers are live at once: the earliest wins.
3. Reasoning occurs once in an answer, unless its region allows more. After it follow modes of their own for visible
   text, in which the region's opening and closing are text.
4. Layers that `parse` leaves out are not compiled, so their markers are never found. There are two exceptions. Where
   calls are left out but end the reasoning, their opening still ends it, and stays text. Where calls may be quoted in
   reasoning that is left out, its markers are found, and stay text, too.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tokenmill.limits import Limits
from tokenmill.parser.compile.channels import CompiledChannels, compile_channels
from tokenmill.parser.markers import Marker
from tokenmill.parser.modes.answer import AnswerMode, LeadMode, WholeCallMode
from tokenmill.parser.modes.call import CallMode, Ends, Headed
from tokenmill.parser.modes.section import RepeatMode, SectionMode, closes_calls
from tokenmill.parser.modes.text import LabelMode, Live, Mode, Move, TextMode, To
from tokenmill.parser.options import Options
from tokenmill.parser.run.rules import TEXT
from tokenmill.parser.spec import Answer, Call, Format, Header, Region, Section, WholeCall, strays_of


class Compiled(NamedTuple):
    """Modes by number, the one to begin in, and those whose text is reasoning."""

    modes: Sequence[Mode]
    start: int
    reasoning: frozenset[int]
    answers: frozenset[int]
    """Modes of the visible text after the reasoning, whose end leads to the smallest of them. None: to `TEXT`."""
    names: Sequence[str]
    """Name of each mode, as in `mode_names`."""


class _Layout(NamedTuple):
    """The numbers of the modes."""

    regions: dict[int, tuple[Format, Region]]
    sections: dict[int, tuple[Format, Section]]
    calls: dict[int, list[int]]
    """Section mode → modes of its calls."""
    channels: list[CompiledChannels]
    names: dict[int, str]  # what is not here is `text`
    answer: int = TEXT
    """Mode of the visible text after the reasoning. If it is not `TEXT`, the mode after it is that of the text after
    another opening."""


def compile_modes(options: Options, formats: Sequence[Format], limits: Limits) -> Compiled:
    """Return the modes of one or several formats under these options."""
    layout = _lay_out(options, formats, limits)
    tools = [entry for number in layout.sections for entry in _openings(layout, number)]
    in_reasoning = [entry for number in layout.sections for entry in _openings(layout, number, surest=True)]
    is_parsed = options.parse != "tools"
    side = To.REGION if is_parsed else To.VERBATIM
    noise: Live = []
    if options.parse != "none":
        noise = [(token, Move(To.SWALLOWED)) for format_ in formats for token in format_.noise]
    opened = [(region.open, Move(side, number)) for number, (_, region) in layout.regions.items() if region.open]
    strays: Live = []
    if layout.regions and is_parsed:
        strays = [(stray, Move(To.SWALLOWED)) for format_ in formats for stray in strays_of(format_)]
    headers = [entry for compiled in layout.channels for entry in compiled.outside]
    others = [*noise, *tools, *headers]
    outside = [*opened, *strays, *others]
    modes: list[Mode] = [
        TextMode(TEXT, outside, reasoning=False, block=False),
        TextMode(1, [], reasoning=False),
    ]
    for number, (format_, region) in layout.regions.items():
        live = [(region.close, Move(side, layout.answer))]
        live += [(region.before, Move(To.VERBATIM, layout.answer))] if region.before else []
        live += [(region.open, Move(To.SWALLOWED))] if region.open and is_parsed else []
        live += noise
        if (options.calls_in_reasoning or format_.calls_in_reasoning) == "honour":
            live += in_reasoning or _left_out(options, format_, layout.answer)
        modes.append(TextMode(number, live, reasoning=is_parsed))
    for number, (_, section) in layout.sections.items():
        modes.append(_section_mode(layout, number, section, outside))
        modes += [_call_mode(layout, number, section, at, limits) for at in range(len(section.calls))]
        if section.block:
            live = [(section.block, Move(To.REGION))]
            modes.append(TextMode(_block(number, section), live, reasoning=False))
        modes += [RepeatMode(section.close)] if section.close and _repeats(section) else []
    for compiled in layout.channels:
        modes += compiled.modes
    answers = _answers(layout, strays, others)
    start, first = _beginning(options, formats, layout, limits, len(modes) + len(answers))
    modes += [*answers, *first]
    reasons = [mode for compiled in layout.channels for mode in compiled.reasons]
    labels = [start] if is_parsed and any(isinstance(mode, LabelMode) for mode in first) else []
    reasoning = frozenset([*(layout.regions if is_parsed else ()), *reasons, *labels])
    names = [layout.names.get(number, "text") for number in range(len(modes))]
    return Compiled(modes, start, reasoning, frozenset(range(layout.answer, layout.answer + len(answers))), names)


def _answers(layout: _Layout, strays: Live, others: Live) -> list[Mode]:
    """Return the modes of the visible text after the reasoning: as it is, and after an opening that is text."""
    if layout.answer == TEXT:
        return []
    quoted = [region for _, region in layout.regions.values() if region.again == "text"]
    closes = frozenset(spelling for region in quoted for spelling in region.close.spellings)
    opened = [
        (region.open, Move(To.REGION, number) if region.again == "reasoning" else Move(To.VERBATIM, layout.answer + 1))
        for number, (_, region) in layout.regions.items()
        if region.open
    ]
    closed = [(region.close, Move(To.VERBATIM, layout.answer)) for region in quoted]
    closed += [(stray, move) for stray, move in strays if closes.isdisjoint(stray.spellings)]
    return [
        TextMode(number, [*opened, *live, *others], reasoning=False, block=False)
        for number, live in ((layout.answer, strays), (layout.answer + 1, closed))
    ]


def _beginning(
    options: Options, formats: Sequence[Format], layout: _Layout, limits: Limits, number: int
) -> tuple[int, list[Mode]]:
    """Return where the stream begins, and the modes from `number` on that only its beginning has."""
    answer = formats[0].answer if options.parse in ("all", "tools") and options.tool_choice != "none" else None
    start = _start(options, formats, layout)
    if start in layout.regions and (label := layout.regions[start][1].label):
        return number, [LabelMode(label, start)]
    if isinstance(answer, WholeCall) and start == TEXT:
        return number, [WholeCallMode(number, limits.call_chars)]
    if isinstance(answer, Answer) and start == TEXT:
        call = CallMode(number + 1, answer.body.compile(()), None, limits, bare="never")
        return number, [LeadMode(answer, number + 1), AnswerMode(answer, number + 2), call]
    return start, []


def _lay_out(options: Options, formats: Sequence[Format], limits: Limits) -> _Layout:
    layout = _Layout({}, {}, {}, [], {1: "unparsed"})
    number, prefix = 2, prefixes(formats)
    for format_ in formats:
        for region in _regions(options, format_):
            layout.regions[number] = (format_, region)
            layout.names[number] = f"{prefix[format_.name]}reasoning{format_.regions.index(region)}"
            number += 1
    for format_ in formats:
        for at, section in enumerate(format_.sections):
            if (section.layer == "tools" and options.parse not in ("all", "tools")) or options.tool_choice == "none":
                continue
            layout.sections[number] = (format_, section)
            layout.calls[number] = list(range(number + 1, number + 1 + len(section.calls)))
            name = f"{prefix[format_.name]}section{at}"
            layout.names.update(enumerate(section_names(name, section, again=_repeats(section)), number))
            number = _repeat(number, section) + _repeats(section)
    for format_ in formats:
        if compiled := compile_channels(options, format_, limits, number):
            layout.channels.append(compiled)
            layout.names.update(enumerate((f"{prefix[format_.name]}{name}" for name in compiled.names), number))
            number += len(compiled.modes)
    if options.parse != "tools" and any(region.again == "text" for _, region in layout.regions.values()):
        return layout._replace(answer=number)
    return layout


def _regions(options: Options, format_: Format) -> Sequence[Region]:
    """Return the regions of a format that mean something under these options."""
    if options.parse == "tools":
        return [region for region in format_.regions if region.quotes]
    return format_.regions if options.parse in ("all", "reasoning") else ()


def _block(number: int, section: Section) -> int:
    """Return the mode after those of the section's calls: that of its blocks of text, if it has any."""
    return number + 1 + len(section.calls)


def _repeat(number: int, section: Section) -> int:
    """Return the mode after those: that of what may be repeated after the section, if anything may."""
    return _block(number, section) + (section.block is not None)


def _repeats(section: Section) -> bool:
    """Whether the section's close may be repeated: a word can't be other content there, as a bracket can."""
    if section.again == "nothing":
        return False
    return any(sign.isalnum() for text in (section.close.spellings if section.close else ()) for sign in text)


def _openings(layout: _Layout, number: int, *, surest: bool = False) -> Live:
    """Return what opens a section, or one of its calls without it; `surest`: where calls are drafted, what always
    does.
    """
    _, section = layout.sections[number]
    live = [(section.open, Move(To.SECTION, number))] if section.open else []
    if section.bare == "never" or (live and surest and section.in_reasoning == "section"):
        return live
    return live + _calls(section, layout.calls[number], outside=True)


def _calls(section: Section, modes: Sequence[int], *, outside: bool = False) -> Live:
    """Return what opens the calls of a section, or those that may stand `outside` it. Without a header the opening is
    the body's first character.
    """
    calls = [entry for entry in zip(section.calls, modes, strict=True) if not (outside and entry[0].inside)]
    return [(call.open, Move(To.CALL, mode, 0 if call.header or call.tag else 1, not call.tag)) for call, mode in calls]


def _left_out(options: Options, format_: Format, answer: int) -> Live:
    """Return the openings of calls that are not parsed but end the reasoning all the same."""
    if options.parse != "reasoning":
        return []
    openings = [[each.open] if each.open else [call.open for call in each.calls] for each in format_.sections]
    return [(opening, Move(To.VERBATIM, answer)) for several in openings for opening in several]


def _section_mode(layout: _Layout, number: int, section: Section, outside: Live) -> Mode:
    leads = [(lead, Move(To.FRAMING)) for lead in section.leads]
    live = [*leads, *((mark, Move(To.ENDED if closes_calls(mark) else To.FRAMING)) for mark in section.framing)]
    behind = _repeat(number, section) if _repeats(section) else TEXT
    live += [(section.close, Move(To.CLOSED, behind))] if section.close else []
    live += [(section.open, Move(To.SECTION, number))] if section.open else []
    if section.bare == "alone":
        return SectionMode(number, live)
    live += _calls(section, layout.calls[number])
    beyond = [(mark, Move(To.BEYOND)) for mark, _ in outside if _begins_like(mark, live)]
    again = [*leads, *((mark, move) for mark, move in live if move.to not in (To.FRAMING, To.ENDED))]
    again += [(mark, Move(To.BEYOND)) for mark in (*(mark for mark, _ in outside), *_closes(layout))]
    short = [
        (call.short, Move(To.CALL, mode))
        for call, mode in zip(section.calls, layout.calls[number], strict=True)
        if call.short
    ]
    bracket = section.framing[0].spellings[0] if section.listed else ""
    rest = _rest(layout, number, section, outside)
    again = again if _reads_on(section) else []
    bare, quoted = section.bare == "declared", section.open if section.quoted else None
    return SectionMode(number, [*live, *short, *beyond], again, rest=rest, bracket=bracket, bare=bare, quoted=quoted)


def _rest(layout: _Layout, number: int, section: Section, outside: Live) -> Live:
    """Return what ends the source of a call that failed: its or its section's close, another call, or what fits
    neither.

    Characters that calls are made of do not count, as the source may hold them.
    """
    live = [(mark, Move(To.ENDED)) for mark in section.framing]
    live += [(mark, Move(To.FRAMING)) for mark in section.leads]
    live += [(section.close, Move(To.CLOSED))] if section.close else []
    live += [(section.open, Move(To.SECTION, number))] if section.open else []
    live += [entry for entry in _calls(section, layout.calls[number]) if not entry[1].kept]
    beyond = [mark for mark, move in outside if not move.kept]
    live += [(mark, Move(To.BEYOND)) for mark in (*beyond, *_closes(layout))]
    return [(mark, move) for mark, move in live if closes_calls(mark)]


def _reads_on(section: Section) -> bool:
    """Whether a section continues after what it can't hold: its calls are well marked, and not all may stand
    outside.
    """
    needed = section.bare in ("never", "declared")
    return needed and section.close is not None and all(call.header for call in section.calls)


def _closes(layout: _Layout) -> list[Marker]:
    """Return what ends a region: a section that was opened inside it ends there, too."""
    return [mark for _, region in layout.regions.values() for mark in (region.close, region.before) if mark]


def _begins_like(mark: Marker, live: Live) -> bool:
    """Whether the marker is longer than one of a section and begins like it: a bracket of a list, and
    `[TOOL_CALLS]`.
    """
    known = tuple(spelling for own, _ in live for spelling in own.spellings)
    return any(spelling not in known and spelling.startswith(known) for spelling in mark.spellings)


def _call_mode(layout: _Layout, number: int, section: Section, at: int, limits: Limits) -> Mode:
    call = section.calls[at]
    stops = [section.close, section.open, *(other.open for other in section.calls if other.header)]
    reader = call.body.compile([stop for stop in stops if stop])
    opening = section.open if section.again == "body" else None
    block, closed_by = _block(number, section), _ends(section, call)
    header = call.header
    headed = Headed(header, _beyond(layout, section, call, header)) if header else None
    return CallMode(number, reader, headed, limits, bare=section.bare, block=block, again=opening, closed_by=closed_by)


def _beyond(layout: _Layout, section: Section, call: Call, header: Header) -> list[Marker]:
    """Return the markers that no header holds: the call's own opening, framing, and what opens or closes its
    surroundings.
    """
    around = [mark for mark in (call.open, section.open, section.close) if mark]
    marks = (*around, *section.framing, *_closes(layout))
    return [mark for mark in marks if closes_calls(mark) and not _may_hold(header, mark)]


def _may_hold(header: Header, mark: Marker) -> bool:
    """Whether a header may contain the marker, in its pattern or as letters of a name, or ends there anyway."""
    ends = header.before.spellings if header.before else ()
    return any(
        text[0].isalnum() or text.startswith(ends) or re.escape(text) in header.pattern for text in mark.spellings
    )


def _ends(section: Section, call: Call) -> Ends:
    """Return what marks the end of a call that can't be read."""
    if section.bare == "alone":
        return "unmarked"
    of_section = section.close is not None and closes_calls(section.close)
    if call.header and (any(map(closes_calls, section.framing)) or (of_section and section.open is None)):
        return "marked"
    return "section" if of_section else "unmarked"


def _start(options: Options, formats: Sequence[Format], layout: _Layout) -> int:
    wanted = options.start or formats[0].start
    if wanted == "header":
        return next((compiled.header for compiled in layout.channels), TEXT)
    if wanted == "reasoning":
        return next(iter([*layout.regions, *(compiled.reasoning for compiled in layout.channels)]), TEXT)
    return TEXT


# The readable names of a grammar's modes: the states in the formats' diagrams.
#
# `text`, `unparsed`, `reasoning0`, `section0`, `section0_call1`, `header`, `text_block`, `channel2`, …; where several
# formats live at once, each name has its format's name as prefix: `think.reasoning0`.


def prefixes(formats: Sequence[Format]) -> dict[str, str]:
    """Return the prefix of each format's mode names."""
    return {format_.name: f"{format_.name}." if len(formats) > 1 else "" for format_ in formats}


def section_names(name: str, section: Section, *, again: bool) -> Iterator[str]:
    """Yield the names of a section's modes, in the order of their numbers; `again`: it may be repeated after its
    end.
    """
    yield name
    yield from (f"{name}_call{number}" for number in range(len(section.calls)))
    if section.block:
        yield f"{name}_text"
    if again:
        yield f"{name}_again"
