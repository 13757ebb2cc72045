"""Clients for Node run a tool loop of three turns through the front: the official SDKs, the AI SDK, LangChain."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from tests.support.judging import NODE, NODE_S, node
from tests.support.sdk_checks import check_direct, check_server, check_shown
from tests.support.sdk_direct import direct
from tests.support.sdk_loops import FUNCTIONS, MODELS, RESULTS, question
from tests.support.sdk_stack import SdkStack, sdk_stack

pytestmark = pytest.mark.integration

APIS = {
    "openai": ("chat", "responses"),
    "anthropic": ("messages",),
    "ai_sdk": ("chat", "responses", "open-responses"),
    "langchain": ("chat", "responses"),
}
"""Of each client, by its script."""

WAYS = {
    f"{client}, {api}, {way}": (client, api, way)
    for client, apis in APIS.items()
    for api in apis
    for way in ("streamed", "whole")
}

Played = Mapping[str, Any]
"""The turns of each model, or `error`."""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, kafka: str, redis_url: str) -> Iterator[SdkStack]:
    """A front, a worker and the model servers."""
    with sdk_stack(tmp_path_factory.mktemp("node"), kafka, redis_url) as stack:
        yield stack


@pytest.fixture(scope="module")
def library() -> Iterator[str]:
    """A server that has nothing but the library."""
    with direct() as url:
        yield url


@cache
def played(stack: SdkStack, library: str, client: str) -> Mapping[str, tuple[Played, Played]]:
    """What a client shows of all models, of the front and of the library, by the way in which it asks."""
    ways = [way for way, (name, _, _) in WAYS.items() if name == client]
    runs = [_run(url, way) for way in ways for url in (stack.url, library)]
    asked = json.dumps({"runs": runs, "functions": FUNCTIONS, "results": RESULTS})
    command = [node(), str(NODE / f"front_{client}.mjs")]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=NODE_S, check=False)
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    return dict(zip(ways, zip(shown[::2], shown[1::2], strict=True), strict=True))


def _run(url: str, way: str) -> dict[str, Any]:
    _, api, how = WAYS[way]
    return {"url": url, "api": api, "way": how, "questions": {name: question(f"{way}, {name}") for name in MODELS}}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("way", WAYS)
def test_a_tool_loop_ends_as_with_the_library(stack: SdkStack, library: str, way: str, model: str) -> None:
    """Three turns, one generation each: what the client shows is what the library makes of the same text."""
    client, api, _ = WAYS[way]
    ours, theirs = played(stack, library, client)[way]
    turns = ours[model]
    assert "error" not in turns, turns
    check_shown(turns, MODELS[model], "ai" if client == "ai_sdk" else api)
    check_direct(turns, theirs[model], MODELS[model])
    check_server(stack, model, question(f"{way}, {model}"), turns)
