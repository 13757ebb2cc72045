"""`tokenmill dlq`, on a real Kafka."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaProducer, ConsumerRecord
from click.testing import CliRunner, Result

from tests.support.terminals import OnTerminal
from tests.support.topics import make_topics, read_topic
from tokenmill.client.dead_letters import DeadLetter, Replayer
from tokenmill.commands import dlq
from tokenmill.commands.dlq import command
from tokenmill.errors import BadKey, Orphan, RecordError, Undecodable
from tokenmill.partition.dead_letters import dead_letter
from tokenmill.records import InputRecord

pytestmark = pytest.mark.integration

CAP = 100_000

BEGIN_MS = int(time.time() - 3_600) * 1_000
"""Timestamp of the first record. A broker removes what is older than its retention."""

DAY = timedelta(days=1)


def _at(time_ms: int) -> datetime:
    return datetime.fromtimestamp(time_ms / 1000, UTC)


class Letters:
    """A dead-letter topic and an input topic of the test's own."""

    def __init__(self, bootstrap: str, unique: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bootstrap, self.dlq, self.tokens = bootstrap, f"dlq-{unique}", f"tokens-{unique}"
        monkeypatch.setenv("TOKENMILL_TOPICS__DLQ", self.dlq)
        asyncio.run(make_topics(bootstrap, self.dlq, self.tokens))

    def write(self, *letters: tuple[InputRecord, RecordError], cap: int = CAP) -> None:
        """As a worker writes them: to the partition with the number of the input's."""
        asyncio.run(self._write(letters, cap))

    async def _write(self, letters: Sequence[tuple[InputRecord, RecordError]], cap: int) -> None:
        producer = AIOKafkaProducer(bootstrap_servers=self.bootstrap)
        await producer.start()
        try:
            for record, problem in letters:
                output = dead_letter(record, (record.topic, record.partition), problem, self.dlq, cap)
                await producer.send_and_wait(
                    self.dlq,
                    output.value,
                    key=output.key,
                    headers=output.headers,
                    partition=record.partition,
                    timestamp_ms=output.timestamp,
                )
        finally:
            await producer.stop()

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(
            command, [*arguments, "--bootstrap", self.bootstrap], catch_exceptions=False, standalone_mode=False
        )

    def listed(self, *arguments: str) -> list[Any]:
        lines = self.run("list", "--json", *arguments).stdout.splitlines()
        return sorted((msgspec.json.decode(line) for line in lines), key=lambda one: (one["partition"], one["offset"]))

    def states(self, *expected: str) -> list[Any]:
        """What is listed, once it is in these states: readers see a transaction some milliseconds after its end."""
        give_up = time.monotonic() + 20
        while [one["state"] for one in self.listed()] != list(expected):
            assert time.monotonic() < give_up, f"never {expected}"
        return self.listed()

    def topic(self, name: str, count: int) -> list[ConsumerRecord]:
        """What a topic holds, once there are so many records."""
        give_up = time.monotonic() + 20
        while len(records := asyncio.run(read_topic(self.bootstrap, name))) != count:
            assert time.monotonic() < give_up, f"{len(records)} records instead of {count}"
        return records

    def record(
        self, offset: int, value: bytes = b"{", *, partition: int = 1, headers: Sequence[tuple[str, bytes]] = ()
    ) -> InputRecord:
        return InputRecord(self.tokens, partition, offset, BEGIN_MS + offset, b"c1", value, list(headers))


@pytest.fixture
def letters(kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch) -> Letters:
    return Letters(kafka, unique, monkeypatch)


def test_a_time_that_no_calendar_has_is_shown_as_it_is(letters: Letters, monkeypatch: pytest.MonkeyPatch) -> None:
    """A producer may say any."""
    letters.dlq += "-any-time"
    monkeypatch.setenv("TOKENMILL_TOPICS__DLQ", letters.dlq)
    asyncio.run(make_topics(letters.bootstrap, letters.dlq, message_timestamp_after_max_ms=str(2**63 - 1)))
    year_10000 = 253_402_300_800_000
    letters.write((msgspec.structs.replace(letters.record(7), timestamp=year_10000), Undecodable("x")))
    assert f" {year_10000} " in letters.run("list").stdout


def test_a_dead_letter_is_listed_with_everything_it_says(letters: Letters) -> None:
    """Where it is, where it came from, why, how large, and the record itself."""
    letters.write((letters.record(7, b"\xff{"), Undecodable("not JSON")))
    [one] = letters.listed()
    record = one.pop("record")
    assert one == {
        "partition": 1,
        "offset": 0,
        "code": "undecodable",
        "error": "not JSON",
        "source": {"topic": letters.tokens, "partition": 1, "offset": 7},
        "state": "new",
        "size": 4,
    }
    assert (record["key"], record["timestamp"]) == ("c1", BEGIN_MS + 7)
    assert record["value"] == {"base64": "/3s="}


def test_a_list_can_be_cut_and_counted(letters: Letters) -> None:
    """A table says that there are more; JSON lines end; counts are of all, the most frequent code first."""
    problems = [Undecodable("not JSON"), Orphan("no message"), Undecodable("not JSON")]
    letters.write(*((letters.record(offset), problem) for offset, problem in enumerate(problems)))
    cut = letters.run("list", "--limit", "2")
    assert (len(cut.stdout.splitlines()), cut.stderr[:21]) == (1 + 2, "there are more than 2")
    assert letters.run("list", "--limit", "3").stderr == ""
    assert len(letters.listed("--limit", "2")) == 2
    assert letters.run("list", "--by", "code").stdout.split()[3:] == ["undecodable", "2", "orphan", "1"]
    assert msgspec.json.decode(letters.run("list", "--by", "code", "--json").stdout) == {"undecodable": 2, "orphan": 1}


def test_the_table_keeps_a_record_on_its_line(letters: Letters) -> None:
    """An error may quote the record, and a record may try to command the terminal."""
    letters.write((letters.record(7), Undecodable("bad \x1b[31m\nbytes " + "x" * 100)))
    head, row = letters.run("list").stdout.splitlines()
    assert head.split()[:3] == ["dead", "letter", "code"]
    said = ("1-0 ", f"{letters.tokens}/1@7", f"{_at(BEGIN_MS):%Y-%m-%dT%H:%M:%S}", "bad \ufffd[31m\ufffdbytes")
    assert [words in row for words in said] == [True] * 4
    assert row.endswith("  3")
    assert "x" * 61 not in row


def test_lists_are_narrowed(letters: Letters) -> None:
    """By code, by the source, and by the record's own time."""
    letters.write(
        (letters.record(1), Undecodable("a")),
        (letters.record(2), Orphan("b")),
        (letters.record(3, partition=2), Orphan("c")),
    )
    errors = [
        [one["error"] for one in letters.listed(*arguments)]
        for arguments in (
            ("--code", "orphan"),
            ("--code", "orphan", "--code", "undecodable"),
            ("--source-partition", "1"),
            ("--source-topic", "another"),
            ("--since", f"{_at(BEGIN_MS) - DAY:%Y-%m-%d}"),
            ("--since", f"{_at(BEGIN_MS) + DAY:%Y-%m-%d}"),
        )
    ]
    assert errors == [["b", "c"], ["a", "b", "c"], ["a", "b"], [], ["a", "b", "c"], []]


def test_a_replay_restores_the_record_where_it_was(letters: Letters) -> None:
    """Key, value, own headers and partition; a new timestamp; and it says that it was replayed."""
    letters.write((letters.record(7, headers=[("tm-codec", b"text"), ("mine", b"1")]), Undecodable("no")))
    run = letters.run("replay")
    assert (run.return_value, run.stdout.splitlines()[-1]) == (0, "1 published again, 0 refused")
    [record] = letters.topic(letters.tokens, 1)
    assert (record.partition, record.key, record.value) == (1, b"c1", b"{")
    assert record.headers == (("tm-codec", b"text"), ("mine", b"1"), ("tm-replayed", b"1-0"))
    assert record.timestamp > BEGIN_MS + 7


def test_nothing_is_replayed_twice(letters: Letters) -> None:
    """What was published is noted with it, so a command that is repeated finds only what is new."""
    letters.write((letters.record(1, b"first"), Undecodable("no")), (letters.record(2, b"second"), Undecodable("no")))
    letters.run("replay", "--limit", "1")
    letters.states("replayed", "new")
    letters.run("replay")
    letters.write((letters.record(3, b"third"), Undecodable("no")))
    letters.run("replay")
    assert letters.run("replay").stdout.splitlines() == ["0 published again, 0 refused"]
    assert [record.value for record in letters.topic(letters.tokens, 3)] == [b"first", b"second", b"third"]


def test_a_record_that_fails_again_is_recognised(letters: Letters) -> None:
    """It stays where it is, unless it is asked for; so nothing goes round for ever."""
    letters.write((letters.record(1), Undecodable("no")))
    letters.run("replay")
    [again] = letters.topic(letters.tokens, 1)
    letters.write((letters.record(again.offset, headers=list(again.headers)), Undecodable("still no")))
    _, second = letters.states("replayed", "failed again")
    assert letters.run("replay").stdout.splitlines() == ["0 published again, 0 refused"]
    letters.run("replay", "--again")
    records = letters.topic(letters.tokens, 2)
    names = [[value.decode() for name, value in record.headers if name == "tm-replayed"] for record in records]
    assert names == [["1-0"], [f"1-{second['offset']}"]]


def test_a_truncated_record_is_refused(letters: Letters) -> None:
    """Its value is not there to be published; the others are, and the exit code tells."""
    letters.write((letters.record(1, b"x" * 5_000), Undecodable("no")), cap=1_000)
    letters.write((letters.record(2), Undecodable("no")))
    run = letters.run("replay")
    assert (run.return_value, run.stdout.splitlines()[-1]) == (1, "1 published again, 1 refused")
    assert run.stderr == "refused 1-0: truncated\n"
    letters.topic(letters.tokens, 1)


def test_a_record_without_its_source_is_refused(letters: Letters) -> None:
    """Somebody else wrote it. What has no code is no dead letter at all."""
    asyncio.run(_write(letters, [("tm-error-code", b"orphan"), ("tm-source-topic", letters.tokens.encode())]))
    asyncio.run(_write(letters, []))
    assert letters.run("replay").stderr == "refused 0-0: no source\n"
    assert letters.topic(letters.tokens, 0) == []


def test_a_record_without_a_key_is_replayed(letters: Letters) -> None:
    """Alone and among others, by key and where it was, and it is noted as any other is."""
    keyless = msgspec.structs.replace(letters.record(1, b"keyless"), key=None)
    empty_key = msgspec.structs.replace(letters.record(2, b"empty key"), key=b"")
    letters.write(
        (keyless, BadKey("no key")), (letters.record(3, b"keyed"), Undecodable("no")), (empty_key, BadKey(""))
    )
    assert letters.run("replay", "--dry-run").stdout.splitlines()[-1] == "3 would be published again, 0 refused"
    assert letters.run("replay", "--limit", "1").stdout.splitlines()[-1] == "1 published again, 0 refused"
    letters.states("replayed", "new", "new")
    assert letters.run("replay", "--by-key").stdout.splitlines()[-1] == "2 published again, 0 refused"
    letters.states("replayed", "replayed", "replayed")
    records = letters.topic(letters.tokens, 3)
    assert {(record.key, record.value) for record in records} == {
        (None, b"keyless"),
        (b"c1", b"keyed"),
        (b"", b"empty key"),
    }


def test_a_record_without_key_and_value_is_refused(letters: Letters) -> None:
    """The dry run says it, too, and the others are replayed."""
    letters.write((letters.record(1), Undecodable("no")))
    asyncio.run(_write_empty(letters))
    for arguments, done in ((["--dry-run"], "would be published"), ([], "published")):
        run = letters.run("replay", *arguments)
        assert run.stderr == "refused 0-0: empty\n"
        assert (run.return_value, run.stdout.splitlines()[-1]) == (1, f"1 {done} again, 1 refused")


async def _write_empty(letters: Letters) -> None:
    """A dead letter of a record that had nothing: a worker publishes it in a batch, as the client sends none alone."""
    record = msgspec.structs.replace(letters.record(1, partition=0), key=None, value=None)
    output = dead_letter(record, (record.topic, 0), BadKey("no key"), letters.dlq, CAP)
    producer = AIOKafkaProducer(bootstrap_servers=letters.bootstrap)
    await producer.start()
    try:
        batch = producer.create_batch()
        batch.append(key=None, value=None, timestamp=None, headers=output.headers)
        await (await producer.send_batch(batch, letters.dlq, partition=0))
    finally:
        await producer.stop()


async def _write(letters: Letters, headers: list[tuple[str, bytes]]) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=letters.bootstrap)
    await producer.start()
    try:
        await producer.send_and_wait(letters.dlq, b"{}", headers=headers, partition=0)
    finally:
        await producer.stop()


