"""`tokenmill topics create`, on a real Kafka."""

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.stage import until
from tests.support.topics import make_topics
from tokenmill.commands.topics import command
from tokenmill.config import Kafka
from tokenmill.kafka.clients import make_admin
from tokenmill.kafka.topics import SPARE, partition_counts

pytestmark = pytest.mark.integration


def test_topics_are_created_once_and_never_shrink(kafka: str, unique: str, tmp_path: Path) -> None:
    """Each line says what was done and how many partitions there are now."""
    config = tmp_path / "t.toml"
    names = ("tokens", "events", "tool_calls", "tool_results", "tool_state", "tool_control", "requests", "dlq")
    config.write_text("[topics]\n" + "".join(f'{name} = "{name}-{unique}"\n' for name in names))

    topics = sorted(f"{name}-{unique}" for name in names)
    there = 0

    def create(partitions: int) -> list[list[str]]:
        arguments = ["create", "--partitions", str(partitions), "--config", str(config), "--bootstrap", kafka]
        run = CliRunner().invoke(command, arguments, catch_exceptions=False)
        assert run.exit_code == 0
        nonlocal there
        there = max(there, partitions)
        asyncio.run(until(lambda: _all_have(kafka, topics, there), "tell the new partitions"))
        return sorted(line.split() for line in run.stdout.splitlines()[1:])

    assert create(2) == [[topic, "created", "2"] for topic in topics]
    assert create(3) == [[topic, "grown", "3"] for topic in topics]
    assert create(2) == [[topic, "unchanged", "3"] for topic in topics]  # what differs is on the other stream


def test_what_a_topic_differs_in_is_said(kafka: str, unique: str, tmp_path: Path) -> None:
    """Partitions, copies and settings: each as it is, and as it was asked for."""
    config, topic = tmp_path / "t.toml", f"events-{unique}"
    names = ("tokens", "tool_calls", "tool_results", "tool_state", "tool_control", "requests", "dlq")
    others = "".join(f'{name} = "{name}-{unique}"\n' for name in names)
    config.write_text(f'[topics]\nevents = "{topic}"\n{others}[limits]\noutput_bytes = 500_000\n')
    asyncio.run(make_topics(kafka, topic, partitions=3))
    arguments = ["create", "--partitions", "2", "--config", str(config), "--bootstrap", kafka]
    run = CliRunner().invoke(command, arguments, catch_exceptions=False)
    [said] = run.stderr.splitlines()
    differs = "differs from what was requested, and is unchanged: partitions: 3, not 2; max.message.bytes: "
    assert said.startswith(f"{topic} {differs}")
    assert said.endswith(f", not {500_000 + SPARE}")


async def _all_have(bootstrap: str, topics: list[str], partitions: int) -> bool:
    """A broker tells of new partitions a moment after they were made."""
    async with make_admin(Kafka(bootstrap_servers=bootstrap)) as admin:
        return await partition_counts(admin, topics) == dict.fromkeys(topics, partitions)
