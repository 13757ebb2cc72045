"""`tokenmill dialects`."""

import msgspec
import pytest
from click.testing import CliRunner

from tests.support.processes import printed
from tokenmill.commands.dialects import command
from tokenmill.dialects import DIALECTS


def test_all_are_listed_with_name_and_summary() -> None:
    """One that is added to the list is on the page."""
    run = CliRunner().invoke(command)
    assert run.exit_code == 0
    for one in DIALECTS:
        assert f"{one.name}  {one.summary}" in run.stdout


def test_one_can_be_asked_for() -> None:
    """The others are left out."""
    wanted, *others = DIALECTS
    run = CliRunner().invoke(command, [wanted.name])
    assert wanted.summary in run.stdout
    assert not [other for other in others if other.summary in run.stdout]


@pytest.mark.integration
def test_a_sample_is_the_same_each_time() -> None:
    """No clock and no dice are in it, nor Python's hash seed."""
    one, other = (printed(["-m", "tokenmill", "dialects"], seed) for seed in ("1", "2"))
    assert one == other
    assert all(dialect.summary in one for dialect in DIALECTS)


def test_the_native_sample_is_the_events() -> None:
    """One JSON object a line."""
    lines = CliRunner().invoke(command, ["native"]).stdout.splitlines()
    types = [msgspec.json.decode(line)["type"] for line in lines if line.strip().startswith("{")]
    assert types[0] == "message-start"
    assert types[-1] == "finish"
