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
    from tokenmill.terminal.visible import visible
except ModuleNotFoundError as missing:
    sys.exit(f"tokenmill: {MissingExtra('the command', missing, 'cli')}")

FAILED, MISUSED = 1, 2

INTERRUPTED, TERMINATED = 130, 143
"""Exit codes that a shell reports for a program ended by Ctrl-C or SIGTERM."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; an error of ours becomes one plain message on stderr."""
    stopped = INTERRUPTED

    def terminate(_signal: int, frame: FrameType | None) -> None:
        """End as with Ctrl-C, so that a command's servers, its event loop and its files are closed in order."""
        nonlocal stopped
        stopped = TERMINATED
        interrupt = signal.getsignal(signal.SIGINT)  # an event loop installs its own
        (interrupt if callable(interrupt) else signal.default_int_handler)(signal.SIGINT, frame)

    signal.signal(signal.SIGTERM, terminate)
    try:
        return _run(arguments)
    except click.ClickException as problem:
        problem.message = visible(problem.message)
        problem.show()
        return problem.exit_code
    except (click.Abort, KeyboardInterrupt):
        return stopped
    except TokenmillError as problem:
        _report(str(problem))
        return MISUSED if isinstance(problem, ConfigError | BadOpen | UnknownCodec) else FAILED
    except (SystemExit, OSError) as end:
        return _cut_short(end)


def _run(arguments: Sequence[str] | None) -> int:
    given = None if arguments is None else list(arguments)
    for argument in sys.argv[1:] if given is None else given:
        _look_at(argument)
    try:
        answer = tokenmill.main(args=given, prog_name="tokenmill", standalone_mode=False)
    except RuntimeError as problem:
        if sys.stdin is None and "stdin" in str(problem):  # click's way to report it
            raise click.UsageError("stdin is closed; name a FILE") from problem
        raise
    _flush()  # notice a reader that went away, or a full disk, here and not at the interpreter's exit
    return answer if isinstance(answer, int) else 0


def _look_at(argument: str) -> None:
    """Raise `click.UsageError` for bytes that are not text, unless they name a file, possibly after a `=`."""
    try:
        argument.encode()
    except UnicodeEncodeError as problem:
        if not any(os.path.lexists(name) for name in (argument, argument.partition("=")[2])):
            raise click.UsageError(f"an argument is neither UTF-8 nor a file's name: {argument!a}") from problem


def _flush() -> None:
    if sys.stdout is not None:  # the parent process may have closed it
        sys.stdout.flush()


def _cut_short(end: SystemExit | OSError) -> int:
    """Return the exit code for a system error. A reader that went away is none; click and rich exit because of it."""
    if isinstance(end if isinstance(end, OSError) else end.__context__, BrokenPipeError):
        _forget_stdout()
        return 0
    if isinstance(end, SystemExit) or end.strerror is None:  # or an unhandled deadline of our own
        raise end
    return _refused(end)


def _refused(problem: OSError) -> int:
    """Report the system's error, such as a full disk or an unreadable file."""
    where = f"{problem.filename}: " if problem.filename else ""
    _report(f"{where}{problem.strerror}")
    return FAILED


def _report(sentence: str) -> None:
    """Print why the command ended, after what it has printed as far as that can be written.

    The sentence may quote what others wrote.
    """
    try:
        _flush()
    except OSError:
        _forget_stdout()
    click.echo(f"tokenmill: {visible(sentence)}", err=True)


def _forget_stdout() -> None:
    """Discard buffered output, or the interpreter complains at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
