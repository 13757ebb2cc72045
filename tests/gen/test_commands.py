"""The page of the commands."""

from tokenmill.commands import COMMANDS
from tokenmill.gen import commands


def test_every_command_is_on_the_page_with_its_help() -> None:
    """Commands and their subcommands."""
    page = commands.page()
    assert all(f"## `tokenmill {name}`" in page for name in COMMANDS)
    assert "## `tokenmill topics create`" in page
