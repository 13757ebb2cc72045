"""The demo of the front: a model server that only writes text, and clients of three APIs that get calls from it.

It asks over real HTTP, checks every answer, and prints how to ask more.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w
from rich.console import Console

from tokenmill.config import load_config
from tokenmill.config.read import PREFIX
from tokenmill.demo.client import Client
from tokenmill.demo.embedded import Embedded, embedded, stay
from tokenmill.demo.gateway_streams import WHOLE, events_url
from tokenmill.demo.model_server import SAMPLES
from tokenmill.demo.pieces import Piece, Reader, Told, of_chat, of_messages, of_responses
from tokenmill.demo.tools import TOOLS
from tokenmill.errors import FatalError
from tokenmill.servers.process import Server, answer_of, deaths

TITLE = "tokenmill demo --front: the APIs of OpenAI and Anthropic before a model server that only writes text"

QUESTION = "What will the weather be like in Paris?"
RESULT = "21 degrees, no rain"
CALLS = [("get_weather", {"city": "Paris", "days": 3})]

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"

WATCHED_RATE = 50.0
"""Tokens per second, if somebody watches."""

BEHIND = 5
"""Number of the event of a response after which it is read again."""


class Turn(NamedTuple):
    """A request of one API, and the result that it must have."""

    about: str
    path: str
    body: dict[str, Any]
    read: Reader
    finish: str


def _functions() -> list[dict[str, Any]]:
    return [tool["function"] for tool in TOOLS]


USER = [{"role": "user", "content": QUESTION}]

TURNS = (
    Turn("chat completions", CHAT, {"model": "hermes", "messages": USER, "tools": TOOLS}, of_chat, "tool_calls"),
    Turn(
        "Responses",
        RESPONSES,
        {
            "model": "harmony",
            "input": QUESTION,
            "tools": [{"type": "function", **function} for function in _functions()],
        },
        of_responses,
        "completed",
    ),
    Turn(
        "Anthropic's Messages",
        MESSAGES,
        {
            "model": "deepseek_v3",
            "max_tokens": 1_000,
            "messages": USER,
            "tools": [
                {
                    "name": function["name"],
                    "description": function["description"],
                    "input_schema": function["parameters"],
                }
                for function in _functions()
            ],
        },
        of_messages,
        "tool_use",
    ),
)


class ModelServer(Server):
    """The demo's model server, as a process."""

    name = "the model server"

    def __init__(self, folder: Path, rate: float) -> None:
        super().__init__(folder)
        self._rate = rate

    @property
    def url(self) -> str:
        """Return the address."""
        return f"http://127.0.0.1:{self.port}"

    def command(self) -> Sequence[str]:
        """Return the command: its own module."""
        return [sys.executable, "-m", "tokenmill.demo.model_server", str(self.port), str(self._rate)]

    def surroundings(self) -> dict[str, Any]:
        """Run it in its own process group, as all parts of the front."""
        return {**super().surroundings(), "process_group": 0}

    def ready(self) -> bool:
        """Whether it lists its models."""
        return answer_of(f"{self.url}/v1/models") is not None


def run_front_demo(console: Console, *, keep: bool = False) -> None:
    """Run it all; if somebody watches, or with `keep`, stay until interrupted.

    Raises `FatalError` if an answer is not what it has to be, and `MissingServer` if something does not start.
    """
    watched = console.is_terminal
    with tempfile.TemporaryDirectory(prefix="tokenmill-demo-") as scratch:
        folder = Path(scratch)
        console.print(TITLE, style="bold", soft_wrap=True)
        with ModelServer(folder / "model", WATCHED_RATE if watched else 0) as model:
            console.print(f"  model    {model.url}, as vLLM without parsers")
            file = folder / "tokenmill.toml"
            file.write_text(tomli_w.dumps(_settings(model.url)))
            environ = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
            with embedded(load_config(file, {}), file, console, environ) as running:
                try:
                    asyncio.run(_play(console, running))
                except FatalError as problem:
                    raise FatalError(f"{problem}; {deaths(running.servers)}".rstrip("; ")) from problem
                console.print("\nEvery answer was what it has to be.")
                if keep or watched:
                    _say_how(console, running)
                    console.print("\nCtrl-C ends it.")
                    stay((*running.servers, model))


def _settings(url: str) -> dict[str, Any]:
    """Return free ports, and each model by the name of what it writes."""
    upstreams = [{"models": [name], "kind": "vllm", "urls": [url], "format": name} for name in SAMPLES]
    return {"front": {"port": 0}, "gateway": {"port": 0}, "upstreams": upstreams}


async def _play(console: Console, running: Embedded) -> None:
    async with Client(running.front_url) as client:
        for turn in TURNS:
            await _turn(console, client, turn, running)
        await _result(console, client)
        await _twice(console, client, running)


