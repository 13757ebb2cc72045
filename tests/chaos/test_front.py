"""Answers through fronts, cut at random: clients, fronts, callers, workers, the gateway and the broker are killed.

A client that comes back gets the rest, once; the model server counts one generation a click unless its caller was lost;
nobody waits for ever. `front_judge` says it in full. In CI it runs for a minute; `TOKENMILL_FRONT_CUTS` says for how
many cuts it goes on, and `TOKENMILL_FRONT_SEED` with which dice.
"""

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.chaos.front_clicks import KINDS, Click
from tests.chaos.front_client import Cuts
from tests.chaos.front_faults import ALL, KINDS_OF_FAULTS, Faults
from tests.chaos.front_judge import Judge, generations
from tests.chaos.front_readers import GatewayReader
from tests.chaos.front_responses import client_of
from tests.chaos.front_said import MARK, expected
from tests.chaos.front_stage import FrontStage
from tests.support.model_servers.speech import Script
from tests.support.stage import until
from tokenmill.servers import KafkaServer, RedisServer

CUTS = int(os.environ.get("TOKENMILL_FRONT_CUTS", "60"))

SEED = int(os.environ.get("TOKENMILL_FRONT_SEED", "7"))

FAULTS, CLICKS, AT_ONCE = max(ALL, CUTS // 8), 50, min(16, max(8, CUTS // 8))
"""As few at once as still have many cuts in the time that the faults take."""

CLICK_S = 60.0
"""For an answer of some seconds, whatever happens meanwhile."""

AWAY = ("can't be reached", "the Kafka client's coordination task has ended")
"""While there is no broker: what a process that starts ends of, and a worker whose connection was closed under it."""

WORDS = (
    "the",
    "mill",
    "by",
    "river",
    "grinds",
    "what",
    "carts",
    "bring",
    "at",
    "dawn",
    "and",
    "miller",
    "counts",
    "twice",
)

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600 + 3 * CUTS)]


def script(dice: random.Random) -> Script:
    """Some thoughts, some text, now and then a call, and again some text; at a pace at which much can happen."""

    def words(most: int) -> str:
        return " ".join(dice.choice(WORDS) + MARK for _ in range(dice.randint(3, most)))

    text = f"<think>{words(20)}</think>" if dice.random() < 0.4 else ""
    text += words(60)
    if dice.random() < 0.3:
        call = {"name": "note", "arguments": {"line": words(8)}}
        text += f"\n<tool_call>\n{msgspec.json.encode(call).decode()}\n</tool_call>"
    return Script(text, cut=5, pause_s=dice.uniform(0.01, 0.06), first_s=dice.choice([0, 0, 0.3, 1.0]))


class Trial:
    """All clicks, and what comes of them."""

    def __init__(self, folder: Path, kafka: KafkaServer, redis: RedisServer) -> None:
        self._dice = random.Random(SEED)
        self.scripts = {f"click-{number}": script(self._dice) for number in range(CLICKS + 3 * CUTS)}
        self.stage = FrontStage(folder, kafka, redis, msgspec.json.encode(self.scripts))
        self.cuts = Cuts(self._dice, mean_bytes=8_000, mean_s=3.0)
        self.faults = Faults(self.stage, self._dice, lambda: self.running > 0, brokers=max(1, CUTS // 50))
        self.clicks: list[Click] = []
        self.readers: list[GatewayReader] = []
        self.running = 0
        self._following: list[asyncio.Task[None]] = []

    @property
    def enough(self) -> bool:
        """It may end."""
        many = self.cuts.count >= CUTS and self.faults.done.total() >= FAULTS and len(self.clicks) >= CLICKS
        return many or len(self.clicks) >= len(self.scripts)

    async def run(self) -> None:
        """Click, and do harm until that is enough; then wait for whoever still reads."""
        enough = asyncio.Event()
        hurting = asyncio.create_task(self.faults.go_on(enough))
        try:
            await asyncio.gather(*(self._click_on(enough) for _ in range(AT_ONCE)))
        finally:
            enough.set()
            await hurting
        self.cuts.calm = True
        try:
            async with asyncio.timeout(CLICK_S):
                await asyncio.gather(*self._following)
        except TimeoutError:
            return  # who reads still is told of by the judge

    async def _click_on(self, enough: asyncio.Event) -> None:
        while not self.enough:
            number = len(self.clicks)
            model = self._dice.choice(["cut-off", "goes-on"])
            click = Click(number, self._dice.choice(KINDS), self._dice, model)
            self.clicks.append(click)
            if click.conversation:
                reader = GatewayReader(click, lambda: self.stage.gateways[0].process.port, self.cuts)
                self.readers.append(reader)
                self._following.append(asyncio.create_task(reader.follow()))
            self.running += 1
            try:
                async with asyncio.timeout(CLICK_S):
                    await client_of(click, self.stage.ports, self.cuts).run()
            except TimeoutError:
                pass  # the judge tells
            finally:
                self.running -= 1
        enough.set()

    async def judged(self) -> list[str]:
        """What is wrong, once the model server is at rest."""
        wanted = {click.key: expected(self.scripts[click.key].text) for click in self.clicks}

        def rest() -> bool:
            lines = self.stage.model.ledger.read_text().splitlines()
            return sum('"what":"begin"' in line for line in lines) * 2 == len(lines)

        await until(rest, "no answer is generated any more", CLICK_S)
        strikes = [strike for slot in self.stage.callers for strike in slot.strikes]
        ledger, outages = generations(self.stage.model.ledger, time.time()), self.stage.broker.absences
        judge = Judge(wanted, ledger, strikes, outages)
        deaths = [
            (slot, death)
            for slot in self.stage.slots
            for death in slot.deaths
            if not any(map(death.__contains__, AWAY))
        ]
        ended = [f"{slot.process.folder.name} ended by itself: {death}" for slot, death in deaths]
        return judge.problems(self.clicks, self.readers) + ended

    def report(self, seconds: float) -> str:
        """In numbers."""
        made = generations(self.stage.model.ledger, time.time())
        ends = Counter(click.finish or ("failed" if click.error else "no end") for click in self.clicks)
        return "\n".join(
            f"{name}: {value if not isinstance(value, Counter) else dict(value)}"
            for name, value in {
                "seed": SEED,
                "seconds": round(seconds),
                "clicks": Counter(click.kind for click in self.clicks),
                "connections": sum(click.tries for click in self.clicks),
                "cuts": self.cuts.count,
                "faults": self.faults.done,
                "taken over": self.stage.fates(),
                "generations": sum(map(len, made.values())),
                "of clicks": len(self.clicks),
                "ends": ends,
                "readers at the gateway": len(self.readers),
                "longest click": round(max(click.ended - click.began for click in self.clicks), 1),
            }.items()
        )


async def test_cut_at_random_every_click_has_its_answer_once(
    start_kafka: Callable[..., KafkaServer],
    redis_server: RedisServer,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    """Whatever was killed meanwhile: the rest comes once, nothing is generated twice in vain, nobody waits for ever."""
    trial = Trial(tmp_path, start_kafka(), redis_server)
    began = time.monotonic()
    async with trial.stage:
        await trial.run()
        problems = await trial.judged()
        record_property("report", trial.report(time.monotonic() - began))
    (tmp_path / "problems.txt").write_text("\n\n".join(problems))
    assert problems == []
    assert set(trial.faults.done) == KINDS_OF_FAULTS
