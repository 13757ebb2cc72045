"""Servers of raw text that parse it although they should not: the log names their flags, and a metric counts."""

import logging
from typing import Any

import pytest

from tests.support.answering import desk
from tests.support.calling import TOOL, chat
from tests.support.model_servers.openai_like import OpenAiLike
from tests.support.model_servers.speech import Call, Script
from tests.support.model_servers.vllm import Vllm
from tokenmill.caller import server_parsers as module
from tokenmill.caller.server_parsers import SILENT_TOKENS, WARNINGS, ServerParsers, Watched
from tokenmill.codecs import Chunk
from tokenmill.observe.caller_table import Sign

CALL = '<tool_call>{"name": "now", "arguments": {"zone": "CET"}}</tool_call>'


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == module.__name__]


@pytest.mark.parametrize(
    ("flags", "text", "sign", "flag"),
    [
        ({"auto_tools": True}, CALL, "nothing", "--enable-auto-tool-choice"),
        ({"think": ("<think>", "</think>")}, "<think>Hm</think>Hello", "reasoning", "--reasoning-parser"),
    ],
)
async def test_the_flag_of_a_server_is_named_once(
    flags: dict[str, Any], text: str, sign: Sign, flag: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Each answer counts: nothing else shows that calls are missing."""
    async with Vllm(lambda _: Script(text), **flags) as server, desk("vllm", server.url) as at:
        for number in range(2):
            _, outcome = await at.run(chat(tools=[TOOL]), message_id=f"m{number}")
            assert outcome == "finished"
        assert at.resources.models["m"].parsers.answers == {sign: 2}
    (line,) = said(caplog)
    assert line.startswith("the model server of m ")
    assert flag in line


@pytest.mark.parametrize("text", ["Hello", CALL, "<think>Hm</think>", ""])
async def test_a_server_that_leaves_the_text_alone_shows_no_sign(text: str, caplog: pytest.LogCaptureFixture) -> None:
    """Nor does a model that has nothing to say."""
    async with Vllm(lambda _: Script(text)) as server, desk("vllm", server.url) as at:
        await at.run(chat(tools=[TOOL]))
        assert at.resources.models["m"].parsers.answers == {}
    assert said(caplog) == []


async def test_a_server_that_is_asked_to_parse_may() -> None:
    """Its calls and its reasoning are passed on."""
    script = Script("", reasoning="Hm", calls=[Call("now", "{}")])
    async with OpenAiLike(lambda _: script) as server, desk("openai", server.url, format="") as at:
        await at.run(chat(tools=[TOOL]))
        assert at.resources.models["m"].parsers.answers == {}


class Taker:
    """Takes chunks."""

    pause_s = 0.25

    def __init__(self) -> None:
        self.taken: list[Chunk] = []

    async def put(self, chunk: Chunk) -> None:
        self.taken.append(chunk)


@pytest.mark.parametrize(
    ("chunks", "signs", "choices"),
    [
        ([Chunk(tool_calls=[{"index": 0}]), Chunk(tool_calls=[{"index": 0}])], ["calls"], 1),
        ([Chunk(reasoning="Hm"), Chunk(tool_calls=[{"index": 0}])], ["reasoning", "calls"], 1),
        ([Chunk(usage={"completion_tokens": SILENT_TOKENS})], [], 1),
        ([Chunk(usage={"completion_tokens": SILENT_TOKENS + 1})], ["nothing"], 1),
        ([Chunk(usage={"completion_tokens": SILENT_TOKENS * 3})], [], 3),
        ([Chunk(usage={"completion_tokens": SILENT_TOKENS * 3 + 1})], ["nothing"], 3),
        ([Chunk(reasoning="Hm"), Chunk(usage={"completion_tokens": 99})], ["reasoning"], 1),
        ([Chunk(delta="Hi"), Chunk(usage={"completion_tokens": 99})], [], 1),
    ],
)
async def test_signs_are_found_in_chunks(chunks: list[Chunk], signs: list[str], choices: int) -> None:
    """Each once in an answer; the chunks are passed on as they are. The tokens are those of all choices."""
    taker, found = Taker(), list[str]()
    watched = Watched(taker, found.append, choices)
    for chunk in chunks:
        await watched.put(chunk)
    watched.over()
    assert (found, taker.taken, watched.pause_s) == (signs, chunks, 0.25)


def test_every_sign_is_counted_and_explained(caplog: pytest.LogCaptureFixture) -> None:
    """By its own words, once for an upstream."""
    caplog.set_level(logging.WARNING)
    parsers = ServerParsers("m")
    for sign in (*WARNINGS, *WARNINGS):
        parsers.saw(sign)
    assert parsers.answers == dict.fromkeys(WARNINGS, 2)
    assert said(caplog) == [f"the model server of m {words}" for words in WARNINGS.values()]