def test_a_dry_run_publishes_nothing(letters: Letters) -> None:
    """It says what would be, and leaves no receipt."""
    letters.write((letters.record(7), Undecodable("no")))
    run = letters.run("replay", "--dry-run", "--code", "undecodable")
    assert run.stdout.splitlines() == [
        f"1-0: undecodable, {letters.tokens}/1@7",
        "1 would be published again, 0 refused",
    ]
    assert letters.topic(letters.tokens, 0) == []
    assert [one["state"] for one in letters.listed()] == ["new"]


def test_what_a_record_calls_its_source_acts_on_no_terminal(letters: Letters) -> None:
    """Whoever writes to the topic says where a record came from."""
    letters.write((msgspec.structs.replace(letters.record(7), topic="tokens\x1b[2J\n"), Undecodable("no")))
    said = letters.run("replay", "--dry-run").stdout.splitlines()
    assert said == ["1-0: undecodable, tokens<U+001B>[2J /1@7", "1 would be published again, 0 refused"]


def test_records_may_go_elsewhere(letters: Letters, unique: str) -> None:
    """To another topic, by key; a topic that lacks the partition, or is not there, is refused by name."""
    asyncio.run(make_topics(letters.bootstrap, f"other-{unique}", partitions=1))
    letters.write((letters.record(7), Undecodable("no")))
    said = letters.run("replay", "--to", f"other-{unique}").stderr
    assert said == f"refused 1-0: other-{unique}/1 does not exist\n"
    said = letters.run("replay", "--to", f"nowhere-{unique}", "--by-key").stderr
    assert said == f"refused 1-0: the topic nowhere-{unique} does not exist\n"
    letters.run("replay", "--to", f"other-{unique}", "--by-key")
    assert [record.key for record in letters.topic(f"other-{unique}", 1)] == [b"c1"]


