"""One model server as a process, which outlives whatever a test kills.

Run as `python -m tests.support.model_servers NAME --port PORT --ledger FILE [--scripts FILE]`. The last user's message
`say:KEY` picks a script from the file, a JSON object of scripts by key; any other one is said again. Settings of the
server are `--set NAME=JSON`. The ledger has a line when a generation begins, and one when it ends.
"""

import argparse
import asyncio
import re
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from tests.support.model_servers.anthropic import Anthropic
from tests.support.model_servers.llama_cpp import LlamaCpp
from tests.support.model_servers.ollama import Ollama
from tests.support.model_servers.openai_like import OpenAiLike
from tests.support.model_servers.serving import FakeModelServer, Generation
from tests.support.model_servers.sglang import Sglang
from tests.support.model_servers.speech import Script
from tests.support.model_servers.vllm import Vllm
from tests.support.model_servers.wire import Body

SERVERS: Mapping[str, type[FakeModelServer]] = {
    "anthropic": Anthropic,
    "llama-cpp": LlamaCpp,
    "ollama": Ollama,
    "openai-like": OpenAiLike,
    "sglang": Sglang,
    "vllm": Vllm,
}


def last_words(body: Body) -> str:
    """What the user said last, or the prompt if there are no messages."""
    for message in reversed(body.get("messages") or ()):
        if message.get("role") == "user":
            content = message.get("content") or ""
            parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
            return "".join(parts)
    return str(body.get("prompt") or "")


def key_of(body: Body) -> str:
    """The key of the script that is asked for."""
    keys = re.findall(r"say:([\w.-]+)", last_words(body))
    return keys[-1] if keys else ""


class Ledger:
    """Lines of what began and ended, each written at once."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)
        self._run = time.time_ns()

    def watch(self, generation: Generation, what: Literal["begin", "end"]) -> None:
        """Write it down."""
        line: dict[str, Any] = {"what": what, "id": f"{self._run}-{generation.number}", "key": key_of(generation.body)}
        line |= {"path": generation.path, "time": time.time(), "tokens_sent": generation.tokens_sent}
        self._file.write(msgspec.json.encode(line | {"closed_early": generation.closed_early}) + b"\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.support.model_servers")
    parser.add_argument("name", choices=SERVERS)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--ledger", type=Path, required=True)
    parser.add_argument("--scripts", type=Path)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=JSON")
    return parser.parse_args()


async def _serve(arguments: argparse.Namespace) -> None:
    scripts = dict[str, Script]()
    if arguments.scripts:
        scripts = msgspec.json.decode(arguments.scripts.read_bytes(), type=dict[str, Script])
    pairs = (pair.split("=", 1) for pair in arguments.set)
    settings: dict[str, Any] = {name: msgspec.json.decode(value) for name, value in pairs}

    def answer(body: Body) -> Script:
        return scripts.get(key_of(body)) or Script(last_words(body))

    over = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    ledger = Ledger(arguments.ledger)
    async with SERVERS[arguments.name](answer, port=arguments.port, watch=ledger.watch, **settings) as server:
        print(server.url, flush=True)  # noqa: T201 -- the test that starts it waits for this line
        await over.wait()


if __name__ == "__main__":
    asyncio.run(_serve(_arguments()))
