"""`tokenmill dlq`."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, nullcontext
from datetime import UTC, datetime
from typing import Any, TypeVar

import click
import msgspec

from tokenmill.client import Connection
from tokenmill.client.dead_letters import REFUSED, DeadLetter, Replayer, Selection, Target, is_full, read_letters
from tokenmill.commands.settings import kafka_options, quiet_kafka
from tokenmill.config import Config
from tokenmill.errors import RECORD_ERRORS, FatalError
from tokenmill.kafka.topics import SPARE
from tokenmill.records import date_of
from tokenmill.replay import record_to_json
from tokenmill.terminal.console import Terminal, echo
from tokenmill.terminal.progress import Bar, progress_bar
from tokenmill.terminal.tables import print_table
from tokenmill.terminal.visible import one_line

Function = TypeVar("Function", bound=Callable[..., Any])

COLUMNS = ("dead letter", "code", "from", "time", "key", "state", "error", "bytes")

COUNTED = ("code", "dead letters")

LISTED = 1_000
"""Default limit of a table's rows: it is held in memory until its columns' widths are known."""

SHOWN_CHARS = 60
"""Characters of a key or an error in a table; `--json` has all."""

CODES = [error.code for error in RECORD_ERRORS]


def selection_options(function: Function) -> Function:
    """Add the options that select dead letters."""
    for option in (
        click.option(
            "--since",
            type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]),
            help="Only records with a timestamp from then on, in UTC.",
        ),
        click.option("--source-partition", type=click.IntRange(0), help="Only records from this partition."),
        click.option("--source-topic", help="Only records from this topic."),
        click.option("--code", "codes", multiple=True, type=click.Choice(CODES), help="Only these codes; repeatable."),
    ):
        function = option(function)
    return function


@click.group()
def command() -> None:
    """Look at dead letters and publish them again."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines, each with the whole record.")
@click.option("--by", type=click.Choice(["code"]), help="Print only the number of each.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    help=f"At most this many records.  [default: {LISTED:,} in a table, otherwise all]",
)
@selection_options
@kafka_options
def list_letters(
    *,
    as_json: bool,
    by: str | None,
    limit: int | None,
    codes: Sequence[str],
    source_topic: str | None,
    source_partition: int | None,
    since: datetime | None,
    config: Config,
) -> None:
    """List the records that could not be used: their origin, and what is wrong with them.

    The topic is read without a consumer group, so other readers are not affected. States other than `new`: `replayed`
    by `tokenmill dlq replay`; `failed again` after that; `truncated`, the value was too large to be kept; `empty`,
    there is neither key nor value; `no source`, its origin is unknown.
    """
    quiet_kafka()
    selection = _selection(codes, source_topic, source_partition, since)
    with progress_bar() as bar:
        bar.at("connecting", 0, None)
        letters = read_letters(Connection.of(config.kafka), config.topics.dlq, selection, bar.at)
        if by is not None:
            counts = asyncio.run(_counts(_first(letters, limit)))
        elif as_json:
            asyncio.run(_print_json(_first(letters, limit), bar))
            return
        else:
            rows, more = asyncio.run(_rows(letters, limit or LISTED))
    if by is not None:
        _print_counts(counts, as_json=as_json)
        return
    print_table(Terminal(), COLUMNS, rows, right=1)
    if more:
        click.echo(f"there are more than {len(rows):,}: raise `--limit`, or count them with `--by code`", err=True)


@command.command("replay")
@click.option("--dry-run", is_flag=True, help="Only print what would be done.")
@click.option("--to", help="Topic to publish to, instead of each record's origin.")
@click.option("--by-key", is_flag=True, help="Let the key choose the partition, not the record's origin.")
@click.option("--again", is_flag=True, help="Also replay records that failed again after a replay.")
@click.option("--limit", type=click.IntRange(1), help="At most this many records.")
@selection_options
@kafka_options
def replay(  # noqa: PLR0913 -- one for each option
    *,
    dry_run: bool,
    to: str | None,
    by_key: bool,
    again: bool,
    limit: int | None,
    codes: Sequence[str],
    source_topic: str | None,
    source_partition: int | None,
    since: datetime | None,
    config: Config,
) -> int:
    """Publish the original records again, after the problem has been fixed.

    Each goes to the topic and partition that it came from, with its own headers and `tm-replayed`. Replayed records are
    noted on the dead-letter topic in the same transaction, so a repeated or interrupted command publishes no record
    twice. Records that are truncated, empty or without a source are refused, and those whose topic or partition does
    not exist, at which a dry run does not look; the exit code is then 1.
    """
    quiet_kafka()
    connection, topic = Connection.of(config.kafka), config.topics.dlq
    largest, prefix = config.limits.output_bytes + SPARE, config.kafka.transactional_id_prefix
    replayer = Replayer(connection, topic, Target(to, by_key), largest, prefix)
    selection = _selection(codes, source_topic, source_partition, since)
    states = {"new", "failed again"} if again else {"new"}
    with progress_bar() as bar:
        bar.at("connecting", 0, None)
        letters = read_letters(connection, topic, selection, bar.at)
        met = asyncio.run(_replay(letters, None if dry_run else replayer, states, limit, bar))
    done = sum(met[state] for state in states)
    refused = met["refused"]
    click.echo(f"{done} {'would be published' if dry_run else 'published'} again, {refused} refused")
    return 1 if refused else 0


