"""`tokenmill parse --step`: the inspector for a terminal, with a block of lines for every piece."""

from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec
from rich.console import Console
from rich.text import Text

from tokenmill.commands.reading import pieces_of, refuse
from tokenmill.inspector.ranges import Made
from tokenmill.inspector.steps import ParseRequest, parse_in_steps
from tokenmill.inspector.watched import Step
from tokenmill.terminal.readable import compact
from tokenmill.terminal.visible import visible

STYLES = {"piece": "bold", "event": "green", "source": "dim", "held": "yellow", "state": "dim"}
"""Styles of the lines, by kind."""


def asked(
    options: dict[str, Any], file: BinaryIO, codec: str | None, chunk: int | None, reason: str, dialect: str
) -> ParseRequest:
    """Return what to show: a text as it comes or in pieces, or a captured stream."""
    common = {"open": options, "dialect": dialect, "format": options.get("format", "plain"), "finish": reason}
    if codec:
        return ParseRequest(records=file.read().decode(errors="replace"), codec=codec, **common)
    pieces, cuts, at = list(pieces_of(file, chunk)), list[int](), 0
    for piece in pieces:
        cuts.append(at := at + len(piece))
    return ParseRequest(text="".join(pieces), cuts=cuts, **common)


def print_steps(console: Console, what: ParseRequest) -> None:
    """Print every piece with its events, coloured on a terminal. Raises `FatalError` for records that can't be read."""
    found = parse_in_steps(what)
    source = found.source
    for number, step in enumerate(found.steps, 1):
        for kind, line in _lines(source, number, step):
            shown = Text(visible(line), style=STYLES[kind]) if console.is_terminal else Text(line)
            console.print(shown, soft_wrap=True)
    refuse(what.codec, found.rejected)


def _lines(source: str, number: int, step: Step) -> Iterator[tuple[str, str]]:
    """Yield the lines of a piece, each with its kind."""
    yield "piece", f"#{number} {step.kind} {compact(step.source)}"
    for made in step.made:
        yield "event", f"  {_event(made)}"
        if made.start < made.end:
            yield "source", f"    from {made.start} to {made.end}: {compact(source[made.start : made.end])}"
        yield from (("event", f"    {payload}") for payload in made.payloads)
    if step.held:
        yield "held", f"  held {compact(step.held)}"
    if step.pending:
        yield "held", f"  waits for the next call {compact(step.pending)}"
    yield "state", f"  in {step.mode}, {step.bytes} bytes"


def _event(made: Made) -> str:
    fields = msgspec.to_builtins(made.event)
    kind = fields.pop("type")
    return " ".join([kind, *(f"{name}={compact(value)}" for name, value in fields.items())])
