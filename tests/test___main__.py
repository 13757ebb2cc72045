"""The program as a whole: exit codes and error messages."""

import errno
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

from tests.structure.tree import CHECKOUT
from tokenmill import commands
from tokenmill.__main__ import main
from tokenmill.commands import COMMANDS, EXTRAS, tokenmill
from tokenmill.errors import FatalError, MissingExtra

HOSTILE = "bad: a\x1b[2J\x9bm\u202eb"
"""Text that clears a terminal, colors it and turns what follows around."""


def test_done_is_0(capsys: pytest.CaptureFixture[str]) -> None:
    """The help names every command."""
    assert main(["--help"]) == 0
    page = capsys.readouterr().out
    assert all(name in page for name in COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nonsense"], "No such command"),
        (["parse", "--nonsense"], "No such option"),
        (["formats", "nonsense"], "known are"),
        (["config", "check", "--config", "/nonsense.toml"], "does not exist"),
        (["parse", "--open", "nonsense=1", os.devnull], "unknown option 'nonsense'"),
    ],
)
def test_wrong_usage_is_2(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is wrong, and what would be right, is on stderr."""
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["parse", "--format", "\udcff"], ["parse", "--finish=\udcff"], ["tail", "\udcff"]], ids=ascii
)
def test_an_argument_that_is_no_text_is_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """No event or record could hold it."""
    assert main(arguments) == 2
    assert "is neither UTF-8 nor a file's name: " in capsys.readouterr().err


def test_a_file_may_have_any_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On most systems names of files are bytes."""
    path = tmp_path / "a\udcff"
    path.write_text("")
    assert main(["parse", str(path)]) == 0
    assert main(["config", "check", f"--config={path}"]) == 0
    assert capsys.readouterr().err == ""


def test_wrong_configuration_is_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every problem is reported, each with its key."""
    path = tmp_path / "wrong.toml"
    path.write_text('[kafka]\nnonsense = 1\n[worker]\nport = "x"\n')
    assert main(["config", "check", "--config", str(path)]) == 2
    error = capsys.readouterr().err
    assert "kafka.nonsense" in error
    assert "worker.port" in error


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (FatalError("broken"), 1),
        (OSError(errno.EIO, "broken"), 1),
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
    ],
)
def test_failures_have_their_codes(
    problem: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A failure is one sentence without a traceback; Ctrl-C is silent."""

    def fail() -> None:
        raise problem

    monkeypatch.setattr(tokenmill, "main", lambda **_: fail())
    assert main([]) == code
    assert capsys.readouterr().err == ("tokenmill: broken\n" if code == 1 else "")


@pytest.mark.parametrize("problem", [FatalError(HOSTILE), click.ClickException(HOSTILE), click.UsageError(HOSTILE)])
def test_what_an_error_quotes_acts_on_no_terminal(
    problem: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may be a record, a file or a template of somebody else's."""

    def fail() -> None:
        raise problem

    monkeypatch.setattr(tokenmill, "main", lambda **_: fail())
    assert main([]) != 0
    assert capsys.readouterr().err.endswith(" bad: a<U+001B>[2J<U+009B>m<U+202E>b\n")


@pytest.mark.parametrize(
    "arguments",
    [["formats"], ["parse", __file__], ["parse", "--step", __file__], ["dialects"], ["--help"], ["parse", "--help"]],
    ids=" ".join,
)
def test_a_reader_that_goes_away_is_no_error(arguments: list[str]) -> None:
    """`tokenmill formats | head -1` ends quietly, whatever prints: lines, tables, help."""
    command = [sys.executable, "-m", "tokenmill", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(30) == 0
        assert process.stderr.read() == b""


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["formats"], ["parse", __file__], ["--help"]], ids=" ".join)
def test_a_full_disk_is_a_failure_that_is_said(
    arguments: list[str], unbuffered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one sentence, as what is on the disk is not whole; the interpreter adds nothing of what it could not write."""
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    command = [sys.executable, "-m", "tokenmill", *arguments]
    with Path("/dev/full").open("wb") as full:
        run = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert (run.returncode, run.stderr) == (1, b"tokenmill: No space left on device\n")


def test_nobody_has_to_listen() -> None:
    """Without a stdout a command does what it does."""
    command = f"{sys.executable} -m tokenmill formats >&-"
    run = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, timeout=60, check=False)
    assert (run.returncode, run.stderr) == (0, b"")


@pytest.mark.parametrize("arguments", ["parse", "parse --batch", "parse --records", "publish", "inspect -"])
def test_nobody_has_to_say_anything(arguments: str) -> None:
    """A command that reads something missing reports it in a sentence."""
    command = f"{sys.executable} -m tokenmill {arguments} <&-"
    run = subprocess.run(["sh", "-c", command], capture_output=True, timeout=60, check=False)
    assert (run.returncode, run.stderr) == (2, b"Error: stdin is closed; name a FILE\n")


def test_parsing_starts_fast() -> None:
    """A command imports what it needs: neither Kafka nor the host is loaded to parse text."""
    code = "import sys; from tokenmill.__main__ import main; main(['parse', '/dev/null']); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert not {"aiokafka", "faust", "redis", "prometheus_client"} & set(run.stdout.split())


@pytest.mark.parametrize("name", ["caller", "front"])
def test_a_front_starts_without_what_only_others_need(name: str) -> None:
    """A process without snapshots does not load the Redis client, and one without servers loads nothing of the demo."""
    code = f"import sys; from tokenmill.__main__ import main; main(['{name}', '--help']); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert not {"faust", "redis", "rich", "tokenmill.demo"} & set(run.stdout.split())


@pytest.mark.parametrize(
    ("before", "then"),
    [("", "gc.get_freeze_count() > 10_000, True"), ("gc.freeze()", "same, True"), ("gc.disable()", "same, False")],
    ids=["nobody else does", "frozen by another", "switched off by another"],
)
def test_what_a_command_imports_is_not_looked_through(before: str, then: str) -> None:
    """They are not searched for garbage; later objects are. An already frozen or disabled collector stays as it is."""
    code = f"""if True:
        import gc, sys
        from tokenmill.__main__ import main
        {before}
        count = gc.get_freeze_count()
        main(["parse", "/dev/null"])
        same = gc.get_freeze_count() <= count
        sys.exit((True, gc.isenabled()) != ({then}))
    """
    subprocess.run([sys.executable, "-c", code], timeout=60, check=True)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_imported_and_asked_for_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The table of names is right, and each command's help describes it."""
    assert main([name, "--help"]) == 0
    assert f"Usage: tokenmill {name}" in capsys.readouterr().out


def test_what_is_not_installed_is_said_with_the_extra_that_has_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence with the command to type, in place of a traceback."""

    def missing(_name: str) -> None:
        raise ModuleNotFoundError("No module named 'aiohttp'", name="aiohttp")

    monkeypatch.setattr(commands, "import_module", missing)
    with pytest.raises(MissingExtra, match="aiohttp"):
        tokenmill.get_command(click.Context(tokenmill), "gateway")
    monkeypatch.undo()
    monkeypatch.setattr(tokenmill, "main", lambda **_: missing_extra())
    assert main(["gateway"]) == 1
    assert capsys.readouterr().err.endswith("pip install 'tokenmill[gateway]'\n")


def missing_extra() -> None:
    raise MissingExtra("`tokenmill gateway`", ModuleNotFoundError(name="aiohttp"), EXTRAS["gateway"])


def test_every_extra_that_a_command_names_is_one() -> None:
    """And commands are named as they are called."""
    extras = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert EXTRAS.keys() <= COMMANDS.keys()
    assert set(EXTRAS.values()) <= extras.keys()
