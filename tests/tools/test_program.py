"""Servers that are programs, and what they may do to us: little."""

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp import Client

from tests.support.pipes import soon
from tests.support.processes import there
from tests.support.stage import until
from tokenmill.limits import KIB
from tokenmill.tools import program
from tokenmill.tools.calling import CallOptions, called
from tokenmill.tools.catalogue import Tool
from tokenmill.tools.connection import ServerFailed, connected
from tokenmill.tools.lines import Line
from tokenmill.tools.outcome import Outcome
from tokenmill.tools.program import ANSWER_BYTES, TOO_LONG, UNREADABLE, _message
from tokenmill.tools.server_file import Program

ODD = Program("odd", sys.executable, ("-m", "tests.support.odd_server"))

CALL_S = 20.0


@asynccontextmanager
async def odd(**fields: Any) -> AsyncIterator[Client]:
    """The server that misbehaves."""
    async with connected(Program("odd", ODD.command, ODD.args, **fields), CALL_S) as client:
        yield client


async def call(client: Client, name: str, seconds: float = CALL_S, **arguments: Any) -> Outcome:
    return await called(client, Tool(server="odd", name=name), arguments, CallOptions(seconds))


def text(outcome: Outcome) -> str:
    """What a tool said."""
    assert outcome.error is outcome.code, outcome  # both unset
    said: str = outcome.result["content"][0]["text"]
    return said


async def test_what_is_no_message_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    """It is said once, without the characters that do something to a terminal."""
    caplog.set_level(logging.WARNING)
    async with odd() as client:
        assert text(await call(client, "junk", lines=20)) == "clean"
        assert text(await call(client, "junk", lines=20)) == "clean"
    assert [record.getMessage() for record in caplog.records if record.name.startswith("tokenmill")] == [
        "odd: a line on its standard output is not a message: Server ready!"
    ]


async def test_who_says_nothing_but_junk_is_given_up() -> None:
    """The call is over then, and so is the connection."""
    async with odd() as client:
        assert (await call(client, "junk", lines=1_000)).code == "transport"
        assert (await call(client, "twice")).code == "transport"


async def test_a_flood_on_the_standard_error_holds_nobody_up(caplog: pytest.LogCaptureFixture) -> None:
    """Some lines of a second are logged, and how many more there were."""
    caplog.set_level(logging.INFO)
    async with odd() as client:
        assert text(await call(client, "flood", lines=200_000)) == "said"
        assert text(await call(client, "twice")) == "first"
    said = [record.getMessage() for record in caplog.records if record.name == program.__name__]
    assert "odd says: so much to say" in said
    assert len(said) < 500


async def test_answers_are_told_apart_by_their_numbers() -> None:
    """In whatever order they come, and however often."""
    async with odd() as client:
        one, two = asyncio.create_task(call(client, "late")), asyncio.create_task(call(client, "late"))
        assert text(await call(client, "twice")) == "first"
        assert text(await call(client, "release")) == "released"
        assert sorted([text(await one), text(await two)]) == ["late 0", "late 1"]


@pytest.mark.parametrize("behind", [False, True])
async def test_an_answer_of_any_size_is_not_taken_in(behind: bool) -> None:
    """Whoever waits for it is told, wherever it has its number; the next call is as any other."""
    async with odd() as client:
        outcome = await call(client, "huge", size=100 * KIB * KIB, behind=behind)
        assert (outcome.code, outcome.error) == ("protocol", TOO_LONG)
        assert text(await call(client, "huge", size=KIB * KIB, behind=behind)).startswith("xxx")


