"""Renders prompts by models' own chat templates, in a separate process for each template, and within a time limit.

1. A template is a program by somebody else (see `templates.sandbox`). If one takes too long or too much memory, its
   process is killed, and the next prompt gets a new one.
2. A process renders one prompt at a time. Some templates take a time that grows with the square of the history's
   length, so a long history can take seconds. It delays prompts of the same template, for as long as these may wait.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tokenmill.apis.ask import Json
from tokenmill.errors import ConfigError
from tokenmill.limits import MIB
from tokenmill.templates.rendering import CannotRender, Rendering, Template, read_template

RENDER_S = 5.0
"""Seconds for one prompt: a long history takes some tens of milliseconds."""

START_S = 30.0
"""Seconds for a new process: it takes half a second, but many times that where all processors are busy."""

LINE_BYTES = 64 * MIB
"""Bytes that a prompt may have as JSON."""

T = TypeVar("T")


class NoTurn(Exception):
    """Other prompts of the same template took all of the time that this one could wait. It may be tried again later."""


class Renderer:
    """Renders prompts, in processes that are started when they are needed."""

    def __init__(self, render_s: float = RENDER_S) -> None:
        self._render_s = render_s
        self._processes = dict[str, _RenderingProcess]()
        """Processes by the text of their templates."""

    async def render(
        self, template: Template, messages: list[Json], tools: list[Json], further: Json, wait_s: float | None = None
    ) -> str:
        """Return the prompt for an answer to these messages. `further` are more variables for the template.

        Raises `CannotRender`, `NoTurn` if other prompts take all of the `wait_s` seconds (None: it waits for ever), and
        `OSError` if no process can be started.
        """
        conversation = {
            **template.variables,
            **further,
            "messages": messages,
            "tools": tools or None,
            "add_generation_prompt": True,
        }
        request = {"template": template.text, "conversations": [conversation], "time": time.time()}
        process = self._processes.setdefault(template.text, _RenderingProcess(self._render_s))
        answer = await process.rendered(request, wait_s)
        if answer.text is None:
            raise CannotRender(f"the chat template does not render: {answer.problem}")
        return template.without_bos(answer.text)

    async def close(self) -> None:
        """End the processes."""
        for process in self._processes.values():
            await process.close()


class _RenderingProcess:
    """A process that renders one prompt at a time, in the order of the requests."""

    def __init__(self, render_s: float) -> None:
        self._render_s = render_s
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    async def rendered(self, request: dict[str, Any], wait_s: float | None) -> Rendering:
        """Wait for the request's turn, and return its rendering. Raises `CannotRender`, `NoTurn` and `OSError`."""
        try:
            async with asyncio.timeout(wait_s):
                await self._turn.acquire()
        except TimeoutError:
            raise NoTurn from None
        try:
            process = await _within(START_S, self._started(), "the process of the chat template did not start")
            return await _within(self._render_s, _rendered(process, request), "the chat template did not end")
        except BaseException:
            await self.close()  # the process may still write its answer, which the next request would read
            raise
        finally:
            self._turn.release()

    async def _started(self) -> asyncio.subprocess.Process:
        """Return the process, and start one if none is running. Raises `CannotRender` and `OSError`."""
        process = self._process
        if process is None or process.returncode is not None:
            process = self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "tokenmill.templates.sandbox",
                "--serve",
                str(2 * self._render_s),  # its own limit, in case this process is gone and can't apply ours
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=LINE_BYTES,
            )
            assert process.stdout is not None  # noqa: S101 -- it is a pipe
            if not await process.stdout.readline():  # it is ready
                raise CannotRender("the process of the chat template ended at its start")
        return process

    async def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _within(seconds: float, work: Awaitable[T], otherwise: str) -> T:
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        raise CannotRender(f"{otherwise} within {seconds:g} s") from None


async def _rendered(process: asyncio.subprocess.Process, request: dict[str, Any]) -> Rendering:
    assert process.stdin is not None  # noqa: S101 -- it is a pipe
    assert process.stdout is not None  # noqa: S101 -- it is a pipe
    try:
        process.stdin.write(msgspec.json.encode(request) + b"\n")
        await process.stdin.drain()
        line = await process.stdout.readline()
    except (OSError, ValueError) as problem:
        raise CannotRender("the chat template took too much memory, or rendered too long a prompt") from problem
    if not line:
        raise CannotRender("the chat template took too much memory")
    try:
        return msgspec.convert(msgspec.json.decode(line)[0], Rendering)
    except msgspec.DecodeError as problem:  # half of a surrogate pair
        raise CannotRender("the chat template rendered a prompt that is not valid Unicode") from problem


def template_of(place: str, file: str, tokens: dict[str, str]) -> Template:
    """Return the template in a file. `tokens` override those of the file. Raises `ConfigError`, which names the
    setting.

    `place` is the upstream's place in the configuration.
    """
    if find_spec("jinja2") is None:
        raise ConfigError([f"{place}.template_file: templates need Jinja2: pip install 'tokenmill[templates]'"])
    try:
        found = read_template(Path(file))
    except CannotRender as problem:
        raise ConfigError([f"{place}.template_file: {problem}"]) from problem
    template = Template(found.text, found.tokens | tokens)
    if template.lacks_eos:
        what = f"{file} writes the model's eos_token; set it here, or name a tokenizer_config.json that has both"
        raise ConfigError([f"{place}.template_tokens: {what}"])
    return template
