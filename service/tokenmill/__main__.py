"""The command `tokenmill`, also `python -m tokenmill`.

Exit codes: 0 done, 1 failed, 2 wrong usage or configuration.
"""

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from tokenmill.errors import BadOpen, ConfigError, MissingExtra, TokenmillError, UnknownCodec

try:
    import click

    from tokenmill.commands import tokenmill
except ModuleNotFoundError as missing:
    sys.exit(f"tokenmill: {MissingExtra('the command', missing, 'cli')}")

FAILED, MISUSED = 1, 2

INTERRUPTED, TERMINATED = 130, 143
"""What a shell reports for a program that Ctrl-C or SIGTERM ended."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and answer its exit code; an error of ours becomes one plain message on stderr."""
    stopped = INTERRUPTED

    def terminate(_signal: int, frame: FrameType | None) -> None:
        """End as Ctrl-C does: servers that a command has started, its event loop and its files go in order."""
        nonlocal stopped
        stopped = TERMINATED
        interrupt = signal.getsignal(signal.SIGINT)  # an event loop has one of its own
        (interrupt if callable(interrupt) else signal.default_int_handler)(signal.SIGINT, frame)

    signal.signal(signal.SIGTERM, terminate)
    try:
        return _run(arguments)
    except click.ClickException as problem:
        problem.show()
        return problem.exit_code
    except (click.Abort, KeyboardInterrupt):
        return stopped
    except BrokenPipeError:
        _forget_stdout()
        return 0
    except TokenmillError as problem:
        click.echo(f"tokenmill: {problem}", err=True)
        return MISUSED if isinstance(problem, ConfigError | BadOpen | UnknownCodec) else FAILED


def _run(arguments: Sequence[str] | None) -> int:
    given = None if arguments is None else list(arguments)
    answer = tokenmill.main(args=given, prog_name="tokenmill", standalone_mode=False)
    sys.stdout.flush()  # a reader that went away is noticed here, not at the interpreter's exit
    return answer if isinstance(answer, int) else 0


def _forget_stdout() -> None:
    """The reader is gone: send what is still buffered nowhere, or the interpreter complains at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