def _selection(codes: Sequence[str], topic: str | None, partition: int | None, since: datetime | None) -> Selection:
    since_ms = int(since.replace(tzinfo=UTC).timestamp() * 1000) if since else None
    return Selection(codes, topic, partition, since_ms)


async def _replay(
    letters: AsyncGenerator[DeadLetter], replayer: Replayer | None, states: set[str], limit: int | None, bar: Bar
) -> Counter[str]:
    """Count the records in each state, and those that are refused, up to the limit; without a replayer nothing is
    published.
    """
    met: Counter[str] = Counter()
    batch: list[DeadLetter] = []
    async with replayer or nullcontext(), aclosing(letters):
        async for letter in letters:
            if refusal := _refusal(letter, replayer, states):
                with bar.aside():
                    click.echo(one_line(f"refused {letter.name}: {refusal}"), err=True)
                met["refused"] += 1
                continue
            met[letter.state] += 1
            if letter.state in states:
                batch.append(letter)
            full = limit is not None and sum(met[state] for state in states) >= limit
            if is_full(batch) or full:
                await _publish(batch, replayer, bar)
                batch = []
            if full:
                break
        await _publish(batch, replayer, bar)
    return met


def _refusal(letter: DeadLetter, replayer: Replayer | None, states: set[str]) -> str:
    if letter.state in REFUSED:
        return letter.state
    return replayer.refusal(letter) if replayer is not None and letter.state in states else ""


async def _publish(batch: Sequence[DeadLetter], replayer: Replayer | None, bar: Bar) -> None:
    if replayer is not None and batch:
        await replayer.publish(batch)
    try:
        with bar.aside():
            for letter in batch:
                click.echo(one_line(f"{letter.name}: {letter.code}, {_from(letter)}"))
    except BrokenPipeError as problem:
        if replayer is None:
            raise  # for a command that only prints it is no error
        raise FatalError("nobody reads the output, so the replay stopped; run it again for what is left") from problem


async def _print_json(letters: AsyncGenerator[DeadLetter], bar: Bar) -> None:
    async for letter in letters:
        said = {
            "partition": letter.record.partition,
            "offset": letter.record.offset,
            "code": letter.code,
            "error": letter.error,
            "source": letter.source,
            "state": letter.state,
            "size": letter.size,
        }
        with bar.aside():
            echo(msgspec.json.encode(said | {"record": record_to_json(letter.record)}))


async def _first(letters: AsyncGenerator[DeadLetter], limit: int | None) -> AsyncGenerator[DeadLetter]:
    """Yield at most `limit` letters, or all; reading stops after the last."""
    number = 0
    async with aclosing(letters):
        async for letter in letters:
            yield letter
            number += 1
            if number == limit:
                break


async def _counts(letters: AsyncGenerator[DeadLetter]) -> dict[str, int]:
    """Return the number of each code, the most frequent first."""
    counts: Counter[str] = Counter()
    async for letter in letters:
        counts[letter.code] += 1
    return dict(counts.most_common())


def _print_counts(counts: Mapping[str, int], *, as_json: bool) -> None:
    if as_json:
        echo(msgspec.json.encode(counts))
    else:
        print_table(Terminal(), COUNTED, [(code, str(count)) for code, count in counts.items()], right=1)


async def _rows(letters: AsyncGenerator[DeadLetter], limit: int) -> tuple[list[tuple[str, ...]], bool]:
    """Return the rows of a table, and whether there are more."""
    found = [_row(letter) async for letter in _first(letters, limit + 1)]
    return found[:limit], len(found) > limit


def _row(letter: DeadLetter) -> tuple[str, ...]:
    key = (letter.record.key or b"").decode(errors="replace")
    texts = (letter.name, letter.code, _from(letter), _time(letter.record.timestamp), key, letter.state, letter.error)
    return (*(_shown(text) for text in texts), str(letter.size))


def _time(timestamp: int) -> str:
    """Return the date, or the number itself if it is no valid date."""
    said = date_of(timestamp)
    return str(timestamp) if said is None else said.strftime("%Y-%m-%dT%H:%M:%S")


def _from(letter: DeadLetter) -> str:
    source = letter.source
    return f"{source.topic}/{source.partition}@{source.offset}" if source else "-"


def _shown(text: str) -> str:
    """Return one line without control characters, which a record could use to attack a terminal."""
    plain = "".join(char if char.isprintable() else "\ufffd" for char in text)
    return plain if len(plain) <= SHOWN_CHARS else f"{plain[: SHOWN_CHARS - 1]}…"
