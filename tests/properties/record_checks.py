"""One random log against the promises of a partition, codecs included: `session.Partition` is the worker's own way.

P3: another partition, whose state goes through bytes here and there, gives the same. P7: nothing raises; a record makes
events or one dead letter, which is the record as it came; events of every message are well-formed, numbered without a
gap, and end when what is idle is ended. P8: what codecs keep is bounded by what came.
"""

import random
from collections.abc import Sequence
from typing import TypeAlias

from tests.support.promises import Answer, require
from tests.support.restoring import restore
from tokenmill.events import decode_event
from tokenmill.parser import Options
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.records import InputRecord, Output, header

TIMEOUT_MS = 1_000

ROUNDS = 5
"""Of time-outs: the end of a stream is news for its message, which is idle a round later."""

KEPT_BYTES = 4_096
"""Of what a codec keeps of a stream: what it always has, and ..."""

KEPT_SHARE = 16
"""... so much for each byte that came: positions and flags beside text."""

DEFAULTS = (Options(), Options(format="hermes"), Options(format=["hermes", "qwen3_xml"], content_arguments=["*"]))
SETTINGS = [PartitionSettings(defaults=options, outputs=(OutputSpec("events"),)) for options in DEFAULTS]


def settings_of(seed: int) -> PartitionSettings:
    """Under which the log of this seed is read."""
    return SETTINGS[random.Random(f"settings {seed}").randrange(len(SETTINGS))]


def check_log(settings: PartitionSettings, log: Sequence[InputRecord], dice: random.Random) -> None:
    """Read a log twice. Raises `promises.Broken` or whatever the partition raises."""
    partition = Partition(settings, "tokens", 0)
    answers = _Answers(settings)
    outputs: list[list[Output]] = []
    came = 0
    for record in log:
        out: list[Output] = []
        partition.process([record], out)
        outputs.append(out)
        check_record(partition, record, out)
        answers.read(out)
        came += len(record.value or b"")
        check_kept(partition, came)
    check_same(settings, log, outputs, dice)
    check_end(partition, answers)


def check_record(partition: Partition, record: InputRecord, out: Sequence[Output]) -> None:
    """A record that could not be used is a dead letter, as it came, and counted once."""
    letters = [output for output in out if output.topic == partition.settings.dlq]
    tally = partition.drain()
    require(not tally.failed, f"P7: {tally.failed}")
    counted = sum(tally.dead_letters.values())
    require(len(letters) == counted <= 1, f"P7: {len(letters)} dead letters of a record, {counted} counted")
    for letter in letters:
        require((letter.key, letter.value) == (record.key, record.value), "P7: a dead letter is not the record")
        require(header(letter.headers, "tm-error-code"), "P7: a dead letter without a code")


def check_kept(partition: Partition, came: int) -> None:
    """P8: what codecs remember is no more than what has come."""
    kept = sum(len(each.state) for each in partition._intake)
    require(kept <= KEPT_BYTES + KEPT_SHARE * came, f"P8: codecs keep {kept} bytes of {came}")


def check_same(
    settings: PartitionSettings, log: Sequence[InputRecord], outputs: Sequence[Sequence[Output]], dice: random.Random
) -> None:
    """P3: the state goes through bytes between some records, and everything is as if it had not."""
    partition = Partition(settings, "tokens", 0)
    chance = dice.choice((0.1, 0.3, 1))
    for number, record in enumerate(log):
        if dice.random() < chance:
            write = partition.changes(full=True)
            partition = restore(settings, "tokens", 0, partition.mark(), (write.meta, write.changed))
        out: list[Output] = []
        partition.process([record], out)
        require(out == outputs[number], f"P3: record {number} gave something else after a snapshot")


def check_end(partition: Partition, answers: "_Answers") -> None:
    """Whatever became of messages and streams: a few rounds of time-outs end them, and nothing is kept."""
    for period in range(ROUNDS):
        for control in partition.idle(period * TIMEOUT_MS, TIMEOUT_MS):
            out: list[Output] = []
            record = InputRecord("tokens", 0, partition.offset, 0, control.key, control.value, list(control.headers))
            partition.process([record], out)
            answers.read(out)
    require(partition.open_messages == 0, f"P7: {partition.open_messages} messages can't be ended")
    require(not list(partition._intake), "P7: a stream can't be ended")
    answers.end()


Who: TypeAlias = tuple[bytes | None, str, int]
"""Conversation, message, choice."""


class _Answers:
    """The events of all messages, checked in their order."""

    def __init__(self, settings: PartitionSettings) -> None:
        self._delta_chars = settings.limits.delta_chars
        self._open: dict[Who, Answer] = {}
        self._seqs: dict[Who, int] = {}
        """The next number; an id that is used again goes on with it."""

    def read(self, outputs: Sequence[Output]) -> None:
        """More of what a partition wrote."""
        for output in outputs:
            if output.topic == "events":
                self._read(output)

    def _read(self, output: Output) -> None:
        event = decode_event(output.value or b"")
        who = (output.key, event.message_id, event.choice)
        seq = self._seqs.get(who, 0)
        require(event.seq == seq, f"P1: {event.type} {event.seq} of {who} where {seq} should be")
        self._seqs[who] = seq + 1
        answer = self._open.setdefault(who, Answer(self._delta_chars))
        answer.read([event])
        if event.type == "finish":
            answer.end()
            del self._open[who]

    def end(self) -> None:
        """All have ended."""
        require(not self._open, f"P7: no end of {list(self._open)}")
