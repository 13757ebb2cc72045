"""Runners of tools that are killed, stopped and frozen while they run calls, and servers that are killed under them.

The oracle is the tools' own ledger. Every call is answered once. None is run twice, and none that has a result was not
run. `TOKENMILL_TOOL_FAULTS` says how many faults there are, by default few.
"""

import asyncio
import os
import random
import signal
from collections import Counter
from pathlib import Path

import pytest
from msgspec import UNSET

from tests.support.stage import until
from tests.support.tool_calls import PARTITIONS, Calls
from tokenmill.events import ToolResult
from tokenmill.servers.tools import ToolsProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

FAULTS = int(os.environ.get("TOKENMILL_TOOL_FAULTS", "6"))

CALLS_A_FAULT = 30

SECONDS = (0, 0, 0.05, 0.3, 2)
"""How long calls take: most are short, some are there when something is killed."""


KINDS = ("kill", "kill", "stop", "freeze", "server", "server")
"""What is done to a runner."""


def kill_servers(runner: ToolsProcess) -> None:
    """Those that it has started."""
    for child in Path(f"/proc/{runner.pid}/task/{runner.pid}/children").read_text().split():
        os.kill(int(child), signal.SIGKILL)


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
    async with Calls(tmp_path, kafka, unique, calls_per_server=8) as calls:
        runners = [calls.runner() for _ in range(3)]
        await asyncio.gather(*(asyncio.to_thread(runner.start) for runner in runners))
        ids = list[str]()
        for _ in range(FAULTS):
            for _ in range(CALLS_A_FAULT):
                ids.append(f"call-{len(ids)}")
                await calls.call(ids[-1], partition=dice.randrange(PARTITIONS), seconds=dice.choice(SECONDS))
            await disturbed(dice.choice(runners), dice.choice(KINDS))
            for runner in [each for each in runners if not each.alive]:  # one that was frozen was fenced, and ended
                runners[runners.index(runner)] = other = calls.runner()
                await asyncio.to_thread(other.start)
        await until(lambda: calls.answered(*ids), "all are answered", 120)
        for runner in runners:
            await asyncio.to_thread(runner.stop)
        results = await calls.results()
        judged(results, Counter(calls.effects()), ids)
        assert in_doubt(results), "nothing was killed while it ran a call: the run shows nothing"


def judged(results: dict[str, list[ToolResult]], effects: Counter[str], ids: list[str]) -> None:
    """Raise `AssertionError` if a call was run twice, or its answer is not what happened."""
    assert {id_: len(results[id_]) for id_ in ids if len(results[id_]) != 1} == {}
    assert {line: times for line, times in effects.items() if times > 1} == {}
    for id_ in ids:
        (result,) = results[id_]
        if result.error is UNSET:
            assert (effects[f"begin {id_}"], effects[f"end {id_}"]) == (1, 1), id_
        else:
            assert result.code in ("in-doubt", "transport", "unavailable"), (id_, result)
            assert result.code != "unavailable" or f"begin {id_}" not in effects, (id_, result)


def in_doubt(results: dict[str, list[ToolResult]]) -> int:
    """How many calls are."""
    return sum(result.code == "in-doubt" for each in results.values() for result in each)
