"""`tokenmill codecs`."""

from click.testing import CliRunner

from tokenmill.codecs import CODECS
from tokenmill.commands.codecs import command


def test_all_are_listed_with_name_and_summary() -> None:
    """One that is added to the list is on the page."""
    run = CliRunner().invoke(command)
    assert run.exit_code == 0
    for one in CODECS:
        assert f"{one.name}  {one.summary}" in run.stdout


def test_one_can_be_asked_for() -> None:
    """The others are left out."""
    wanted, *others = CODECS
    run = CliRunner().invoke(command, [wanted.name])
    assert wanted.summary in run.stdout
    assert not [other for other in others if other.summary in run.stdout]


def test_a_sample_shows_the_records_of_a_message() -> None:
    """One line each."""
    assert '{"message_id":"m1","seq":1,"delta":"lo"}' in CliRunner().invoke(command, ["native"]).stdout
