"""`tokenmill formats`."""

from click.testing import CliRunner

from tokenmill.commands.formats import command
from tokenmill.formats import FORMATS


def test_all_are_listed_with_name_and_summary() -> None:
    """One that is added to the list is on the page."""
    run = CliRunner().invoke(command)
    assert run.exit_code == 0
    for one in FORMATS:
        assert f"{one.name}  {one.summary}" in run.stdout


def test_one_can_be_asked_for() -> None:
    """The others are left out."""
    wanted, *others = FORMATS
    run = CliRunner().invoke(command, [wanted.name])
    assert wanted.summary in run.stdout
    assert not [other for other in others if other.summary in run.stdout]


def test_a_sample_stands_above_what_comes_of_it() -> None:
    """The source as the model writes it, then the events."""
    page = CliRunner().invoke(command, ["hermes"]).stdout
    source, _, events = page.partition("  start ")
    assert "<tool_call>" in source
    assert '  call       get_weather {"city":"Paris","days":3}' in events
    assert "  finish     tool-calls" in events
