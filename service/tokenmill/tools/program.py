"""A server that is a program: started, spoken to over its standard streams, and ended with all that it started.

1. A line is a message. One that is longer than `ANSWER_BYTES` is dropped, and its call gets an error, as for an answer
   that can't be read.
2. A line that is not a message is passed over and counted; after `JUNK_LINES` the server is given up.
3. Its standard error goes into our log, line by line, up to a number per second; the rest is counted.
4. It gets the variables of its entry and the few that every program needs, and no others of ours.
5. Everything that it started ends with the connection, and with us: see `launch`.
6. The end of its output is reported immediately, even if nobody waits for an answer.
"""

import asyncio
import json
import logging
import os
import re
import shutil
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp.types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    jsonrpc_message_adapter,
)

from tokenmill.limits import KIB
from tokenmill.parser.values.repair import HALF_PAIR, whole_characters
from tokenmill.tasks import cancelled, to_the_end
from tokenmill.tools import launch
from tokenmill.tools.content import plain
from tokenmill.tools.lines import Line, LineReader
from tokenmill.tools.server_file import Program

log = logging.getLogger(__name__)

ANSWER_BYTES = 8 * KIB * KIB
"""Longest message: far more than is kept of a result, and read in a tenth of a second."""

TOO_LONG = f"the answer is longer than {ANSWER_BYTES} bytes"

UNREADABLE = "the answer can't be read"

JUNK_LINES = 1_000
"""Lines that are not messages before a server is given up: a program that logs to its standard output writes fewer."""

SAID_BYTES = 2 * KIB
"""Longest line of its standard error."""

SAID_A_SECOND = 20

GRACE_S = 2.0
"""Seconds for a program to end after its input has; and again after SIGTERM."""

LAST_WORDS_S = 0.5
"""Seconds for what a program that has ended leaves: its exit code, and the rest of its standard error."""

PIECE = 64 * KIB

_IDS = re.compile(rb'\{\s*"jsonrpc"\s*:\s*"2.0"\s*,\s*"id"\s*:\s*(\d+)\s*,'), re.compile(rb'"id"\s*:\s*(\d+)\s*\}\s*$')
"""Patterns of the number of a message that is cut: at its beginning, or at its end."""

_ASKS = (
    re.compile(rb'\{\s*(?:"jsonrpc"\s*:\s*"2.0"\s*,\s*)?(?:"id"\s*:\s*(?:\d+|"[^"]*")\s*,\s*)?"(?:method|params)"\s*:'),
    re.compile(rb'[,{]\s*"method"\s*:\s*"[^"]*"\s*(?:,\s*"(?:jsonrpc|id)"\s*:\s*(?:\d+|"[^"]*")\s*)*\}\s*$'),
)
"""Patterns of a message that is not an answer: its number is the server's own, and may equal that of a call of ours."""

ENDING_BYTES = 1024
"""Bytes at the end of such a message: its method and its number, which servers write short."""

Received: TypeAlias = SessionMessage | Exception
"""What the SDK accepts; we send no exceptions."""


class _Running(NamedTuple):
    process: Process
    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader


@asynccontextmanager
async def spoken_to(
    server: Program,
    ended: Callable[[], None],
) -> AsyncIterator[tuple[MemoryObjectReceiveStream[Received], MemoryObjectSendStream[SessionMessage]]]:
    """Run the program for the duration of the block; yield its messages, and a stream for ours. Raises `OSError`.

    `ended` is called after the last message.
    """
    running = await _started(server)
    put, received = anyio.create_memory_object_stream[Received](0)
    sent, take = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.create_task(_hear(server.name, running.stdout, put)),
        asyncio.create_task(_say(running.stdin, take)),
        asyncio.create_task(_listen(server.name, running.stderr)),
    ]
    tasks[0].add_done_callback(lambda _: ended())
    try:
        with received, sent:
            yield received, sent
    finally:
        with anyio.CancelScope(shield=True):  # else the SDK's own scopes cancel again with each turn of the loop
            await to_the_end(_end(server, running, tasks), f"the end of {server.name}")


async def _end(server: Program, running: _Running, tasks: "Sequence[asyncio.Task[None]]") -> None:
    if tasks[0].done():
        await _by_itself(server, running)
    await _ended(running)
    await asyncio.wait(tasks[2:], timeout=LAST_WORDS_S)
    await cancelled(*tasks)


