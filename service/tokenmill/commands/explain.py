"""`tokenmill parse --explain`: the source of every call beside what it became."""

from collections.abc import Iterable, Iterator
from typing import cast

import msgspec
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tokenmill.events import AnyEvent, Error, ToolCall
from tokenmill.formats import find_format
from tokenmill.limits import Limits
from tokenmill.parser import Grammar, MessageParser, Options
from tokenmill.parser.run.run import Span
from tokenmill.terminal.readable import compact
from tokenmill.terminal.visible import visible


class Explained(msgspec.Struct, frozen=True):
    """A piece of source text, and what it became."""

    source: str
    made: list[str]


def explain(options: Options, chunks: Iterable[str], reason: str | None) -> Iterator[Explained]:
    """Parse a message and yield each piece of source that came out neither as text nor as reasoning, or failed."""
    names = [options.format] if isinstance(options.format, str) else options.format
    parser = MessageParser.of(Grammar(options, [find_format(name) for name in names], Limits(), traced=True), "explain")
    source = ""
    notes: list[str] = []
    for event in _traced(parser, chunks, reason):
        match event:
            case Span(kind="call"):
                source = event.source
            case Span(kind="dropped"):
                yield Explained(event.source, ["dropped"])
            case ToolCall() if not source:
                notes += _call(event)  # one of several calls from one source, which the last of them has
            case ToolCall():
                yield Explained(source, [*notes, *_call(event)])
                source, notes = "", []
            case Error(raw=str(raw)):
                yield Explained(raw, [_problem(event)])
                source, notes = "", []
            case Error():
                notes.append(_problem(event))
            case _:
                pass  # text and reasoning are their own source


def _traced(parser: MessageParser, chunks: Iterable[str], reason: str | None) -> Iterator[AnyEvent | Span]:
    """Parse with a traced grammar, which puts spans among the events; the parser's types leave them out."""
    for chunk in chunks:
        yield from cast("list[AnyEvent | Span]", parser.feed(chunk))
    yield from cast("list[AnyEvent | Span]", parser.finish(reason))


def _call(event: ToolCall) -> list[str]:
    lines = [f"call {event.name}"]
    lines += [f"  {name} = {compact(value)}" for name, value in event.arguments.items()]
    return lines + ["read leniently: its source is not valid"] * event.repaired


def _problem(event: Error) -> str:
    return f"error {event.code}: {event.message}"


def print_explained(console: Console, pieces: Iterable[Explained]) -> None:
    """Print the pieces side by side on a terminal, otherwise one below the other; or that there are no calls."""
    number = 0
    for number, piece in enumerate(pieces, 1):
        if console.is_terminal:
            console.print(_side_by_side(piece))
        else:
            console.print(f"#{number} source", piece.source, f"#{number} made", *piece.made, sep="\n", soft_wrap=True)
    if not number:
        console.print("no call, and nothing that began like one: all of it is text or reasoning", soft_wrap=True)


def _side_by_side(piece: Explained) -> Table:
    table = Table(box=box.SIMPLE_HEAD, expand=True, pad_edge=False)
    table.add_column("source", ratio=1, overflow="fold")
    table.add_column("made", ratio=1, overflow="fold")
    table.add_row(Text(visible(piece.source)), Text(visible("\n".join(piece.made))))
    return table
