"""The commands, one file each. A command is imported when it is used, so that `tokenmill parse` starts fast."""

from importlib import import_module

import click

from tokenmill.errors import MissingExtra
from tokenmill.garbage import frozen_imports

COMMANDS: dict[str, str] = {
    "demo": "The whole flow on this machine, with nothing installed: broker, Redis, worker, sample streams.",
    "worker": "Run the service: tokens in, events out.",
    "gateway": "Serve events over HTTP, with streams that resume where they were cut.",
    "front": "Serve the APIs of OpenAI and Anthropic in front of any model server.",
    "caller": "Call model servers for fronts, as a separate process.",
    "tools": "List, call and run the tools of Model Context Protocol servers.",
    "parse": "Parse model text or a captured stream into events, without a broker.",
    "inspect": "Show in a browser how the parser reads a text, piece by piece.",
    "publish": "Publish model text to the tokens topic.",
    "tail": "Follow a conversation's events, or everything on a topic.",
    "topics": "Create the topics.",
    "dlq": "Look at dead letters and publish them again.",
    "recover": "Show what a restore of the partitions would do.",
    "sessions": "Show what is kept of a conversation after its answers.",
    "formats": "List the formats models write in, with a sample of each and its events.",
    "codecs": "List the codecs of input records, with a sample of each.",
    "dialects": "List the dialects of events, with a sample of each.",
    "config": "Check the configuration.",
    "capacity": "Calculate what a load needs: workers, partitions, memory, Kafka, Redis.",
    "bench": "Measure the parser, or a whole worker, against a reference.",
}
"""Name → summary, in the order of the help. `tokenmill.commands.NAME` has the click command as `command`."""

EXTRAS: dict[str, str] = {
    "demo": "demo",
    "worker": "worker",
    "gateway": "gateway",
    "front": "front",
    "caller": "front",
    "tools": "tools",
    "inspect": "gateway",
    "publish": "worker",
    "tail": "worker",
    "topics": "worker",
    "dlq": "worker",
    "recover": "worker",
    "sessions": "worker",
    "bench": "all",
}
"""The extra that a command needs beyond `cli`, which every command needs."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are used, and not for its own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's signature
        """Every command's name, in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 -- click's signature
        """The command of this name, or None if there is none. Raises `MissingExtra` if its packages are missing."""
        if cmd_name not in COMMANDS:
            return None
        module = f"tokenmill.commands.{cmd_name}"
        try:
            with frozen_imports(module):
                import_module("tokenmill.plugins").load_plugins()  # first: a command may make tables of what there is
                command: click.Command = import_module(module).command
        except ModuleNotFoundError as missing:
            raise MissingExtra(f"`tokenmill {cmd_name}`", missing, EXTRAS.get(cmd_name, "cli")) from missing
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 -- click's
        """The list of commands in the help."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="tokenmill")
def tokenmill() -> None:
    """tokenmill: the raw token stream of a language model in, clean events out."""