async def _turn(console: Console, client: Client, turn: Turn, running: Embedded) -> None:
    """Send one request, streamed, and check the answer."""
    _title(console, turn.about, f"POST {turn.path}, model {turn.body['model']}, which writes")
    console.print(SAMPLES[turn.body["model"]], style="dim", soft_wrap=True)
    console.print()
    told, payloads = await _shown(console, client, turn.path, turn.body, turn.read)
    if (told.reasoning.strip(), told.text.strip()) != ("I need the forecast.", "I'll look it up."):
        raise FatalError(f"POST {turn.path} told other text than the model wrote: {told}")
    if (told.made(), told.finish) != (CALLS, turn.finish):
        raise FatalError(f"POST {turn.path} told another call than the model made: {told}")
    if turn.path == RESPONSES:
        await _again(console, client, payloads, running)


async def _again(console: Console, client: Client, payloads: list[dict[str, Any]], running: Embedded) -> None:
    """Read a response again after one of its events, as a client that lost its connection does."""
    path = f"{RESPONSES}/{payloads[0]['response']['id']}?stream=true&starting_after={BEHIND}"
    if await client.events(running.front_url + path) != payloads[BEHIND + 1 :]:
        raise FatalError(f"GET {path}: not what came the first time")
    console.print(f"  again      behind event {BEHIND}, as after a cut: the same events, to the end")


async def _result(console: Console, client: Client) -> None:
    """Take the next turn: send the tool's answer to the model."""
    call = {"id": "call_1", "type": "function", "function": {"name": CALLS[0][0], "arguments": "{}"}}
    messages = [
        *USER,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": RESULT},
    ]
    _title(console, "the next turn", f"the tool has answered: {RESULT}")
    body = {"model": "hermes", "messages": messages, "tools": TOOLS}
    told, _ = await _shown(console, client, CHAT, body, of_chat)
    if RESULT not in told.text or told.finish != "stop":
        raise FatalError(f"the model did not use what the tool answered: {told}")


async def _twice(console: Console, client: Client, running: Embedded) -> None:
    """Show that one key is one answer, however often it is requested, and that the gateway has it."""
    _title(console, "the same request twice", "with an Idempotency-Key, and an X-Conversation-Id")
    headers = {"Idempotency-Key": "demo", "X-Conversation-Id": "lunch"}
    body = {"model": "hermes", "messages": USER, "tools": TOOLS}
    first, second = [await client.whole(CHAT, body, **headers) for _ in range(2)]
    if first != second:
        raise FatalError(f"two answers to one Idempotency-Key: {first} and {second}")
    console.print(f"  one answer {first['id']}", soft_wrap=True)
    events = await client.events(events_url(running.gateway_url, "lunch", WHOLE))
    made = [(event["name"], event["arguments"]) for event in events if event["type"] == "tool-call"]
    if made != CALLS:
        raise FatalError(f"the gateway served other calls of the conversation 'lunch': {made}")
    console.print(f"  gateway    {len(events)} events of it, read over HTTP")


async def _shown(
    console: Console, client: Client, path: str, body: dict[str, Any], read: Reader
) -> tuple[Told, list[dict[str, Any]]]:
    """Ask, and show the answer as it comes."""
    shown = ""

    def show(piece: Piece) -> None:
        nonlocal shown
        if piece.kind != shown:
            console.print("\n  " if shown else "  ", f"{piece.kind:<10} ", sep="", end="")
            shown = piece.kind
        console.print(piece.text.replace("\n", " "), end="", soft_wrap=True)

    answer = await client.stream(path, body, read, show)
    console.print()
    return answer


def _title(console: Console, name: str, about: str) -> None:
    console.print(f"\n── {name} ", style="bold", end="")
    console.print(about, soft_wrap=True)


def _say_how(console: Console, running: Embedded) -> None:
    """Print what to type next."""
    front, gateway = running.front_url, running.gateway_url
    for line in (
        "Ask more, as long as this runs:",
        "",
        f"curl {front}/v1/models",
        f"curl -N {front}{CHAT} -H 'content-type: application/json' -H 'x-conversation-id: dinner' \\",
        """  -d '{"model": "kimi_k2", "stream": true, "messages": [{"role": "user", "content": "hello"}]}'""",
        f"curl -N '{events_url(gateway, 'dinner', WHOLE)}'",
        "",
        "from openai import OpenAI",
        f'client = OpenAI(base_url="{front}/v1", api_key="none")',
        'messages = [{"role": "user", "content": "hello"}]',
        'print(client.chat.completions.create(model="hermes", messages=messages).choices[0].message)',
    ):
        console.print(line, soft_wrap=True)
