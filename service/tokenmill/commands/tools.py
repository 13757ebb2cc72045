"""`tokenmill tools`."""

import asyncio
import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import click
import msgspec

from tokenmill.commands.settings import config_option, configuration
from tokenmill.config import Tools
from tokenmill.errors import ConfigError, Unavailable
from tokenmill.terminal.console import Terminal
from tokenmill.terminal.tables import print_table
from tokenmill.tools.catalogue import Catalogue, Tool
from tokenmill.tools.server_file import Server, read_servers


@click.group()
def command() -> None:
    """Which tools there are, through the Model Context Protocol (needs the extra `tools`)."""


@command.command("list")
@click.option("--servers", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="File with `mcpServers`.")
@click.option("--json", "as_json", is_flag=True, help="The list that OpenAI's API takes, as does `parse --tools`.")
@config_option
def show(*, servers: Path | None, config_path: Path | None, as_json: bool) -> int:
    """List the tools of all servers under the names that models call them by.

    A server that does not answer is told of, and the others are listed. The exit code is 1 then.
    """
    settings = configuration(config_path).tools
    found, failed = asyncio.run(_listed(_servers(servers, settings), settings.connect_s))
    catalogue = Catalogue(found)
    for problem in failed:
        click.echo(f"tokenmill: {problem}", err=True)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(catalogue.openai())))
    else:
        print_table(Terminal(), ("tool", "says that it", ""), [_row(tool) for tool in catalogue])
    return 1 if failed else 0


def _servers(path: Path | None, settings: Tools) -> tuple[Server, ...]:
    """Those of the file. Raises `ConfigError`."""
    name = str(path) if path else settings.servers_file
    if not name:
        raise ConfigError(["tools.servers_file: name a file with mcpServers, or give --servers FILE"])
    try:
        return read_servers(Path(name).read_bytes(), os.environ)
    except OSError as problem:
        raise ConfigError([f"tools.servers_file: {name} can't be read: {problem.strerror}"]) from problem


async def _listed(servers: Sequence[Server], seconds: float) -> tuple[list[Tool], list[Unavailable]]:
    """The tools of all that answer, and what is wrong with the others."""
    if find_spec("mcp") is None:
        raise ConfigError(["tools need the protocol's SDK: pip install 'tokenmill[tools]'"])
    from tokenmill.tools.connection import ServerFailed, tools_of  # noqa: PLC0415 -- of an extra, and slow to import

    found = await asyncio.gather(*(tools_of(server, seconds) for server in servers), return_exceptions=True)
    for each in found:
        if isinstance(each, BaseException) and not isinstance(each, ServerFailed):
            raise each
    tools = [tool for each in found if not isinstance(each, BaseException) for tool in each]
    return tools, [each for each in found if isinstance(each, ServerFailed)]


def _row(tool: Tool) -> tuple[str, str, str]:
    hints = {"reads only": tool.read_only, "may destroy": tool.destructive and not tool.read_only}
    says = [*(hint for hint, holds in hints.items() if holds), *(["may be repeated"] if tool.idempotent else [])]
    return tool.public_name, ", ".join(says), tool.description.strip().partition("\n")[0]
