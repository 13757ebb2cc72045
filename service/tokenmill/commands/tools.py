"""`tokenmill tools`."""

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import UNSET

from tokenmill.commands.settings import R, config_option, kafka_options, need_tools
from tokenmill.commands.tools_control import approve, cancel
from tokenmill.config import Config, Tools
from tokenmill.errors import NOT_JSON, ConfigError, Unavailable
from tokenmill.templates.rendering import CannotRender, prompt, read_template
from tokenmill.terminal.console import Terminal, echo
from tokenmill.terminal.tables import print_table
from tokenmill.tools.catalogue import Catalogue, Tool
from tokenmill.tools.content import plain
from tokenmill.tools.outcome import Outcome, checked
from tokenmill.tools.server_file import Server, read_servers

QUESTION = "…"
"""Placeholder for a user's question."""


@click.group()
def command() -> None:
    """List, call and run the tools of Model Context Protocol servers (needs the extra `tools`)."""


command.add_command(approve)
command.add_command(cancel)

servers_option = click.option(
    "--servers",
    "path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File with `mcpServers`, instead of the configured one.",
)


def servers_options(function: Callable[..., R]) -> Callable[..., R]:
    """Add `--servers FILE` and `--config FILE`."""
    return config_option(servers_option(function))


@command.command("list", short_help="List the tools under the names that models use.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the list in OpenAI's form, for requests and `parse --tools`."
)
@click.option(
    "--template",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Print the prompt that this model's chat template writes for them (needs the extra `templates`).",
)
@servers_options
def show(*, path: Path | None, config: Config, template: Path | None, as_json: bool) -> int:
    """List the tools of all servers under the names that models use.

    A server that does not answer is reported, and the others are listed; the exit code is then 1.
    """
    if template and as_json:
        raise click.UsageError("--json prints the list, --template the prompt; give one of them")
    settings = config.tools
    _hear_servers()
    found, failed = asyncio.run(_listed(_servers(path, settings), settings.connect_s))
    catalogue = Catalogue(found)
    for problem in failed:
        click.echo(f"tokenmill: {problem}", err=True)
    if as_json:
        echo(msgspec.json.format(msgspec.json.encode(catalogue.openai())))
    elif template:
        echo(_prompt(template, catalogue))
    else:
        print_table(Terminal(), ("tool", "hints", "description"), [_row(tool) for tool in catalogue])
    return 1 if failed else 0


@command.command("call", short_help="Call a tool, and print the result.")
@click.argument("name")
@click.argument("arguments", default="{}")
@servers_options
def call(*, name: str, arguments: str, path: Path | None, config: Config) -> int:
    """Call the tool NAME, as in `tools list`, with ARGUMENTS, a JSON object; print the result as JSON.

    A call whose arguments the tool's schema does not allow is not made. The exit code is 1 if there is no result.
    """
    settings = config.tools
    try:
        values = msgspec.json.decode(arguments, type=dict[str, Any])
    except NOT_JSON as problem:
        raise click.BadParameter(f"expected a JSON object: {problem}", param_hint="ARGUMENTS") from problem
    server = next((each for each in _servers(path, settings) if name.startswith(f"{each.name}__")), None)
    if server is None:
        raise click.BadParameter(f"no server has the tool {name!r}; `tokenmill tools list` has all", param_hint="NAME")
    _hear_servers()
    outcome = asyncio.run(_called(server, settings, name, values))
    echo(msgspec.json.format(msgspec.json.encode(outcome)))
    return 0 if outcome.error is UNSET else 1


@command.command("run", short_help="Run the calls of models, and publish the results.")
@servers_option
@kafka_options
def run(*, path: Path | None, config: Config) -> int:
    """Run the calls on `topics.tool_calls`, and publish the results on `topics.tool_results`, until SIGTERM.

    Several processes share the partitions. A call is made at most once: one that a crash leaves open is made again only
    if `tools.repeat` names its tool. The exit code is 1 if it can't continue: start it again.
    """
    servers = _servers(path, config.tools)
    from tokenmill.tools.host import run_tools  # noqa: PLC0415 -- of an extra, and slow to import

    return run_tools(config, servers)


def _servers(path: Path | None, settings: Tools) -> tuple[Server, ...]:
    """Return the file's servers. Raises `ConfigError`."""
    need_tools()
    name = str(path) if path else settings.servers_file
    if not name:
        raise ConfigError(["tools.servers_file: name a file with mcpServers, or give --servers FILE"])
    logging.getLogger("mcp").setLevel(
        logging.CRITICAL
    )  # its log of a server has a traceback; we report the same in a sentence
    try:
        servers = read_servers(Path(name).read_bytes(), os.environ)
    except OSError as problem:
        raise ConfigError([f"tools.servers_file: {name} can't be read: {problem.strerror}"]) from problem
    except ConfigError as problem:
        raise ConfigError([f"{name}: {each}" for each in problem.problems]) from problem
    if not servers:
        raise ConfigError([f"{name}: it has no servers, or all are disabled"])
    return servers


def _hear_servers() -> None:
    """Show the servers' standard error, and how they end, on ours."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    words = logging.getLogger("tokenmill.tools.program")
    words.handlers[:], words.propagate = [handler], False
    words.setLevel(logging.INFO)


async def _listed(servers: Sequence[Server], seconds: float) -> tuple[list[Tool], list[Unavailable]]:
    """Return the tools of all servers that answer, and the problems of the others."""
    from tokenmill.tools.connection import ServerFailed, tools_of  # noqa: PLC0415 -- of an extra, and slow to import

    found = await asyncio.gather(*(tools_of(server, seconds) for server in servers), return_exceptions=True)
    for each in found:
        if isinstance(each, BaseException) and not isinstance(each, ServerFailed):
            raise each
    tools = [tool for each in found if not isinstance(each, BaseException) for tool in each]
    return tools, [each for each in found if isinstance(each, ServerFailed)]


async def _called(server: Server, settings: Tools, name: str, arguments: dict[str, Any]) -> Outcome:
    from tokenmill.tools.calling import CallOptions, called  # noqa: PLC0415 -- of an extra, and slow to import
    from tokenmill.tools.connection import connected, offered  # noqa: PLC0415 -- the same

    async with connected(server, settings.connect_s) as client:
        found = checked(Catalogue(await offered(client, server.name)), name, arguments)
        if isinstance(found, Outcome):
            return found
        return await called(client, found, arguments, CallOptions(server.call_s or settings.call_s))


def _prompt(template: Path, catalogue: Catalogue) -> str:
    """Return what the template writes for the tools, before a question. Raises `click.ClickException`."""
    try:
        return prompt(read_template(template), [{"role": "user", "content": QUESTION}], catalogue.openai())
    except CannotRender as problem:
        raise click.ClickException(str(problem)) from None


def _row(tool: Tool) -> tuple[str, str, str]:
    hints = {
        "reads only": tool.read_only,
        "may destroy": tool.destructive and not tool.read_only,
        "may be repeated": tool.idempotent,
    }
    says = ", ".join(hint for hint, holds in hints.items() if holds)
    return tool.public_name, says, plain(tool.description.strip().partition("\n")[0])
