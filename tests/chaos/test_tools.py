"""Runners of tools that are killed, stopped and frozen while they run calls, and servers that are killed under them.

The oracle is the tools' own ledger. Every call is answered once. None is run twice, and none that has a result was not
run. Some calls are cancelled; of those that somebody has to approve of, none is run that was refused, or about which
nobody said anything. `TOKENMILL_TOOL_FAULTS` says how many faults there are, by default few.
"""

import asyncio
import os
import random
import signal
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec import UNSET

from tests.support.stage import until
from tests.support.tool_calls import PARTITIONS, Calls
from tokenmill.config import Config, Kafka, Tools
from tokenmill.events import ToolResult
from tokenmill.servers.tools import ToolsProcess
from tokenmill.tools.control import Approval, ApprovalRequest, Cancel
from tokenmill.tools.control_client import questions, say

pytestmark = [pytest.mark.integration, pytest.mark.slow]

FAULTS = int(os.environ.get("TOKENMILL_TOOL_FAULTS", "6"))

CALLS_A_FAULT = 30

SECONDS = (0, 0, 0.05, 0.3, 2)
"""How long calls take: most are short, some are there when something is killed."""


ASKED, CANCELLED = 0.2, 0.1
"""How many calls need a word, and how many are not wanted any more."""

APPROVE_S = 6

KINDS = ("kill", "kill", "stop", "freeze", "server", "server")
"""What is done to a runner."""


def kill_servers(runner: ToolsProcess) -> None:
    """Those that it has started, each with its group."""
    for child in Path(f"/proc/{runner.pid}/task/{runner.pid}/children").read_text().split():
        with suppress(ProcessLookupError):
            os.killpg(int(child), signal.SIGKILL)


NEVER, MAYBE = ("unavailable", "denied", "expired"), ("in-doubt", "transport", "cancelled")
"""Codes of calls that were not made, and of those of which nobody knows."""


async def disturbed(runner: ToolsProcess, fault: str) -> None:
    """Do something to a runner, or to its server."""
    if fault == "server":
        kill_servers(runner)
    elif fault == "freeze":
        runner.freeze()
        await asyncio.sleep(3)  # longer than its session: its partitions are others' when it wakes up
        runner.thaw()
    elif fault == "kill":
        runner.kill()
    else:
        await asyncio.to_thread(runner.stop)


async def test_no_call_is_run_twice_whatever_is_killed(kafka: str, unique: str, tmp_path: Path) -> None:
    """And none is forgotten."""
    dice = random.Random(os.environ.get("TOKENMILL_TOOL_SEED", "16"))
    policy = {"policy": ["ask weather__sign"], "approve_s": APPROVE_S}
    async with Calls(tmp_path, kafka, unique, calls_per_server=8, **policy) as calls:
        people = People(calls, dice)
        saying = asyncio.create_task(people.say_something())
        runners = [calls.runner() for _ in range(3)]
        await asyncio.gather(*(asyncio.to_thread(runner.start) for runner in runners))
        ids = list[str]()
        for _ in range(FAULTS):
            for _ in range(CALLS_A_FAULT):
                ids.append(f"call-{len(ids)}")
                partition, tool = dice.randrange(PARTITIONS), "sign" if dice.random() < ASKED else "note"
                seconds = dice.choice(SECONDS)
                await calls.call(ids[-1], f"weather__{tool}", partition, message=ids[-1], seconds=seconds)
                if dice.random() < CANCELLED:
                    await dice.choice([people.cancel, calls.cancel])(f"c{partition}", ids[-1])
            await disturbed(dice.choice(runners), dice.choice(KINDS))
            for runner in [each for each in runners if not each.alive]:  # one that was frozen was fenced, and ended
                runners[runners.index(runner)] = other = calls.runner()
                await asyncio.to_thread(other.start)
        await until(lambda: calls.answered(*ids), "all are answered", 120)
        saying.cancel()
        await asyncio.gather(saying, return_exceptions=True)
        for runner in runners:
            await asyncio.to_thread(runner.stop)
        results = await calls.results()
        judged(results, Counter(calls.effects()), ids)
        assert people.granted
        assert [id_ for id_ in people.asked - people.granted if f"begin {id_}" in calls.effects()] == []
        assert in_doubt(results), "nothing was killed while it ran a call: the run shows nothing"


class People:
    """Approve of some calls, refuse some, say nothing to others, and cancel a few."""

    def __init__(self, calls: Calls, dice: random.Random) -> None:
        kafka = Kafka(bootstrap_servers=calls.bootstrap)
        self._config = Config(kafka=kafka, topics=calls.topics, tools=Tools(approve_s=APPROVE_S))
        self._dice = dice
        self.asked: set[str] = set()
        self.granted: set[str] = set()

    async def cancel(self, conversation: str, message: str) -> None:
        await say(self._config, [(conversation, Cancel(conversation_id=conversation, message_id=message))])

    async def say_something(self) -> None:
        """For ever."""
        while True:
            for question in await questions(self._config):
                if question.id not in self.asked:
                    self.asked.add(question.id)
                    await self._answer(question)
            await asyncio.sleep(0.2)

    async def _answer(self, question: ApprovalRequest) -> None:
        granted = self._dice.choice([True, True, False, None])
        if granted:
            self.granted.add(question.id)
        if granted is not None:
            word = Approval(approval=question.approval, granted=granted)
            await say(self._config, [(question.conversation_id, word)])


def judged(results: dict[str, list[ToolResult]], effects: Counter[str], ids: list[str]) -> None:
    """Raise `AssertionError` if a call was run twice, or its answer is not what happened."""
    assert {id_: len(results[id_]) for id_ in ids if len(results[id_]) != 1} == {}
    assert {line: times for line, times in effects.items() if times > 1} == {}
    for id_ in ids:
        (result,) = results[id_]
        if result.error is UNSET:
            assert (effects[f"begin {id_}"], effects[f"end {id_}"]) == (1, 1), id_
        else:
            assert result.code in (*MAYBE, *NEVER), (id_, result)
            assert result.code not in NEVER or f"begin {id_}" not in effects, (id_, result)


def in_doubt(results: dict[str, list[ToolResult]]) -> int:
    """How many calls are."""
    return sum(result.code == "in-doubt" for each in results.values() for result in each)
