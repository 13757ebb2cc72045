"""A front with its caller, a worker, and a model server of its own for each model of the loops."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar
from uuid import uuid4

from tests.support.model_servers.llama_cpp import LlamaCpp
from tests.support.model_servers.ollama import Ollama
from tests.support.model_servers.serving import FakeModelServer, Generation
from tests.support.model_servers.sglang import Sglang
from tests.support.model_servers.speech import Script
from tests.support.model_servers.vllm import Vllm
from tests.support.model_servers.wire import Body, prompt_tokens
from tests.support.sdk_loops import MODELS, Model, turn_of
from tokenmill.config import Config, Kafka, Topics
from tokenmill.formats import find_format
from tokenmill.formats.history import format_call
from tokenmill.kafka.topics import create_topics
from tokenmill.servers.front import FrontProcess
from tokenmill.servers.worker import WorkerProcess

T = TypeVar("T")

START_S = 60.0

WORDS = "Hello there, friend."
"""What is answered to anything else."""

PLACE = {"location": "Paris"}
"""The arguments of a call of any other tool."""

TEXT = '*** Begin Patch\n+ say("é \\n 🌧") if a < b\n*** End Patch'
"""What a tool of this name gets that takes a text: `TEXT_TOOL`."""

TEXT_TOOL = "patch"

TEMPLATE = '{"messages": {{ messages | tojson }}, "tools": {{ tools | tojson }}}'
"""A chat template whose prompt shows all that it was given."""


def asked_of(body: Body) -> dict[str, Any]:
    """Messages and tools as the model sees them, and what its answer begins with: of either kind of body.

    They are in messages, or in a prompt of `TEMPLATE`.
    """
    if "messages" not in body:
        shown, end = json.JSONDecoder().raw_decode(body["prompt"])
        return {**shown, "tools": shown["tools"] or [], "begun": body["prompt"][end:]}
    messages, begun = body["messages"], ""
    if body.get("continue_final_message"):
        *messages, last = messages
        begun = last["content"]
    return {"messages": messages, "tools": body.get("tools") or [], "begun": begun}


def _prompt(body: Body) -> str:
    return json.dumps({"messages": body["messages"], "tools": body.get("tools") or []}, ensure_ascii=False)


def last_words(messages: Sequence[Mapping[str, Any]]) -> str:
    """What the user said last, images left out."""
    content = next(message["content"] for message in reversed(messages) if message["role"] == "user")
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def answering(model: Model) -> Callable[[Body], Script]:
    """What a model says: the loop, `refuse STATUS`, `drop`, a call of the only tool, or a few words."""

    def answer(body: Body) -> Script:
        shown = asked_of(body)
        words, tools = last_words(shown["messages"]), shown["tools"]
        if words.startswith("refuse"):
            return Script("", fail="refuse", status=int(words.split()[1]), retry_after=1)
        if words.startswith("drop"):
            return Script(WORDS, fail="drop", after=3)
        if words.startswith("Plan"):
            return Script(model.raw(turn_of(shown["messages"])), cut=7)
        if tools and not turn_of(shown["messages"]):
            name = tools[0]["function"]["name"]
            call = format_call(find_format(model.format), name, {"input": TEXT} if name == TEXT_TOOL else PLACE)
            return Script(call.removeprefix(shown["begun"]))
        return Script(WORDS)

    return answer


def _server(model: Model) -> FakeModelServer:
    answer = answering(model)
    settings: dict[str, Any] = {"model": f"org/{model.format}", "special": model.markers}
    if model.kind == "llama.cpp":
        return LlamaCpp(answer, template=_prompt, **settings)
    if model.kind == "ollama":
        return Ollama(answer, template=_prompt, **settings)
    return Sglang(answer, **settings) if model.kind == "sglang" else Vllm(answer, **settings)


class SdkStack:
    """The front's address, and the servers behind it by the names of their models."""

    def __init__(self, front: FrontProcess, servers: Mapping[str, FakeModelServer]) -> None:
        self.front = front
        self.servers = servers

    @property
    def url(self) -> str:
        return self.front.url

    def generations(self, model: str, words: str) -> list[Generation]:
        """Those whose conversation has these words of the user in it."""
        found = self.servers[model].generations
        return [each for each in found if words in json.dumps(each.body, ensure_ascii=False)]


def usage_of(generation: Generation) -> tuple[int, int]:
    """What the server counted."""
    return prompt_tokens(generation.body), generation.tokens_sent + 1


def _upstream(model: Model, server: FakeModelServer, template: Path) -> dict[str, Any]:
    upstream = {"models": [model.format], "kind": model.kind, "urls": [server.url], "model": server.model}
    further = {"template_file": str(template)} if model.kind == "completions" else {}
    return upstream | further | {"format": model.format, "tries": 1}


class _Loop:
    """An event loop in a thread: the servers answer while tests, which block, wait for them."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def run(self, work: Awaitable[T]) -> T:
        return asyncio.run_coroutine_threadsafe(_awaited(work), self._loop).result(START_S)

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _awaited(work: Awaitable[T]) -> T:
    return await work


@contextmanager
def sdk_stack(folder: Path, kafka: str, redis_url: str) -> Iterator[SdkStack]:
    """All of it, on topics of its own."""
    unique = uuid4().hex[:8]
    topics = {name: f"{name}-{unique}" for name in ("tokens", "events", "tool_calls", "requests", "dlq")}
    config = Config(kafka=Kafka(bootstrap_servers=kafka), topics=Topics(**topics))
    template = folder / "template.jinja"
    template.write_text(TEMPLATE)
    with ExitStack() as stack:
        loop = stack.enter_context(_Loop())
        loop.run(create_topics(config, 2))
        open_ = AsyncExitStack()
        stack.callback(lambda: loop.run(open_.aclose()))
        servers = {name: loop.run(open_.enter_async_context(_server(model))) for name, model in MODELS.items()}
        settings: dict[str, Any] = {
            "kafka": {"bootstrap_servers": kafka, "group_id": f"group-{unique}"},
            "redis": {"url": redis_url, "key_prefix": unique},
            "topics": topics,
        }
        front = settings | {
            "caller": {"group_id": f"callers-{unique}"},
            "upstreams": [_upstream(MODELS[name], server, template) for name, server in servers.items()],
        }
        stack.enter_context(WorkerProcess(folder / "worker", settings))
        yield SdkStack(stack.enter_context(FrontProcess(folder / "front", front)), servers)
