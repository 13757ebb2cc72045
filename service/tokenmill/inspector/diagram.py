"""A format as a state diagram: what a stretch of a stream is, and which markers lead on.

It is drawn from the same data that the parser compiles. `parser.compile` says what each marker leads to, and has
the same names.
"""

from collections.abc import Iterator, Mapping

import msgspec

from tokenmill.parser.bodies import Body
from tokenmill.parser.markers import Marker
from tokenmill.parser.spec import Call, Channels, Format, Route, Section

TEXT = "text"
SPELLINGS_SHOWN = 2
_BLOCKS = {"text": "block of text", "reasoning": "block of reasoning", "drop": "block that is dropped"}


class State(msgspec.Struct, frozen=True):
    """What a stretch of a stream is."""

    name: str
    """As the parser calls it."""
    title: str


class Transition(msgspec.Struct, frozen=True, rename={"origin": "from"}):
    """What leads from one state to another."""

    origin: str
    to: str
    labels: tuple[str, ...]
    """Markers, or words."""


class Diagram(msgspec.Struct, frozen=True):
    """The states of a format."""

    start: str
    states: tuple[State, ...]
    moves: tuple[Transition, ...]


def diagram(format_: Format) -> Diagram:
    """The diagram of a format."""
    return _Drawing(format_).diagram()


class _Drawing:
    def __init__(self, format_: Format) -> None:
        self._format = format_
        self._states: dict[str, str] = {TEXT: "visible text"}
        self._moves: dict[tuple[str, str], list[str]] = {}
        regions = self._regions()
        for number, section in enumerate(format_.sections):
            self._section(f"section{number}", section)
            self._opened(f"section{number}", section, regions)
        if format_.channels:
            self._channels(format_.channels)
        self._begins = self._start(regions)

    def diagram(self) -> Diagram:
        """Draw all of it."""
        return Diagram(
            self._begins,
            tuple(State(name, title) for name, title in self._states.items()),
            tuple(Transition(one, other, tuple(dict.fromkeys(labels))) for (one, other), labels in self._moves.items()),
        )

    def _start(self, regions: list[str]) -> str:
        if self._format.start == "reasoning":
            return regions[0]
        return "header" if self._format.start == "header" else TEXT

    def _move(self, one: str, other: str, *labels: str) -> None:
        self._moves.setdefault((one, other), []).extend(labels)

    def _regions(self) -> list[str]:
        names = []
        for number, region in enumerate(self._format.regions):
            name = f"reasoning{number}"
            names.append(name)
            self._states[name] = "reasoning"
            if region.open:
                self._move(TEXT, name, label(region.open))
            self._move(name, TEXT, *(label(mark) for mark in (region.close, region.before) if mark))
        return names

    def _section(self, name: str, section: Section) -> None:
        """A section with its calls, and what leads out of it."""
        self._states[name] = "around calls"
        for number, call in enumerate(section.calls):
            body, begins = f"{name}_call{number}", _begins(name, number, call)
            self._move(name, begins, *(label(mark) for mark in (call.open, call.short) if mark))
            if call.header:
                self._states[begins] = "header of a call"
                ends = (call.header.until, call.header.before)
                self._move(begins, body, *(label(mark) for mark in ends if mark))
            self._states[body] = "arguments of a call" if call.header else "a call"
            self._move(body, name, _end(call.body))
        self._move(name, TEXT, label(section.close) if section.close else "anything else")

    def _opened(self, name: str, section: Section, regions: list[str]) -> None:
        """What leads into a section from text and reasoning."""
        sources = [TEXT, *(regions if self._format.calls_in_reasoning == "honour" else [])]
        for source in sources:
            if section.open:
                self._move(source, name, label(section.open))
            alone = source == TEXT or not section.open or section.in_reasoning == "calls"
            if section.bare != "never" and alone:
                known = " of a declared tool" if section.bare == "declared" else ""
                for number, call in enumerate(section.calls):
                    if not call.inside:
                        self._move(source, _begins(name, number, call), f"{label(call.open)}{known}")

    def _channels(self, channels: Channels) -> None:
        self._states["header"] = "header of a channel"
        self._move(TEXT, "header", label(channels.open), *([label(channels.until)] if channels.unopened else []))
        for number, route in enumerate(channels.routes, 1):
            self._move("header", self._route(channels, route, number), f"header {number}")

    def _route(self, channels: Channels, route: Route, number: int) -> str:
        """What a channel's header leads to, and what leads out of there."""
        if isinstance(route.to, str):
            name = f"{route.to}_block"
            self._states[name] = _BLOCKS[route.to]
            self._move(name, TEXT, label(channels.close))
            if route.to in channels.reopens:
                self._move(name, "header", *(label(mark) for mark in (channels.open, channels.alone) if mark))
            return name
        name = f"channel{number}"
        if isinstance(route.to, Section):
            self._section(name, route.to)
            self._moves[name, TEXT] = [label(channels.close)]
        else:
            self._states[name] = "arguments of a call"
            self._move(name, TEXT, _end(route.to))
        return name


def _begins(section: str, number: int, call: Call) -> str:
    """The state in which a call begins."""
    return f"{section}_call{number}{'_header' if call.header else ''}"


def _end(body: Body) -> str:
    """What ends a call: its own marker, or the end of a value."""
    end = getattr(body, "end", None)
    if isinstance(end, Marker):
        return label(end)
    closes = dict.fromkeys(label(mark) for mark in _closes(body)) if isinstance(body, msgspec.Struct) else {}
    return " or ".join(closes) or "its last bracket"


def _closes(node: msgspec.Struct) -> Iterator[Marker]:
    """What closes the contents of tags, wherever in the body that is said."""
    for name in node.__struct_fields__:
        value = getattr(node, name)
        if isinstance(value, Marker):
            if name == "close":
                yield value
        elif isinstance(value, msgspec.Struct):
            yield from _closes(value)
        elif isinstance(value, Mapping | tuple):
            inner = value.values() if isinstance(value, Mapping) else value
            yield from (mark for each in inner if isinstance(each, msgspec.Struct) for mark in _closes(each))


def label(mark: Marker) -> str:
    """A marker in a label: its first spellings."""
    texts = [text.strip(" ").replace("\n", "↵") for text in mark.spellings]
    shown = texts[:SPELLINGS_SHOWN] if len(texts) <= 2 * SPELLINGS_SHOWN else texts[:1]
    return " or ".join(shown) + (" …" if len(shown) < len(texts) else "")
