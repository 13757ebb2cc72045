"""The processes: what they say when they can't start, when clients should be sent to them, and how they end."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.callers import CallerProcess
from tests.support.starting import waits_for_kafka
from tests.support.topics import make_topics
from tokenmill.config import Caller, Config, Front, Gateway, Kafka
from tokenmill.errors import FatalError, Unavailable
from tokenmill.front.host import Process, run_caller, run_front
from tokenmill.gateway.host import SILENT_S
from tokenmill.observe import exposition
from tokenmill.servers.front import FrontProcess
from tokenmill.servers.ours import OurProcess

AWAY = Config(
    kafka=Kafka(bootstrap_servers="127.0.0.1:1", startup_timeout_s=1),
    front=Front(port=0, ops_port=0),
    caller=Caller(port=0, answers=2_000_000_000),
    gateway=Gateway(connections=1_000_000_000),
)

RUNS: list[tuple[Callable[[Config], int], str]] = [
    (lambda config: run_front(config, caller=True), "gateway.connections and caller.answers: 3000000000"),
    (lambda config: run_front(config, caller=False), "gateway.connections: 1000000000"),
    (run_caller, "caller.answers: 2000000000"),
]
"""What runs them, and the first words about the files that their connections need."""


@pytest.mark.parametrize(("run", "files"), RUNS)
def test_without_kafka_they_do_not_start(
    run: Callable[[Config], int], files: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """They try for as long as they may, and say so; then a supervisor tries again."""
    assert run(AWAY) == 1
    out, err = capsys.readouterr()
    assert "Kafka at 127.0.0.1:1 can't be reached (connection refused)" in out + err
    assert "next try in" in out + err
    assert "there are no [[upstreams]]" in out + err
    assert f"{files} connections need " in out + err
    assert "Traceback" not in out + err


@pytest.mark.parametrize(("front", "caller"), [(True, True), (True, False), (False, True)])
async def test_they_are_ready_while_kafka_answers_and_nobody_told_them_to_end(*, front: bool, caller: bool) -> None:
    """Else the reason is said."""
    process = Process(Config(), {}, front=front, caller=caller)
    assert process.readiness() == (False, "Kafka has not answered yet")
    now = asyncio.get_running_loop().time()
    process._streams.tail.polled_at, process._streams.tail._partitions = now, 1
    assert process.readiness() == (False, "starting")
    process._begun = True
    assert process.readiness() == (True, "ready")
    process._streams.tail.polled_at = now - SILENT_S - 5
    ready, why = process.readiness()
    assert (ready, "Kafka has not answered for" in why) == (False, True)
    if front:
        assert process._numbers.value("tokenmill_front_poll_age_seconds") >= SILENT_S + 5
    process._watch.draining = True
    assert process.readiness() == (False, "draining")


@pytest.mark.parametrize(("front", "caller"), [(True, True), (True, False), (False, True)])
def test_a_caller_that_waits_for_kafka_says_that_it_has_no_partition(*, front: bool, caller: bool) -> None:
    """Without that number, the alert that compares it with the partitions of the last hours has nothing to compare."""
    numbers = Process(Config(), {}, front=front, caller=caller)._numbers
    assert (b"\ntokenmill_caller_partitions 0.0\n" in exposition(numbers)()) == caller


@pytest.mark.integration
async def test_a_topic_or_a_port_that_can_not_be_had_is_named(kafka: str, unique: str) -> None:
    """And everything that was started has ended."""
    topics = Config().topics.__class__(events=f"e-{unique}", tokens=f"t-{unique}", requests=f"r-{unique}")
    async with await asyncio.start_server(lambda *_: None, "127.0.0.1", 0) as taken:
        front = Front(port=taken.sockets[0].getsockname()[1], ops_port=0)
        config = Config(kafka=Kafka(bootstrap_servers=kafka, startup_timeout_s=1), topics=topics, front=front)
        await make_topics(kafka, topics.events, topics.tokens, partitions=1)
        with pytest.raises(Unavailable, match=topics.requests):
            await Process(config, {}, front=True, caller=False).run(asyncio.Event())
        await make_topics(kafka, topics.requests, partitions=1)
        with pytest.raises(FatalError, match=r"front\.port"):
            await Process(config, {}, front=True, caller=False).run(asyncio.Event())


@pytest.mark.parametrize("kind", [FrontProcess, CallerProcess])
async def test_they_wait_for_kafka_and_end_when_they_are_told_to(kind: type[OurProcess], tmp_path: Path) -> None:
    """Alive for their supervisor meanwhile, and not ready: clients find another one."""
    await waits_for_kafka(kind, tmp_path, f"tokenmill_{kind.section}_build_info")


@pytest.mark.integration
@pytest.mark.parametrize("kind", [FrontProcess, CallerProcess])
async def test_they_end_when_they_are_told_to(kind: type[OurProcess], kafka: str, unique: str, tmp_path: Path) -> None:
    """With the exit code of a success, and at once where nothing is under way."""
    topics = {name: f"{name}-{unique}" for name in ("tokens", "events", "requests")}
    await make_topics(kafka, *topics.values(), partitions=1)
    with kind(tmp_path, {"kafka": {"bootstrap_servers": kafka}, "topics": topics}) as ours:
        process = ours.process
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, 15) == 0
        assert "Traceback" not in ours.log.read_text()
