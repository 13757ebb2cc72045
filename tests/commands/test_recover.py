"""`tokenmill recover`, on a real Kafka; what it finds is tested with its worker."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from tests.support.drawn_bars import drawn_bar
from tests.support.topics import make_topics
from tokenmill.commands import recover
from tokenmill.commands.recover import command


@pytest.mark.integration
def test_a_person_sees_how_far_it_is(kafka: str, unique: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connecting, then one partition after the other."""
    bar = drawn_bar(monkeypatch, recover)
    asyncio.run(make_topics(kafka, f"tokens-{unique}", partitions=2))
    config = tmp_path / "t.toml"
    config.write_text(f'[topics]\ntokens = "tokens-{unique}"\n[redis]\nurl = "memory://"\n')
    CliRunner().invoke(command, ["--config", str(config), "--bootstrap", kafka], catch_exceptions=False)
    partitions = [(f"restoring partition {number}", number, 2) for number in range(2)]
    assert bar.drawn == [("connecting", 0, None), *partitions]


@pytest.mark.integration
def test_every_partition_is_told_of(kafka: str, unique: str, tmp_path: Path) -> None:
    """For people or as JSON lines; 0 where nothing would be lost."""
    asyncio.run(make_topics(kafka, f"tokens-{unique}", partitions=2))
    config = tmp_path / "t.toml"
    config.write_text(f'[topics]\ntokens = "tokens-{unique}"\n[redis]\nurl = "memory://"\n')
    arguments = ["--config", str(config), "--bootstrap", kafka]
    run = CliRunner().invoke(command, arguments, catch_exceptions=False, standalone_mode=False)
    assert (run.return_value, run.stdout.count("lost:     0 messages")) == (0, 2)
    lines = CliRunner().invoke(command, [*arguments, "--json", "--partition", "1"]).stdout.splitlines()
    assert [msgspec.json.decode(line)["partition"] for line in lines] == [1]
