"""`tokenmill tools approve` and `cancel`: people's decisions about calls."""

import asyncio
import getpass
import time
from collections.abc import Sequence

import click
import msgspec

from tokenmill.commands.settings import kafka_options, quiet_kafka
from tokenmill.config import Config
from tokenmill.terminal.console import Terminal
from tokenmill.terminal.tables import print_table
from tokenmill.terminal.visible import one_line, visible
from tokenmill.tools.content import plain
from tokenmill.tools.control import Approval, ApprovalRequest, Cancel


def _me() -> str:
    """Return the user's login name; a container's user may have none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # the latter from Python 3.13 on
        return ""


as_option = click.option(
    "--as", "by", default=_me, show_default="your login name", help="The name that goes with the decision."
)

SHOWN = 12
"""Characters of an approval that suffice to name it."""


@click.command(short_help="Approve or refuse calls; without arguments, list those that wait.")
@click.argument("approvals", nargs=-1, metavar="[APPROVAL]...")
@click.option("--refuse", is_flag=True, help="Refuse them.")
@click.option("--why", default="", help="Reason for a refusal, for the model.")
@as_option
@kafka_options
def approve(*, approvals: Sequence[str], refuse: bool, why: str, by: str, config: Config) -> int:
    """Approve or refuse calls that wait for a person (`ask` in `tools.policy`).

    APPROVAL is the first column of the list, or a longer prefix of the approval. Without any, the waiting calls are
    listed with their arguments. The first decision on a call counts.
    """
    if refuse and not approvals:
        raise click.UsageError("--refuse needs an APPROVAL; without both, the waiting calls are listed")
    from tokenmill.tools.control_client import questions, say  # noqa: PLC0415 -- slow to import, for the other commands

    quiet_kafka()
    waiting = asyncio.run(questions(config))
    if not approvals and not waiting:
        click.echo("no call waits")
        return 0
    if not approvals:
        print_table(Terminal(), ("approval", "s left", "conversation", "tool", "arguments"), [*map(_row, waiting)])
        return 0
    chosen = [_named(name, waiting) for name in approvals]
    words = [Approval(approval=each.approval, granted=not refuse, by=by, why=why) for each in chosen]
    asyncio.run(say(config, [(each.conversation_id, word) for each, word in zip(chosen, words, strict=True)]))
    for each in chosen:
        click.echo(plain(f"{'refused' if refuse else 'approved'}: {each.name} of {each.conversation_id}"))
    return 0


@click.command(short_help="Stop the calls of a conversation, or of one message.")
@click.argument("conversation")
@click.argument("message", default="")
@as_option
@kafka_options
def cancel(*, conversation: str, message: str, by: str, config: Config) -> int:
    """Stop the calls of CONVERSATION, or of its message MESSAGE, running or waiting.

    Servers are notified. Calls of later messages are not affected.
    """
    from tokenmill.tools.control_client import say  # noqa: PLC0415 -- slow to import, for the other commands

    quiet_kafka()
    word = Cancel(conversation_id=conversation, message_id=message, by=by)
    asyncio.run(say(config, [(conversation, word)]))
    click.echo(plain(f"notified the runners; the results of {conversation}'s calls are on the results topic"))
    return 0


def _named(name: str, waiting: Sequence[ApprovalRequest]) -> ApprovalRequest:
    """Return the call whose approval begins with `name`. Raises `click.BadParameter` if there is none, or several."""
    if len(name) < SHOWN:
        short = f"{name!r} is too short: give at least the {SHOWN} characters of the list"
        raise click.BadParameter(short, param_hint="APPROVAL")
    found = [each for each in waiting if each.approval.startswith(name)]
    if len(found) != 1:
        said = "several calls wait" if found else "no call waits"
        raise click.BadParameter(f"{said} for {name!r}; `tokenmill tools approve` lists them", param_hint="APPROVAL")
    return found[0]


def _row(each: ApprovalRequest) -> tuple[str, ...]:
    left = max(0, round(each.until / 1000 - time.time()))
    # Some of it is a model's, and an approval covers all of it: nothing may be left out or hidden.
    arguments = visible(msgspec.json.encode(each.arguments).decode())
    return each.approval[:SHOWN], str(left), one_line(each.conversation_id), one_line(each.name), arguments
