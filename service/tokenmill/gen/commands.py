"""The page of the commands: the output of `--help`."""

from collections.abc import Iterator
from typing import Any

import click

from tokenmill.commands import tokenmill
from tokenmill.gen import markdown

WIDTH = 100


def page() -> str:
    """Return the page, with the help of every command and its subcommands."""
    settings: dict[str, Any] = {**tokenmill.context_settings, "terminal_width": WIDTH}
    root = click.Context(tokenmill, info_name="tokenmill", **settings)
    return markdown.page(
        "Commands",
        "`tokenmill COMMAND`, also `python -m tokenmill COMMAND`.\n"
        "Exit codes: 0 done, 1 failed, 2 wrong usage or configuration.",
        *_group(tokenmill, root),
    )


def _group(group: click.Group, context: click.Context) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None:
            yield from _command(command, click.Context(command, context, name, terminal_width=WIDTH))


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"## `{context.command_path}`"
    yield markdown.fenced(command.get_help(context))
    if isinstance(command, click.Group):
        yield from _group(command, context)
