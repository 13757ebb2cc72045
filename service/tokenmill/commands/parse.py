"""`tokenmill parse`: the service without a broker."""

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import click
import msgspec

from tokenmill.commands.explain import explain, print_explained
from tokenmill.commands.reading import lines_of, pieces_of, reading_bar, refuse
from tokenmill.commands.settings import (
    config_file,
    configuration,
    message_options,
    opening,
    refuse_unused,
)
from tokenmill.commands.step import asked, print_steps
from tokenmill.events import AnyEvent
from tokenmill.formats.order import better_read_by
from tokenmill.parser import read_options
from tokenmill.parser.values.repair import HALF_PAIR, whole_characters
from tokenmill.partition import PartitionSettings
from tokenmill.records import InputRecord
from tokenmill.replay import Stream, parse_batch, record_from_json, replay_records
from tokenmill.terminal.console import Terminal, echo
from tokenmill.terminal.readable import EventPrinter

_OF_A_MESSAGE = ("format_name", "tools", "pairs", "codec", "dialect", "chunk", "reason")

UNUSED = {
    "batch": (*_OF_A_MESSAGE, "config_path"),
    "records": _OF_A_MESSAGE,
    "explained": ("codec", "dialect", "config_path"),
    "stepped": ("config_path",),
    "codec": ("chunk", "reason"),
}
"""Parameters that are ignored if another one is given: lines and records bring their own."""


@click.command()
@click.argument("file", type=click.File("rb"), default="-")
@message_options
@click.option(
    "--codec", metavar="NAME", help="FILE is a captured stream of this codec, one record per line; by default text."
)
@click.option("--dialect", metavar="NAME", default="native", show_default=True, help="Dialect of the output.")
@click.option(
    "--chunk", type=click.IntRange(1), help="Cut the text into pieces of this many characters; by default as read."
)
@click.option("--finish", "reason", default="stop", show_default=True, help="Finish reason of the text.")
@click.option("--explain", "explained", is_flag=True, help="Show the source of every call beside what it became.")
@click.option("--step", "stepped", is_flag=True, help="Show for every piece its events, the text held, and the state.")
@click.option("--batch", is_flag=True, help="FILE has one case per line: name, format, open, tools, chunks, per_chunk.")
@click.option("--records", is_flag=True, help="FILE and the output have whole records, as `tail --raw` prints them.")
@config_file
def command(  # noqa: PLR0913 -- one for each option
    *,
    file: BinaryIO,
    format_name: str | None,
    tools: Path | None,
    pairs: tuple[str, ...],
    codec: str | None,
    dialect: str,
    chunk: int | None,
    reason: str,
    explained: bool,
    stepped: bool,
    batch: bool,
    records: bool,
    config_path: Path | None,
) -> None:
    """Parse model text, or a captured stream, from FILE or stdin, without a broker.

    Events are printed as they come: readably on a terminal, otherwise as JSON lines. The configuration is only read for
    --records, which prints what the worker would publish.
    """
    if explained + stepped + batch + records > 1:
        raise click.UsageError("--explain, --step, --batch and --records are different things; give one of them")
    refuse_unused(UNUSED)
    options = opening(format_name, tools, pairs)
    if stepped:
        print_steps(Terminal(), asked(options, file, codec, chunk, reason, dialect))
        return
    with reading_bar(file):
        if batch:
            _print_json(parse_batch(_json(number, line)) for number, line in enumerate(lines_of(file), 1))
        elif records:
            settings = PartitionSettings.from_config(configuration(config_path))
            _print_json(replay_records(_records(file), settings))
        elif explained:
            print_explained(Terminal(), explain(read_options(options), pieces_of(file, chunk), reason))
        else:
            source = _captured(file, codec) if codec else _text(file, chunk, reason)
            _print_stream(options, source, codec or "native", dialect)


def _print_stream(options: dict[str, Any], source: Iterable[Any], codec: str, dialect: str) -> None:
    stream = Stream({"codec": codec, "dialect": dialect, "open": options})
    rejected: list[str] = []
    kept: list[str] = []
    several = isinstance(options.get("format"), list)
    _print_events(_parsed(stream, _keeping(source, kept) if several else source, rejected), native=dialect == "native")
    if (better := better_read_by(read_options(options), "".join(kept))) is not None:
        click.echo(f"tokenmill: {better} alone reads more calls of this: put it first in --format", err=True)
    refuse(codec, rejected)


def _keeping(source: Iterable[Any], kept: list[str]) -> Iterator[Any]:
    """Yield the same, and keep the model text."""
    for chunk in source:
        if isinstance(chunk, str):
            kept.append(chunk)
        yield chunk


def _parsed(stream: Stream, source: Iterable[Any], rejected: list[str]) -> Iterator[Any]:
    for number, chunk in enumerate(source, 1):
        known = len(stream.rejected)
        yield from stream.feed(chunk)
        rejected += [f"record {number}: {problem}" for problem in stream.rejected[known:]]
    known = len(stream.rejected)
    yield from stream.end()
    rejected += [f"at the end: {problem}" for problem in stream.rejected[known:]]


def _text(file: BinaryIO, chunk: int | None, reason: str) -> Iterator[Any]:
    yield from pieces_of(file, chunk)
    yield {"finish_reason": reason}


def _captured(file: BinaryIO, codec: str) -> Iterator[Any]:
    """Yield each line in the form in which the stream takes a record of that codec."""
    for number, line in enumerate(lines_of(file), 1):
        if codec == "native":
            yield _json(number, line)
        else:
            yield {"base64": b64encode(line).decode()}


def _records(file: BinaryIO) -> Iterator[InputRecord]:
    for number, line in enumerate(lines_of(file), 1):
        try:
            yield record_from_json(_json(number, line))
        except ValueError as problem:
            raise click.BadParameter(f"line {number} is not a record: {problem}", param_hint="FILE") from problem


def _json(number: int, line: bytes) -> Any:
    try:
        try:
            return msgspec.json.decode(line, type=dict[str, Any])
        except msgspec.DecodeError:
            if not HALF_PAIR.search(line):
                raise
            return msgspec.convert(whole_characters(json.loads(line)), dict[str, Any])
    except (ValueError, RecursionError) as problem:
        raise click.BadParameter(f"line {number} is not a JSON object: {problem}", param_hint="FILE") from problem


def _print_json(answers: Iterable[Any]) -> None:
    for answer in answers:
        echo(msgspec.json.encode(answer))


def _print_events(events: Iterable[Any], *, native: bool) -> None:
    terminal = Terminal()
    printer = EventPrinter(terminal, live=True)
    for event in events:
        if native and terminal.is_terminal:
            printer.show(msgspec.convert(event, AnyEvent))
        else:
            # A payload that is not a JSON object ends a stream in its protocol: `[DONE]`.
            echo(event if isinstance(event, str) else msgspec.json.encode(event))
