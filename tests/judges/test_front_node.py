"""Clients for Node before the front: the official SDKs, the AI SDK and LangChain run tool loops, and tell of errors."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import product
from typing import Any

import pytest

from tests.support.judging import NODE, NODE_S, node
from tests.support.sdk_checks import check_direct, check_server, check_shown
from tests.support.sdk_cuts import cutting
from tests.support.sdk_direct import direct
from tests.support.sdk_loops import FUNCTIONS, MODELS, RESULTS, question
from tests.support.sdk_stack import WORDS, SdkStack, sdk_stack

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


def played(stack: SdkStack, library: str, client: str) -> Mapping[str, tuple[Played, Played]]:
    """What a client shows of all models, of the front and of the library, by the way in which it asks."""
    ways = [way for way, (name, _, _) in WAYS.items() if name == client]
    runs = [_run(url, way) for way in ways for url in (stack.url, library)]
    shown = printed(f"front_{client}.mjs", {"runs": runs, "functions": FUNCTIONS, "results": RESULTS})
    return dict(zip(ways, zip(shown[::2], shown[1::2], strict=True), strict=True))


@contextmanager
def about(*what: object) -> Iterator[None]:
    """Whatever fails here says of what."""
    try:
        yield
    except Exception as problem:
        problem.add_note(", ".join(map(str, what)))
        raise


def printed(script: str, asked: Any) -> Any:
    """What a script makes of what it is asked."""
    command, words = [node(), str(NODE / script)], json.dumps(asked)
    done = subprocess.run(command, input=words, capture_output=True, text=True, timeout=NODE_S, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _run(url: str, way: str) -> dict[str, Any]:
    _, api, how = WAYS[way]
    return {"url": url, "api": api, "way": how, "questions": {name: question(f"{way}, {name}") for name in MODELS}}


@pytest.mark.parametrize("client", APIS)
def test_tool_loops_end_as_with_the_library(stack: SdkStack, library: str, client: str) -> None:
    """Three turns, one generation each, in all ways and formats: what is shown is what the library makes of them."""
    for way, (ours, theirs) in played(stack, library, client).items():
        for model, turns in ours.items():
            with about(way, model, turns):
                assert "error" not in turns
                check_shown(turns, MODELS[model], "ai" if client == "ai_sdk" else WAYS[way][1])
                check_direct(turns, theirs[model], MODELS[model])
                check_server(stack, model, question(f"{way}, {model}"), turns)


LOST, UNAVAILABLE = 502, 503

BAD_FIELDS = {"chat": {"logprobs": True}, "responses": {"previous_response_id": "r"}, "messages": {"container": "c"}}

CLIENTS = ["openai, chat", "openai, responses", "anthropic, messages", "ai_sdk, chat", "ai_sdk, responses"]
CLIENTS += ["langchain, chat"]

CASES = {
    "a wrong model": ("nope", "Hello", "NotFoundError", 404, "there is no model 'nope'; known are "),
    "a bad field": ("hermes", "Hello", "BadRequestError", 400, " is not supported: "),
    "refused with 400": ("hermes", "refuse 400", "BadRequestError", 400, "refused by its script"),
    "refused with 429": ("kimi_k2", "refuse 429", "RateLimitError", 429, "refused by its script"),
    "refused with 500": ("glm_kv", "refuse 500", "InternalServerError", 500, "refused by its script"),
    "refused with 503": ("mistral_json", "refuse 503", "InternalServerError", 503, "refused by its script"),
    "broken off": ("mistral_args", "drop", "InternalServerError", 502, "the connection to the model's server was lost"),
    "a sound answer": ("hermes", "Hello", "", None, ""),
    "a sound one of another": ("glm_kv", "Hello", "", None, ""),
    "a sound one of a third": ("mistral_json", "Hello", "", None, ""),
    "a sound one of a fourth": ("mistral_args", "Hello", "", None, ""),
}
"""Model, words, and what comes of them: the exception's name, its status, what it says. Servers that fail too often are
left alone, so each answers in between."""


def _asked(stack: SdkStack, client: str, case: str, *, stream: bool) -> dict[str, Any]:
    model, words, *_ = CASES[case]
    fields = BAD_FIELDS[client.split(", ")[1]] if case == "a bad field" else {}
    asked = {"client": client, "url": stack.url, "model": model, "words": f"{words} ({client}, {stream})"}
    return asked | {"stream": stream, "retries": 0, "fields": fields}


def _name(name: str, client: str, *, stream: bool, status: int | None) -> tuple[str, int | None]:
    """How a client calls an error: each has its own words for those in a stream."""
    if status == LOST and stream:
        mid = {"openai, responses": "Error", "ai_sdk, chat": "Object", "ai_sdk, responses": "Object"}
        return mid.get(client, "APIError"), 500 if client == "ai_sdk, responses" else None
    if client.startswith("ai_sdk"):
        return "APICallError", status
    return ("ServiceUnavailableError" if "anthropic" in client and status == UNAVAILABLE else name), status


@pytest.mark.parametrize("client", CLIENTS)
def test_errors_are_of_the_clients_own_classes(stack: SdkStack, client: str) -> None:
    """Streamed or not, with the status and the words that there are; sound answers come in between."""
    cases = list(product((True, False), CASES))
    answers = printed("front_errors.mjs", [_asked(stack, client, case, stream=stream) for stream, case in cases])
    for (stream, case), answer in zip(cases, answers, strict=True):
        with about(case, stream, answer):
            _, _, name, status, message = CASES[case]
            if not name or (case == "a bad field" and client.startswith("ai_sdk")):  # it sends none of these
                assert answer == {"text": WORDS}
                continue
            assert (answer["name"], answer["status"]) == _name(name, client, stream=stream, status=status)
            assert message in answer["message"]


def test_retries_of_sdks_are_the_same_request(stack: SdkStack) -> None:
    """The connection is cut when the answer begins; the SDK tries again by itself, and the model generates once."""
    with ExitStack() as opened:
        asked, proxies = [], []
        for client, stream in product(CLIENTS[:3], (True, False)):
            proxy = opened.enter_context(cutting(stack.front.port, shown=0 if stream else 150))
            proxies.append(proxy)
            words = {"words": f"Hello again ({client}, {stream})"}
            asked.append(_asked(stack, client, "a sound answer", stream=stream) | words)
            asked[-1] |= {"url": proxy.url, "retries": 2}
        assert printed("front_errors.mjs", asked) == [{"text": WORDS}] * len(asked)
        assert [proxy.requests for proxy in proxies] == [2] * len(asked)
    assert [len(stack.generations("hermes", each["words"])) for each in asked] == [1] * len(asked)
