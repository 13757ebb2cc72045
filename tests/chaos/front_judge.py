"""What clients were told and what the model server wrote down, against what may be.

1. A click has all of its answer, each word once; or it was stopped and has the beginning, as has a response that was
   without a reader for too long, and says so; or its caller was lost when something had come, and it was told so.
2. What one connection was told of an answer is the beginning of what the next one is told.
3. There is one generation a click. Each further one has a reason: the caller of the one before was killed, ended or
   frozen while it ran, or while it could not write the rest of it, as there was no broker; or the click was without a
   reader for too long, and came back.
4. Nobody waits for ever.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.chaos.front_clicks import Click
from tests.chaos.front_readers import GatewayReader
from tests.chaos.front_said import Said, native
from tests.chaos.front_stage import DISCONNECT_S, LEASE_S, Struck

SLACK_S = 1.5
"""Between a kill and the end of a generation: a busy server notices late, a caller writes later what it has read."""

BACK_S = 2.0
"""Until every caller writes again, once there is a broker."""

FINISHED = {"stop", "tool_calls", "completed", "end_turn", "tool_use"}

LOST = "the rest of its answer can't be had"


class Generated(NamedTuple):
    """One line of the ledger's for each generation."""

    begin: float
    end: float


def generations(ledger: Path, now: float) -> dict[str, list[Generated]]:
    """By key; one that has not ended ends now."""
    began: dict[str, tuple[str, float]] = {}
    found = defaultdict[str, list[Generated]](list)
    for line in map(json.loads, ledger.read_text().splitlines()):
        if line["what"] == "begin":
            began[line["id"]] = line["key"], line["time"]
        else:
            key, begin = began.pop(line["id"])
            found[key].append(Generated(begin, line["time"]))
    for key, begin in began.values():
        found[key].append(Generated(begin, now))
    return {key: sorted(each) for key, each in found.items()}


class Judge:
    """Of one run."""

    def __init__(
        self,
        expected: Mapping[str, Mapping[str, Said]],
        ledger: Mapping[str, Sequence[Generated]],
        strikes: Iterable[Struck],
        outages: Iterable[tuple[float, float]] = (),
    ) -> None:
        """`strikes` are those of callers; `outages` are times without a broker, each from its beginning to its end."""
        self._expected = expected
        self._ledger = ledger
        self._strikes = list(strikes)
        self._outages = sorted(outages)

    def problems(self, clicks: Iterable[Click], readers: Iterable[GatewayReader]) -> list[str]:
        """All that is wrong."""
        found = [f"{click}: {problem}" for click in clicks for problem in self._of_click(click)]
        return found + [f"a reader of {each.click}: {problem}" for each in readers for problem in self._of_reader(each)]

    def _of_click(self, click: Click) -> Iterator[str]:
        yield from self._answered(click)
        yield from self._same(click)
        yield from self._generated(click)

    def _answered(self, click: Click) -> Iterator[str]:
        wanted = self._expected[click.key][click.read_as]
        if click.error:
            if not (LOST in click.error and self._lost(click)):
                yield f"failed: {click.error}"
        elif click.said is None:
            yield f"had no answer {click.ended - click.began:.1f} s after its click, statuses {click.statuses[-5:]}"
        elif click.said.unmarked() != wanted or click.finish not in FINISHED:
            if not self._cancelled(click):
                yield f"ended with {click.finish}, and said {click.said} instead of {wanted}"
            elif not click.said.unmarked().begins(wanted):
                yield f"was stopped, and said {click.said}, which is no beginning of {wanted}"

        elif click.model == "cut-off" and len(click.said.marks()) > 1:
            yield f"is a mixture of generations: {click.said}"

    @staticmethod
    def _abandoned(click: Click) -> bool:
        return click.away_s > DISCONNECT_S - 1

    def _cancelled(self, click: Click) -> bool:
        """Whether the beginning is all that it may have. Of an answer without an id, who comes back gets a new one."""
        return click.stopped or (self._abandoned(click) and click.read_as == "responses")

    def _lost(self, click: Click) -> bool:
        """Whether a caller was lost while it wrote the answer."""
        return any(self._struck(each) for each in self._ledger.get(click.key, ()))

    @staticmethod
    def _same(click: Click) -> Iterator[str]:
        if click.kind not in ("retry", "key", "messages"):
            return
        for message, connections in click.payloads.items():
            longest = max(connections, key=len)
            for payloads in connections:
                if message and payloads != longest[: len(payloads)]:
                    yield f"{message} was not told the same twice: {payloads} and {longest}"

    def _generated(self, click: Click) -> Iterator[str]:
        found = self._ledger.get(click.key, ())
        if not found and not self._cancelled(click):
            yield "was never generated"
        for each in found[:-1]:
            if not (self._abandoned(click) or self._struck(each)):
                yield f"was generated {len(found)} times, and nothing was done to the caller of {each}"

    def _struck(self, generated: Generated) -> bool:
        """Whether something was done to a caller that may have been its own."""
        written = self._written(generated)
        for strike in self._strikes:
            if strike.how == "freeze" and strike.begin - LEASE_S < generated.end and generated.begin < strike.end:
                return True
            if strike.begin - SLACK_S < written and generated.end < strike.end + SLACK_S:
                return True
        return False

    def _written(self, generated: Generated) -> float:
        """When its caller can have written all of it."""
        written = generated.end
        for begin, end in self._outages:
            if begin - SLACK_S < written < end:
                written = end + BACK_S
        return written

    def _of_reader(self, reader: GatewayReader) -> Iterator[str]:
        yield from reader.wrong
        numbers = [event["seq"] for event in reader.events]
        if numbers != list(range(len(numbers))):
            yield f"it was told events {numbers}"
        if not reader.over:
            yield f"it waits still, after {len(numbers)} events"
        elif not native(reader.events).unmarked().begins(self._expected[reader.click.key]["native"]):
            yield f"it was told {native(reader.events)}"