def test_a_record_whose_topic_is_gone_holds_up_no_other(letters: Letters) -> None:
    """It is kept for when the topic is there again, and the exit code tells."""
    gone = msgspec.structs.replace(letters.record(1), topic=f"{letters.tokens}-gone")
    letters.write((gone, Undecodable("no")), (letters.record(2), Undecodable("no")))
    run = letters.run("replay")
    assert run.stderr == f"refused 1-0: {gone.topic}/1 does not exist\n"
    assert (run.return_value, run.stdout.splitlines()[-1]) == (1, "1 published again, 1 refused")
    letters.topic(letters.tokens, 1)
    letters.states("new", "replayed")


def test_a_replay_that_nobody_reads_is_not_done(letters: Letters) -> None:
    """It stops at the next line, which is no success; nothing else is printed."""
    letters.write((letters.record(7), Undecodable("no")))
    command = [sys.executable, "-m", "tokenmill", "dlq", "replay", "--bootstrap", letters.bootstrap]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(60) == 1
        said = process.stderr.read().decode()
    assert said == "tokenmill: nobody reads the output, so the replay stopped; run it again for what is left\n"


def test_a_replays_transactions_have_the_configured_prefix(letters: Letters, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker's access rules name it."""
    ids = []

    class Kept(Replayer):
        def _client(self) -> AIOKafkaProducer:
            ids.append((made := super()._client())._txn_manager.transactional_id)
            return made

    monkeypatch.setattr(dlq, "Replayer", Kept)
    monkeypatch.setenv("TOKENMILL_KAFKA__TRANSACTIONAL_ID_PREFIX", "own")
    letters.run("replay")
    assert ids == [f"own-replay-{letters.dlq}"]


def test_a_replays_transactions_are_bounded_in_bytes(letters: Letters, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has to be done in time, however long the records are."""
    sizes = []

    class Kept(Replayer):
        async def publish(self, letters: Sequence[DeadLetter]) -> None:
            sizes.append(len(letters))
            await super().publish(letters)

    monkeypatch.setattr(dlq, "Replayer", Kept)
    monkeypatch.setattr("tokenmill.client.dead_letters.TRANSACTION_BYTES", 5_000)
    letters.write(*((letters.record(number, b"x" * 3_000), Undecodable("no")) for number in range(3)))
    letters.run("replay")
    assert sizes == [2, 1]


def test_a_person_sees_how_far_it_is(letters: Letters) -> None:
    """Where it takes longer; lines are whole, and nothing of the bar is left among them or on stdout."""
    letters.write(*((letters.record(number), Undecodable("no")) for number in range(3)))
    with OnTerminal("dlq", "replay", "--bootstrap", letters.bootstrap, TOKENMILL_TOPICS__DLQ=letters.dlq) as terminal:
        assert terminal.end() == 0
    seen = terminal.drawn.decode()
    shown = [line.rpartition("\x1b[2K")[2] for line in seen.splitlines()]
    said = [f"1-{number}: undecodable, {letters.tokens}/1@{number}" for number in range(3)]
    assert [line for line in shown if line in said] == said
    assert shown[-1] == "3 published again, 0 refused"
