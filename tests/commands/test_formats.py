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


def test_a_model_gets_the_format_that_it_writes() -> None:
    """One line, which begins with the format's name."""
    run = CliRunner().invoke(command, ["--model", "Qwen/Qwen3-Coder-30B-A3B-Instruct"])
    assert run.exit_code == 0
    assert run.stdout.startswith("qwen3_xml  `<function=NAME>`")
    assert run.stdout.count("\n") == 1


def test_a_model_that_is_not_known_is_an_error_that_says_what_to_try() -> None:
    """Exit code 1, and nothing on the standard output that a script could take for a name."""
    run = CliRunner().invoke(command, ["--model", "acme/unheard-of"])
    assert (run.exit_code, run.stdout) == (1, "")
    assert "no format names the model 'acme/unheard-of'" in run.stderr
    assert "tokenmill formats" in run.stderr


def test_a_model_and_a_format_are_not_asked_for_together() -> None:
    """Wrong usage."""
    assert CliRunner().invoke(command, ["hermes", "--model", "Qwen3"]).exit_code == 2


def test_a_template_is_checked_alone() -> None:
    """Not with a model or a name, and `--json` is about its report."""
    here = __file__
    for arguments in (["hermes", "--check-template", here], ["--model", "m", "--check-template", here], ["--json"]):
        assert CliRunner().invoke(command, arguments).exit_code == 2
