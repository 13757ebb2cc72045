"""After the faults: wait until everything is over, then judge what is there."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from aiokafka import ConsumerRecord

from tests.chaos import evidence
from tests.chaos.crew import Life
from tests.chaos.faults import GRACE_S, Scene
from tests.chaos.group import state_of
from tests.chaos.judge import DEAD, EVENTS, Item, Unit, Verdict, judge
from tests.chaos.report import Report, spread
from tests.chaos.segments import written_to
from tests.chaos.watch import Reader
from tests.support.stage import Stage, until
from tests.support.topics import read_partition
from tokenmill.config import Config, Topics
from tokenmill.partition import PartitionSettings
from tokenmill.records import InputRecord

POISON = (b"{", b'{"message_id": 7}', b'{"message_id": "never", "seq": 5}')
"""What the conversations send on purpose that no worker can use."""

REST_S = 180.0


async def settle(scene: Scene, readers: Mapping[str, Reader], report: Report) -> None:
    """Fill the report."""
    stage, crew = scene.stage, scene.crew
    await until(stage.at_rest, "every message is over, the last ones by their time-out, and that is committed", REST_S)
    for life in await crew.complete():
        _empty(life, report)
    async with scene.orderly("stop"):
        await crew.stop()
    report.problems += [*scene.problems, *scene.commits.problems, *scene.heads.problems]
    await _at_rest(stage, readers, report)
    _workers(scene, report)
    for number in range(stage.partitions):
        await _partition(scene, readers, number, report)
    _tell(scene, readers, report)


# I12, I4


def _empty(life: Life, report: Report) -> None:
    metrics = life.worker.metrics()
    for name in ("tokenmill_open_messages", "tokenmill_state_bytes"):
        if f"\n{name} 0.0\n" not in metrics:
            report.problems.append(f"I12: {name} of a worker is not 0 when all is over")


async def _at_rest(stage: Stage, readers: Mapping[str, Reader], report: Report) -> None:
    state = await state_of(stage.bootstrap, stage.group)
    if state != "Empty":
        report.problems.append(f"I4: the group is {state}")
    for reader in readers.values():
        stable = await stage.ends_of(reader.topic, "read_committed")
        if stable != (high := await stage.ends_of(reader.topic, "read_uncommitted")):
            report.problems.append(f"I4: a transaction is open on {reader.topic}: {stable}, {high}")


# How workers ended


def _workers(scene: Scene, report: Report) -> None:
    lives = scene.crew.lives
    report.workers = len(lives)
    ended: Counter[str] = Counter()
    for life in lives:
        if life.told == "terminate":
            report.stops += life.code == 0
            took = life.ended_at - life.told_at
            if life.code != 0 or took > GRACE_S:
                said = f"exit code {life.code} after {took:.0f} s, {life.last_words()}"
                report.problems.append(f"I9: a worker that was told to end: {said}")
        elif life.told != "kill":
            reason = evidence.reason_of(life, (kind for at, kind in scene.happened if at < life.ended_at))
            ended[reason or "unexpected"] += 1
            if reason is None:
                report.problems.append(f"a worker ended by itself: {life.last_words()}")
    report.ended = dict(ended)
    frozen = [life for life in lives if life.frozen]
    report.zombies = len(frozen)
    report.zombies_fenced = sum(map(evidence.LOCKED_OUT[report.delivery], frozen))
    for said in (r"replay gave", r"were gone before they were processed", r"a record of \d+ bytes does not fit"):
        if evidence.counted(lives, said):
            report.problems.append(f"workers say: {said}")
    live = list(evidence.became_live(lives))
    report.restores = dict(evidence.sources(live))
    report.restore_seconds = spread([each.seconds for each in live])
    report.takeovers = spread(evidence.takeovers(lives))


# What came out


async def _partition(scene: Scene, readers: Mapping[str, Reader], number: int, report: Report) -> None:
    stage = scene.stage
    inputs = [
        InputRecord(r.topic, r.partition, r.offset, r.timestamp, r.key, r.value, list(r.headers))
        for r in await read_partition(stage.bootstrap, stage.topics.tokens, number)
    ]
    records = {kind: await read_partition(stage.bootstrap, reader.topic, number) for kind, reader in readers.items()}
    found = {kind: [_item(record) for record in each] for kind, each in records.items()}
    exactly_once = report.delivery == "exactly-once"
    verdict = await asyncio.to_thread(judge, inputs, settings(), found, repeats_allowed=not exactly_once)
    report.wrong |= verdict.wrong
    report.repeats += verdict.repeats
    report.messages += len(verdict.units)
    report.reconfigured += len(verdict.reconfigured)
    report.went_on += _went_on(scene, verdict)
    report.records_in += len(inputs)
    report.records_out += sum(map(len, verdict.expected.values()))
    report.control_records += sum(any(name == "tm-last-offset" for name, _ in r.headers or ()) for r in inputs)
    _poison(inputs, found[DEAD], report)
    for kind, reader in readers.items():
        await _same_for_readers(reader, records[kind], number, report)
        _nothing_again(scene, reader, records[kind], number, report)
        _owners(scene, f"{reader.topic}-{number}", len(records[kind]), report)


def settings() -> PartitionSettings:
    """Of the oracle: topics have the names of their kinds; formats are said by the messages."""
    topics = Topics(events="events", tool_calls="tool_calls", completions="completions", dlq="dlq")
    return PartitionSettings.from_config(Config(topics=topics))


def _item(record: ConsumerRecord) -> Item:
    return Item(record.timestamp, record.key, record.value, tuple(record.headers))


def _went_on(scene: Scene, verdict: Verdict) -> int:
    """Messages that were open while the configuration changed, and are whole."""
    times: dict[Unit, list[float]] = {}
    for item in verdict.expected[EVENTS]:
        if item.unit not in verdict.reconfigured:
            times.setdefault(item.unit, []).append(item.timestamp / 1000)
    changes = [quiet for quiet in scene.quiet if quiet.kind == "reconfigure"]
    return sum(any(each[0] < change.begin < change.end < each[-1] for change in changes) for each in times.values())


def _poison(inputs: Iterable[InputRecord], dead: Sequence[Item], report: Report) -> None:
    """I10; that each has the right reason, and comes once, is the judge's."""
    bad = {record.offset for record in inputs if record.value in POISON}
    told = {int(dict(item.headers)["tm-source-offset"]) for item in dead}
    report.poison += len(bad)
    if not bad <= told:
        report.problems.append(f"I10: no dead letter of the records {sorted(bad - told)}")


