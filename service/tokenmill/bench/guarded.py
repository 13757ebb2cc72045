"""The subjects of `bench guard`: the parser, a partition's records, dialects, snapshots. None needs a server.

Figures are processor time relative to a reference. *Loops* are those of `bench parser`; a *bare record* is a
record's JSON read, its fields written again, and the bytes kept: no worker can do less. Each turn is so long, some
milliseconds to some dozen, that it is more than noise.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from tokenmill.bench.dialects import encode, events_of, grammar_for
from tokenmill.bench.load import STARTED_MS, whole_messages
from tokenmill.bench.parser import LIMITS, LOOPS, NATIVE, Subject, native_deltas, parse, reference_loop, subjects
from tokenmill.bench.recovery import OpenMessages
from tokenmill.bench.texts import TOOLS, chunks_of
from tokenmill.dialects import find_dialect
from tokenmill.formats import compile_grammar
from tokenmill.parser import MessageParser, Options, read_options
from tokenmill.partition import Mark, OutputSpec, Partition, PartitionSettings, SnapshotWrite, at_once
from tokenmill.records import InputRecord, Output

CHARS = 10_000
"""Characters of a parsed text: the second column of `bench parser`."""

AGAIN = 4
"""Times that the text is parsed in a turn."""

TEXTS = (
    ("none", "plain text"),
    ("none", "text with signs"),
    ("json_call", "a file"),
    ("json_array", "a file"),
    ("params", "a file"),
    ("pairs", "code with tags"),
    ("pycalls", "a file"),
    (NATIVE, "a file"),
)
"""Texts of `bench parser`, by grammar: one of each kind of work that a parser does."""

DIALECTS = ("native", "openai", "anthropic")

DIALECT_MESSAGES = 40

BARE = 4
"""Times that the bare records are read in a turn."""

MESSAGES = 20
"""Whole messages in the batch of records that a partition gets."""

OPEN = 2_000
"""Messages of the partition whose snapshots are taken."""

SETTINGS = PartitionSettings(
    defaults=Options(format="hermes"),
    outputs=(
        OutputSpec("events"),
        OutputSpec("tool-calls", events=frozenset({"tool-call", "finish"}), for_runners=True),
    ),
)

_read, _write = msgspec.json.Decoder().decode, msgspec.json.Encoder().encode


class Guarded(NamedTuple):
    """Something whose figure is kept."""

    name: str
    unit: str
    """What the figure counts."""
    run: Callable[[], object]
    units: int
    """Chunks, records, events or messages of a turn."""
    reference: Callable[[], object]
    references: int
    """Chunks or records of the reference's turn."""


def guarded() -> Iterator[Guarded]:
    """Yield everything that is guarded, ready to run."""
    chosen = {(subject.grammar, subject.text): subject for subject in subjects()}
    for text in TEXTS:
        yield _parsing(chosen[text])
    records = list(whole_messages(MESSAGES))
    yield _per_record("records live", lambda: live(records), len(records))
    yield _per_record("records silently", lambda: silent(records), len(records))
    for name in DIALECTS:
        yield _dialect(name)
    partition = opened(OPEN)
    mark, snapshot = partition.mark(), partition.changes(full=True)
    yield _per_record("messages to a snapshot", lambda: partition.changes(full=True), OPEN)
    yield _per_record("messages from a snapshot", lambda: restored(mark, snapshot), OPEN)


def bare_records(values: list[bytes]) -> list[bytes]:
    """Read and write the records: the reference of what a partition does."""
    kept: list[bytes] = []
    for value in values:
        kept.append(_write(_read(value)))  # noqa: PERF401 -- an append for each, as for outputs
    return kept


def live(records: list[InputRecord]) -> list[Output]:
    """Feed the records to a new partition."""
    out: list[Output] = []
    Partition(SETTINGS, "tokens", 0).process(records, out)
    return out


def silent(records: list[InputRecord]) -> Partition:
    """Replay the records on a new partition."""
    partition = Partition(SETTINGS, "tokens", 0)
    partition.begin_replay(Mark(len(records), 0, SETTINGS.fingerprint()), lossy=False)
    partition.process(records, [])
    return partition


def opened(messages: int) -> Partition:
    """Return a partition with `messages` open messages, those of `bench recovery`."""
    partition = Partition(SETTINGS, "tokens", 0)
    for _, key, value in OpenMessages.of(messages):
        partition.process([InputRecord("tokens", 0, partition.offset, STARTED_MS, key, value)], [])
    return partition


def restored(mark: Mark, snapshot: SnapshotWrite) -> Partition:
    """Restore the partition of a snapshot."""
    return at_once(Partition.restoring(SETTINGS, "tokens", 0, mark, (snapshot.meta, snapshot.changed)))


def _parsing(subject: Subject) -> Guarded:
    grammar = compile_grammar(read_options({"format": subject.format, "tools": TOOLS}), LIMITS)
    chunks = chunks_of(subject.make(CHARS))
    fed, feed = (native_deltas(chunks), MessageParser.tool_calls) if subject.native else (chunks, MessageParser.feed)
    return Guarded(
        f"{subject.format}: {NATIVE if subject.native else subject.text}",
        "loops a chunk",
        lambda: [parse(grammar, fed, feed) for _ in range(AGAIN)],
        AGAIN * len(chunks),
        lambda: [reference_loop(chunks) for _ in range(AGAIN * LOOPS)],
        AGAIN * LOOPS * len(chunks),
    )


def _dialect(name: str) -> Guarded:
    dialect = find_dialect(name)
    grammar = grammar_for(dialect)
    events = events_of(grammar)
    chunks = ["text"] * len(events) * DIALECT_MESSAGES
    return Guarded(
        f"dialect {name}",
        "loops an event",
        lambda: encode(dialect, grammar, events, DIALECT_MESSAGES),
        len(chunks),
        lambda: [reference_loop(chunks) for _ in range(LOOPS)],
        LOOPS * len(chunks),
    )


def _per_record(name: str, run: Callable[[], object], units: int) -> Guarded:
    values = [record.value or b"" for record in whole_messages(MESSAGES)] * BARE
    unit = f"bare records a {'message' if name.startswith('messages') else 'record'}"
    return Guarded(name, unit, run, units, lambda: bare_records(values), len(values))
