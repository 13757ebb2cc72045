"""Options are compiled beside the loop, for one body at a time, and known again."""

import asyncio
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from tests.support.stage import until
from tests.support.written import SETTINGS
from tokenmill.errors import BadOpen
from tokenmill.gateway.ingest import options_compiler
from tokenmill.gateway.ingest.options_compiler import BodyOptions, OptionsCompiler, key_of
from tokenmill.gateway.problems import TOO_MANY, Refused


class Slow:
    """Compiles nothing, and takes until it is let."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.made: list[str] = []
        self.at_once = self.most = 0

    def __call__(self, options: Any, limits: Any) -> None:  # noqa: ARG002 -- as what it stands for has it
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        assert self.go_on.wait(20)
        self.made.append(options.model)
        self.at_once -= 1


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    """In place of what compiles."""
    slow = Slow()
    monkeypatch.setattr(options_compiler, "compile_grammar", slow)
    yield slow
    slow.go_on.set()


async def test_the_loop_goes_on_while_options_are_compiled(slow: Slow) -> None:
    """They are somebody else's, and take a thread, one for all."""
    compiler = OptionsCompiler(SETTINGS)
    tasks = [asyncio.create_task(compiler.check("x", {"model": name})) for name in "abc"]
    await asyncio.sleep(0.05)
    assert not any(task.done() for task in tasks)
    slow.go_on.set()
    await asyncio.gather(*tasks)
    assert (slow.made, slow.most) == (["a", "b", "c"], 1)


async def test_what_was_good_is_known_again(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    """The latest of it."""
    monkeypatch.setattr(options_compiler, "KNOWN", 2)
    slow.go_on.set()
    compiler = OptionsCompiler(SETTINGS)
    for name in "aabca":
        await compiler.check("x", {"model": name})
    assert slow.made == ["a", "b", "c", "a"]


async def test_what_is_wrong_is_said_each_time() -> None:
    """By its name; what can't even be encoded, too."""
    compiler = OptionsCompiler(SETTINGS)
    for _ in range(2):
        with pytest.raises(BadOpen, match="did you mean hermes"):
            await compiler.check("x", {"format": "hermse"})
        with pytest.raises(BadOpen, match="64 bits"):
            await compiler.check("x", {"tools": [{"function": {"name": "f", "parameters": {"maximum": 2**70}}}]})
    assert key_of({"tools": [2**70]}) is None


async def test_who_waits_for_too_long_is_told_when_to_come_again(slow: Slow) -> None:
    """One that leaves keeps its turn until its thread is done, so there is never a second one."""
    compiler = OptionsCompiler(SETTINGS, wait_s=0.05)
    first = asyncio.create_task(compiler.check("x", {"model": "a"}))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    with pytest.raises(Refused) as refused:
        await compiler.check("x", {"model": "b"})
    assert (refused.value.kind, "retry-after" in refused.value.headers) == (TOO_MANY, True)
    slow.go_on.set()
    await until(lambda: compiler._work._turns._free, "its turn is over")
    await compiler.check("x", {"model": "b"})
    assert slow.made == ["a", "b"]


async def test_who_brings_many_options_keeps_nobody_else_waiting(slow: Slow) -> None:
    """Names take turns, however many bodies of one wait."""
    compiler = OptionsCompiler(SETTINGS)
    bodies = [("a", f"a{number}") for number in range(12)] + [("b", "b")]
    waiting = [asyncio.create_task(BodyOptions(compiler, name).check({"model": model})) for name, model in bodies]
    await asyncio.sleep(0.05)
    slow.go_on.set()
    await asyncio.gather(*waiting)
    assert slow.made[:3] == ["a0", "a1", "b"]


async def test_a_body_has_so_many_options(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    """That were not known; the same again count once."""
    monkeypatch.setattr(options_compiler, "OF_A_BODY", 2)
    slow.go_on.set()
    compiler = OptionsCompiler(SETTINGS)
    await compiler.check("x", {"model": "known"})
    body = BodyOptions(compiler, "x")
    for name in ("known", "a", "b", "a", "b", "known"):
        await body.check({"model": name})
    with pytest.raises(BadOpen, match="in another body"):
        await body.check({"model": "c"})
    await BodyOptions(compiler, "x").check({"model": "c"})


async def test_formats_that_take_seconds_hold_up_nobody() -> None:
    """As they are: eight of the heaviest, which nobody compiled before. The loop has its turns meanwhile.

    Their distance is the process's own processor time, to which others on the machine add nothing.
    """
    formats = ["hunyuan_kv", "deepseek_dsml", "glm_kv", "kimi_k3", "xlam", "step3", "gigachat35", "k2_horizon"]
    checking = asyncio.create_task(OptionsCompiler(SETTINGS).check("x", {"format": formats, "model": "one of its own"}))
    turns = [time.process_time()]
    while not checking.done():
        await asyncio.sleep(0.005)
        turns.append(time.process_time())
    await checking
    longest = max(after - before for before, after in pairwise(turns))
    assert longest < (turns[-1] - turns[0]) / 4