async def _same_for_readers(reader: Reader, records: Sequence[ConsumerRecord], number: int, report: Report) -> None:
    """Whoever read while it happened saw what one sees in the end."""
    there = [(record.offset, record.value) for record in records]
    try:
        await until(lambda: reader.count(number) >= len(there), "the reader has seen all")
    except AssertionError as problem:
        report.problems.append(f"{reader.topic}/{number}: {problem}")
    seen = [(record.offset, record.value) for record in reader.seen if record.partition == number]
    if seen != there:
        report.problems.append(f"{reader.topic}/{number}: a reader saw something else while it happened")


def _nothing_again(
    scene: Scene, reader: Reader, records: Sequence[ConsumerRecord], number: int, report: Report
) -> None:
    """I9: what is orderly repeats nothing."""
    arrived = reader.arrivals(number)
    seen: set[tuple[object, ...]] = set()
    for record in records:
        identity = _item(record).identity
        at = arrived.get(record.offset, 0.0)
        times = [quiet.kind for quiet in scene.quiet if quiet.begin < at < quiet.end]
        if identity in seen and times:
            report.problems.append(f"I9: {reader.topic}/{record.partition} repeats {record.offset} in {times[0]}")
        seen.add(identity)


def _owners(scene: Scene, place: str, committed: int, report: Report) -> None:
    """I5: with exactly-once a producer that was followed by another never writes again, committed or not."""
    written = written_to(scene.kafka.folder / "data" / place)
    report.aborted += written.records - committed
    if report.delivery == "exactly-once" and len(written.producers) != len(set(written.producers)):
        report.problems.append(f"I5: {place}: producers took turns: {written.producers}")


def _tell(scene: Scene, readers: Mapping[str, Reader], report: Report) -> None:
    """The rest of the numbers, and what a run without them would not have tested."""
    report.tokens_in = scene.feeder.sent
    report.conversations = scene.feeder.started
    report.latency = spread([each.at - each.written for each in readers[EVENTS].seen])
    report.commit_samples, report.head_samples = scene.commits.samples, scene.heads.samples
    report.without_redis_s = [round(seconds, 1) for seconds in scene.without_redis_s]
    lost = sum(evidence.numbers(scene.crew.lives, r"(\d+) messages are announced as lost: their state is gone"))
    if report.reconfigured > lost:
        report.problems.append(f"{report.reconfigured} messages say `reconfigured`, workers know of {lost}")
    needed = {
        "restores from Redis": report.restores.get("redis"),
        "restores by replay": report.restores.get("replay"),
        "fenced zombies": report.zombies_fenced,
        "control records": report.control_records,
        "poison": report.poison,
        "reconfigured messages": report.reconfigured,
        "messages that outlived a change of configuration": report.went_on,
        "samples of commits": report.commit_samples,
        "samples of heads": report.head_samples,
    }
    report.problems += [f"there were no {what}" for what, count in needed.items() if not count]