ANSWER = '{"jsonrpc":"2.0","id":NUMBER,"result":{"content":[{"type":"text","text":"%s"}]}}'


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("cut \\ud83d", "cut \N{REPLACEMENT CHARACTER}"),
        ("caf\xe9", "caf\N{REPLACEMENT CHARACTER}"),
        ("\\ud83d\\ude00 \\ude00", "\N{GRINNING FACE} \N{REPLACEMENT CHARACTER}"),
    ],
    ids=["half", "latin", "both"],
)
async def test_an_answer_with_a_part_of_a_character_is_read(written: str, read: str) -> None:
    """Programs cut a text at its 1,000th unit; what is left is as good as before."""
    async with odd() as client:
        assert text(await call(client, "raw", line=ANSWER % written)) == read


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc":"2.0","id":NUMBER,"result":{"n":' + "9" * 5000 + "}}",
        '{"result":{"n":' + "[" * 5000 + "]" * 5000 + '},"jsonrpc":"2.0","id":NUMBER}',
        '{"jsonrpc":"2.0","id":NUMBER,"result":"text"}',
        '{"jsonrpc":"2.0","id":NUMBER,"result":',
        '{"jsonrpc":"2.0","id":NUMBER,"result":{"method":5}',
    ],
    ids=["number", "deep", "shape", "half", "method"],
)
async def test_an_answer_that_cannot_be_read_is_one(line: str) -> None:
    """Whoever waits for it is told at once; a line with a number that is no answer is passed over."""
    async with odd() as client:
        outcome = await call(client, "raw", line=line)
        assert (outcome.code, outcome.error) == ("protocol", UNREADABLE)
        for none in ('{"level":"info","id":NUMBER}', '{"jsonrpc":"2.0","id":NUMBER,"method":5}'):
            assert (await call(client, "raw", 0.3, line=none)).code == "timeout"


@pytest.mark.parametrize("detached", [False, True])
async def test_nothing_outlives_the_connection(detached: bool) -> None:
    """Neither the program nor what it started, even if that does not listen, or has left its group."""
    async with odd() as client:
        child = int(text(await call(client, "spawn", detached=detached)))
        assert there(child)
    await until(lambda: not there(child), "the child has ended", 20)


async def test_nothing_outlives_a_connection_that_is_cut_off_while_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    """As where the runner stops just after a server has been given up: the program is ended to the end."""
    stubborn = Program("stubborn", "/bin/sh", ("-c", "trap '' TERM; echo pid $$ >&2; while :; do sleep 0.1; done"))
    hanging = asyncio.Event()

    async def connecting() -> None:
        async with program.spoken_to(stubborn, lambda: None):
            hanging.set()
            await asyncio.Event().wait()

    with caplog.at_level(logging.INFO):
        task = asyncio.create_task(connecting())
        await hanging.wait()
        await until(lambda: "pid " in caplog.text, "the program runs", 20)
    pid = int(caplog.text.rpartition("pid ")[2].split()[0])
    for _ in range(3):
        task.cancel()
        await soon()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not there(pid)


async def test_a_program_that_hangs_is_ended() -> None:
    """Its call is over when its time is, and so is the connection when that is wanted."""
    async with odd() as client:
        assert (await call(client, "hang", 0.5)).code == "timeout"


async def test_a_program_has_the_memory_that_it_is_given() -> None:
    """What is too much for it is its own error."""
    async with odd(memory_mib=200) as client:
        assert text(await call(client, "grow", size=20 * KIB * KIB)) == str(20 * KIB * KIB)
        assert (await call(client, "grow", size=900 * KIB * KIB)).code == "transport"


async def test_what_ends_by_itself_is_noticed() -> None:
    """The call that it ended in, and the next."""
    async with odd() as client:
        assert (await call(client, "leave")).code == "transport"


async def test_its_last_words_are_heard_without_the_end_of_a_line() -> None:
    """The answer is all there."""
    async with odd() as client:
        assert text(await call(client, "farewell")) == "goodbye"
    async with odd() as client:
        assert (await call(client, "farewell", half=True)).code == "transport"


