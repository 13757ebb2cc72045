"""From a model's text to a tool's effect and back: a worker that finds calls, a runner that makes them, a real server.

What the interceptor of gamecode-mcp2 promises of running tools is here as cases, too.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
import pytest_asyncio

from tests.structure.tree import CHECKOUT
from tests.support.stage import Stage, until
from tests.support.tool_calls import runner_settings, weather
from tests.support.topics import read_topic
from tokenmill.events import Finish, ToolResult, decode_event
from tokenmill.limits import KIB
from tokenmill.servers.tools import ToolsProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

SLOW_S = float(os.environ.get("TOKENMILL_SLOW_TOOL_S", "8"))
"""How long a slow tool takes: several sessions of the group."""

ODD = {"command": sys.executable, "args": ["-m", "tests.support.odd_server"], "cwd": str(CHECKOUT)}


class Scene(NamedTuple):
    """A worker's topics, and a runner of what it finds."""

    stage: Stage
    runner: ToolsProcess


class Answers:
    """Answers of a model as they are written, and what their tools did: those of one test, whose name they end with."""

    def __init__(self, scene: Scene, unique: str, folder: Path) -> None:
        self.stage, self.runner = scene
        self._end = f"-{unique}"
        self.ledger = folder / "ledger"
        self._written: dict[str, int] = {}

    def call(self, words: str, tool: str = "weather__note", **more: Any) -> str:
        """The text of a call that leaves words in the ledger."""
        params = {"words": words, "ledger": str(self.ledger), **more}
        return json.dumps({"tool": tool, "params": params})

    async def write(self, conversation: str, *pieces: str, finish: bool = False) -> None:
        """More of an answer."""
        for piece in pieces:
            await self._chunk(conversation, {"delta": piece})
        if finish:
            await self._chunk(conversation, {"finish_reason": "stop"})

    async def cancel(self, conversation: str) -> None:
        """Nobody wants the answer any more."""
        await self._chunk(conversation, {"control": "cancel"})

    async def _chunk(self, conversation: str, fields: dict[str, Any]) -> None:
        seq = self._written[conversation] = self._written.get(conversation, -1) + 1
        opening = {"open": {"format": "bare_json"}} if not seq else {}
        await self.stage.send(conversation + self._end, {"message_id": "m", "seq": seq, **opening, **fields})

    async def finished(self, conversation: str) -> bool:
        """Whether its end can be read."""
        records = await read_topic(self.stage.bootstrap, self.stage.topics.events)
        events = [
            decode_event(record.value) for record in records if record.key == f"{conversation}{self._end}".encode()
        ]
        return any(isinstance(event, Finish) for event in events)

    async def results(self) -> dict[str, list[ToolResult]]:
        """What came of calls, by conversation."""
        found: dict[str, list[ToolResult]] = {}
        for record in await read_topic(self.stage.bootstrap, self.stage.topics.tool_results):
            event = decode_event(record.value)
            if isinstance(event, ToolResult) and event.conversation_id.endswith(self._end):
                found.setdefault(event.conversation_id.removesuffix(self._end), []).append(event)
        return found

    def did(self, line: str) -> bool:
        """Whether a tool wrote this."""
        return line in self.effects()

    def effects(self) -> list[str]:
        """What tools did, in order."""
        return self.ledger.read_text().splitlines() if self.ledger.exists() else []


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(kafka: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    """For all tests: a worker, a runner and its servers start for longer than most calls take."""
    folder, unique = tmp_path_factory.mktemp("scene"), uuid4().hex[:8]
    async with Stage(folder, kafka, unique, redis_url, partitions=2) as stage:
        settings = await runner_settings(stage, unique, calls_per_answer=10_000, call_s=60 + 2 * SLOW_S)
        await stage.start()
        with ToolsProcess(folder / "tools", settings, {"weather": weather(), "odd": ODD}) as runner:
            yield Scene(stage, runner)


@pytest.fixture
def answers(scene: Scene, unique: str, tmp_path: Path) -> Answers:
    """Of the test."""
    return Answers(scene, unique, tmp_path)


async def test_a_call_is_answered_while_the_text_goes_on(answers: Answers) -> None:
    """Its result can be read before the answer has ended, or the next word was written."""
    await answers.write("c", "Let me look. ", answers.call("look"))
    (result,) = (await until(answers.results, "the result"))["c"]
    assert result.result["structuredContent"] == {"result": "look"}
    assert answers.effects() == ["begin look", "end look"]
    assert not await answers.finished("c")
    await answers.write("c", " Meanwhile", " I write on.", finish=True)
    await until(lambda: answers.finished("c"), "the end")
    assert len((await answers.results())["c"]) == 1


async def test_a_cancelled_answer_takes_its_calls_with_it(answers: Answers) -> None:
    """The server is told; so is whoever waits for the result."""
    params = {"seconds": 100, "ledger": str(answers.ledger)}
    await answers.write("c", json.dumps({"tool": "weather__wait", "params": params}), " Let me wait")
    begun = answers.ledger.with_name(f"{answers.ledger.name}.begun")
    await until(begun.exists, "the tool is at work")  # the server has it: what is only on its way there is never begun
    await answers.cancel("c")
    (result,) = (await until(answers.results, "the result"))["c"]
    assert result.code == "cancelled"
    await until(lambda: answers.effects() == ["cancelled"], "the server was told")


def promised(answers: Answers) -> dict[str, tuple[list[str], list[str]]]:
    """Names, the pieces of an answer, and the words of the calls that are to be made."""
    call = answers.call
    split = call("split")
    return {
        "in pieces": (["I'll use ", *(split[at : at + 9] for at in range(0, len(split), 9)), " to help."], ["split"]),
        "in one piece": ([call("one")], ["one"]),
        "in two pieces": ([call("two")[:40], call("two")[40:]], ["two"]),
        "inside a sentence": ([f"I'd take this: {call('inside')} to check."], ["inside"]),
        "two of them": ([f"{call('first')}\n{call('second')}"], ["first", "second"]),
        "braces in strings": ([call("braces", ledger=str(answers.ledger), seconds=0), " }}{ "], ["braces"]),
        "other keys": ([call("keys")[:-1] + ', "id": 3}'], ["keys"]),
        "a dozen and one": ([call(f"many{number}") + "\n" for number in range(13)], [f"many{n}" for n in range(13)]),
        "prose": (["The JSON format ", "{ key: value }", " is common.\n{not json"], []),
        "no params": (['{"tool": ', '"weather__note"', "}"], []),
        "single quotes": (["{'tool': 'weather__note', 'params': {}}"], []),
        "no name": (['{"tool": 3, "params": {}}'], []),
        "another object": (['{"a": 1}\n'], []),
        "cut off": ([call("cut")[:-5]], []),
    }


async def test_calls_in_prose_are_made_and_nothing_else(answers: Answers) -> None:
    """However the text comes; an incomplete call is never made, and many of one answer do not hold each other up."""
    cases = promised(answers)
    for name, (pieces, _) in cases.items():
        await answers.write(name, *pieces, finish=True)
    await until(answers.stage.at_rest, "all is parsed")
    wanted = sorted(word for _, words in cases.values() for word in words)
    await until(lambda: len(answers.effects()) >= 2 * len(wanted), "all tools ran")
    assert sorted(line.removeprefix("begin ") for line in answers.effects() if line.startswith("begin")) == wanted
    made = {name: len(words) for name, (_, words) in cases.items() if words}
    await until(lambda: _counts(answers, made), "all have results")


async def _counts(answers: Answers, wanted: dict[str, int]) -> bool:
    return {conversation: len(results) for conversation, results in (await answers.results()).items()} == wanted


async def test_params_may_be_any_value(answers: Answers) -> None:
    """None is no arguments; what is no object is the argument `params`."""
    await answers.write("none", '{"tool": "weather__learn", "params": null}', finish=True)
    await answers.write("list", '{"tool": "weather__take", "params": [1, 2]}', finish=True)
    results = await until(lambda: _all(answers, "none", "list"), "both results")
    assert results["none"][0].result["structuredContent"] == {"result": "learned"}
    assert results["list"][0].result["structuredContent"] == {"result": 3}


async def _all(answers: Answers, *conversations: str) -> dict[str, list[ToolResult]] | None:
    results = await answers.results()
    return results if results.keys() >= set(conversations) else None


async def test_a_slow_tool_is_nobody_elses_business(answers: Answers) -> None:
    """Others of its conversation, its partition and its server are answered, and the group has no reason to act."""
    await answers.write("slow", answers.call("slow", seconds=SLOW_S))
    await until(partial(answers.did, "begin slow"), "it runs")
    number = 0
    while not answers.did("end slow"):
        number += 1
        await answers.write("slow", answers.call(f"quick{number}"))
        await until(partial(answers.did, f"end quick{number}"), "another one is done")
        await asyncio.sleep(min(1, SLOW_S / 20))
    assert number > 3
    await until(lambda: _counts(answers, {"slow": number + 1}), "all have results")
    assert answers.runner.log.read_text().count("partitions are ours") == 1


async def test_a_bad_call_has_an_answer_and_the_next_one_too(answers: Answers) -> None:
    """A tool that is not there, arguments that do not fit, a server of nobody, a result without an end."""
    bad = {
        "unknown-tool": '{"tool": "weather__dance", "params": {}}',
        "nobody": '{"tool": "theatre__dance", "params": {}}',
        "schema-mismatch": '{"tool": "weather__forecast", "params": {"days": "many"}}',
        "protocol": json.dumps({"tool": "odd__huge", "params": {"size": 100 * KIB * KIB}}),
    }
    for name, text in bad.items():
        await answers.write("c", text + "\n", f"and {name}\n")
    await answers.write("c", answers.call("good"), finish=True)
    await until(lambda: _counts(answers, {"c": len(bad) + 1}), "all have results")
    results = (await answers.results())["c"]
    codes = sorted(str(result.code) for result in results if result.code)
    assert codes == ["protocol", "schema-mismatch", "unknown-tool", "unknown-tool"]
    assert [str(result.error) for result in results if result.code == "protocol"] == [
        "the answer is longer than 8388608 bytes"
    ]
    assert answers.effects() == ["begin good", "end good"]