async def _started(server: Program) -> _Running:
    environment = get_default_environment() | dict(server.env)
    command = _found(server, environment.get("PATH"))
    if command is None:
        hint = '; its arguments belong in "args"' if " " in server.command else ""
        raise FileNotFoundError(f"there is no program {server.command!r}{hint}")
    memory = str(server.memory_mib * KIB * KIB)
    wrapped = ["-I", "-S", str(Path(launch.__file__)), str(os.getpid()), memory, command, *server.args]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *wrapped,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=environment,
        cwd=server.cwd or None,
        start_new_session=True,
    )
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise RuntimeError("a process that was to have pipes has none")
    return _Running(process, process.stdin, process.stdout, process.stderr)


def _found(server: Program, path: str | None) -> str | None:
    """Find the program: by its name on the path, or relative to the folder in which it will run."""
    inside = os.sep in server.command
    return shutil.which(str(Path(server.cwd).absolute() / server.command) if inside else server.command, path=path)


async def _by_itself(server: Program, running: _Running) -> None:
    """Log the exit code of a program that has ended: its standard output has."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LAST_WORDS_S):
            code = await running.process.wait()
            memory = f"; each process may have {server.memory_mib} MiB (memory_mib)" if server.memory_mib else ""
            log.warning("%s ended by itself, with the exit code %d%s", server.name, code, memory)


async def _ended(running: _Running) -> None:
    """Close its input, then send SIGTERM, then kill the whole group, with all that `launch` could not end."""
    process = running.process
    running.stdin.close()
    for last in (process.terminate, lambda: _kill(process.pid)):
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                await process.wait()
                break
        with suppress(ProcessLookupError):
            last()
    await process.wait()
    _kill(process.pid)


def _kill(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


async def _hear(name: str, stdout: asyncio.StreamReader, put: MemoryObjectSendStream[Received]) -> None:
    """Pass on messages until there are no more, or too many lines that are not messages."""
    junk = 0
    with put, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async for line in _lines(stdout, ANSWER_BYTES):
            message = _message(line)
            if message is not None:
                await put.send(message)
                continue
            if not junk:
                log.warning("%s: a line on its standard output is not a message: %s", name, _shown(line))
            junk += 1
            if junk == JUNK_LINES:
                log.warning("%s: given up: %d lines on its standard output are not messages", name, junk)
                return


async def _lines(stream: asyncio.StreamReader, longest: int) -> AsyncIterator[Line]:
    """Yield lines as they come; also the last one, if it has no end."""
    reader = LineReader(longest)
    while data := await stream.read(PIECE):
        for line in reader.feed(data):
            yield line
    for line in reader.rest():
        yield line


def _message(line: Line) -> SessionMessage | None:
    if line.cut:
        return _failed(line, TOO_LONG)
    try:
        message = _read(line.data)
    except (ValueError, RecursionError):
        return _failed(line, UNREADABLE) if b'"jsonrpc"' in line.data else None
    if isinstance(message, JSONRPCError) and message.error.code == CONNECTION_CLOSED:
        message.error.code = INTERNAL_ERROR  # the connection is as good as before
    return SessionMessage(message)


def _read(data: bytes) -> JSONRPCMessage:
    """Read a message, with U+FFFD for parts of characters. Raises `ValueError` or `RecursionError`."""
    try:
        return jsonrpc_message_adapter.validate_json(data, by_name=False)
    except ValueError:
        text = data.decode(errors="replace")
        if "\ufffd" not in text and not HALF_PAIR.search(data):
            raise
        whole = whole_characters(json.loads(text))
        return jsonrpc_message_adapter.validate_json(json.dumps(whole), by_name=False)


def _failed(line: Line, why: str) -> SessionMessage | None:
    """Return an error for the call that the line answers, if it can be found.

    A line without an end is the end of the output, which is reported elsewhere.
    """
    if not line.ended or _ASKS[0].match(line.data) or _ASKS[1].search(line.data[-ENDING_BYTES:]):
        return None
    found = _IDS[0].match(line.data) or _IDS[1].search(line.data)
    error = ErrorData(code=INTERNAL_ERROR, message=why)
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=int(found[1]), error=error)) if found else None


async def _say(stdin: asyncio.StreamWriter, take: MemoryObjectReceiveStream[SessionMessage]) -> None:
    with take, suppress(ConnectionError):
        async for message in take:
            stdin.write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await stdin.drain()


async def _listen(name: str, stderr: asyncio.StreamReader) -> None:
    """Log its standard error."""
    second, said, more = 0, 0, 0
    async for line in _lines(stderr, SAID_BYTES):
        if int(time.monotonic()) != second:
            if more:
                log.info("%s said %d more lines", name, more)
            second, said, more = int(time.monotonic()), 0, 0
        said += 1
        if said <= SAID_A_SECOND:
            log.info("%s says: %s", name, _shown(line))
        else:
            more += 1


def _shown(line: Line) -> str:
    return plain(line.data.decode(errors="replace"), SAID_BYTES)