async def test_a_request_of_its_own_is_no_answer() -> None:
    """However long it is, and though it has a number that one of ours has, too."""
    async with odd() as client:
        assert text(await call(client, "demand", size=ANSWER_BYTES)) == "done"
        assert text(await call(client, "demand", size=ANSWER_BYTES, behind=True)) == "done"


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":5,"params":{"x":bad},"method":"sampling/createMessage"}',
        b'{"params":{"x":bad},"method":"sampling/createMessage","jsonrpc":"2.0","id":5}',
        b'{"params":{"x":bad},"jsonrpc":"2.0","id":5,"method":"sampling/createMessage"}',
    ],
)
def test_a_request_that_can_t_be_read_is_no_answer_in_any_order(line: bytes) -> None:
    """JSON has no order; what says that it answers does."""
    assert _message(Line(line)) is None
    assert _message(Line(b'{"jsonrpc":"2.0","id":5,"result":{"method":bad}}')) is not None


async def test_the_end_of_its_output_is_told() -> None:
    """At once, to whoever is connected, and not only to whoever asks for something."""
    ended = asyncio.Event()
    async with connected(ODD, CALL_S, ended=ended.set) as client:
        assert text(await call(client, "twice")) == "first"
        assert not ended.is_set()
        assert (await call(client, "leave")).code == "transport"
        async with asyncio.timeout(CALL_S):
            await ended.wait()


async def test_a_program_that_is_not_there_is_said_not_to_be() -> None:
    """And one that says nothing."""
    with pytest.raises(ServerFailed, match="there is no program 'no-such-program'"):
        async with connected(Program("odd", "no-such-program"), 5):
            pass
    silent = Program("odd", ODD.command, (*ODD.args, "--silent"))
    with pytest.raises(ServerFailed, match="no answer within 1 s"):
        async with connected(silent, 1):
            pass


async def test_secrets_of_ours_stay_with_us(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program sees its own variables, and those that every program needs."""
    monkeypatch.setenv("TOKENMILL_SECRET", "hidden")
    weather = Program("weather", sys.executable, ("-m", "tests.support.mcp_server"), {"OWN": "1"})
    async with connected(weather, CALL_S) as client:
        outcome = await called(client, Tool(server="weather", name="environment"), {}, CallOptions(CALL_S))
    names = set(outcome.result["structuredContent"]["result"])
    assert {"OWN", "PATH"} <= names
    assert not names & {name for name in os.environ if name.startswith("TOKENMILL")}


async def test_who_ends_by_itself_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    """With its last words, and how it ended."""
    caplog.set_level(logging.INFO, logger="tokenmill")
    words = "import sys; print('no API key', end='', file=sys.stderr); sys.exit(3)"
    with pytest.raises(ServerFailed, match="Connection closed"):
        async with connected(Program("odd", sys.executable, ("-c", words), memory_mib=512), CALL_S):
            pass
    assert {record.getMessage() for record in caplog.records} >= {
        "odd says: no API key",
        "odd ended by itself, with the exit code 3; each process may have 512 MiB (memory_mib)",
    }


async def test_a_command_with_its_arguments_is_told_of() -> None:
    """The commonest mistake in such a file."""
    with pytest.raises(ServerFailed, match="no program 'mcp-server-time --utc'; its arguments belong in \"args\""):
        async with connected(Program("odd", "mcp-server-time --utc"), CALL_S):
            pass


async def test_a_command_in_a_folder_is_looked_for_where_it_runs(tmp_path: Path) -> None:
    """Not where we do."""
    script = tmp_path / "bin" / "server"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\nexec {sys.executable} -m tests.support.odd_server\n")
    script.chmod(0o755)
    server = Program("odd", "bin/server", (), {"PYTHONPATH": str(Path.cwd())}, str(tmp_path))
    async with connected(server, CALL_S) as client:
        assert text(await call(client, "twice")) == "first"
    with pytest.raises(ServerFailed, match="there is no program 'bin/server'"):
        async with connected(msgspec.structs.replace(server, cwd=""), CALL_S):
            pass
