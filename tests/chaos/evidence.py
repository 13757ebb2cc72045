"""What the logs of a run's workers say: who had which partitions when, where states came from, why workers ended."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple

from tests.chaos.crew import Life


class Generation(NamedTuple):
    """The group gave a worker its partitions."""

    number: int
    partitions: frozenset[int]
    at: float


class Live(NamedTuple):
    """A partition became live in a worker."""

    partition: int
    source: str
    seconds: float
    """Since the assignment."""
    at: float


class Reason(NamedTuple):
    """Why a worker may end by itself, and what must have happened before."""

    name: str
    said: str
    """A pattern that its last words match."""
    after: frozenset[str]


OUTAGE = frozenset({"broker-kill"})

_FENCED = r"is fenced"
"""How a worker says that a transaction was refused, as a newer producer of the same id was there."""

REASONS = (
    Reason("fenced: its partitions had a new owner", _FENCED, frozenset({"zombie", "broker-kill"})),
    Reason("a transaction did not end in a broker's outage", r"^a transaction of \S+ failed", OUTAGE),
    Reason("the client's sender died of a broker's outage", r"sending task has ended", OUTAGE),
    Reason("the client's fetcher died of a broker's outage", r"fetching task has ended", OUTAGE),
    Reason("the client's place in the group died of a broker's outage", r"coordination task has ended", OUTAGE),
    Reason("a record could not be published in a broker's outage", r"Unexpected error during batch delivery", OUTAGE),
    Reason(
        "an outage of the broker outlasted its patience",
        r"without progress for|no answer to a fetch|no coordinator of",
        OUTAGE,
    ),
    Reason("nothing could be asked of the broker in its outage", r"^Kafka(:| at) ", OUTAGE),
)
"""A worker that ends for anything else is a finding."""


def time_of(line: dict[str, Any]) -> float:
    """When a line was logged, in seconds since the epoch."""
    return datetime.fromisoformat(line["time"]).timestamp()


def generations(life: Life) -> list[Generation]:
    """Every assignment of a worker, in order."""
    return [
        Generation(int(match[1]), frozenset(line["partitions"]), time_of(line))
        for line in life.lines()
        if (match := re.match(r"generation (\d+): ", line["message"]))
    ]


def was_left_out(life: Life) -> bool:
    """Whether the group went through a generation without it, so that nothing of it was accepted any more."""
    numbers = [generation.number for generation in generations(life)]
    return any(later - earlier > 1 for earlier, later in pairwise(numbers))


def was_fenced(life: Life) -> bool:
    """Whether the broker refused a transaction of it, as a newer one of the same id was there."""
    return counted([life], _FENCED) > 0


LOCKED_OUT: Mapping[str, Callable[[Life], bool]] = {"at-least-once": was_left_out, "exactly-once": was_fenced}
"""By delivery: whether what a zombie had in its hands when it woke up came to nothing."""


def became_live(lives: Iterable[Life]) -> Iterator[Live]:
    """Every partition that became live in one of these workers."""
    for life in lives:
        for line in life.lines():
            match = re.fullmatch(r"\S+/(\d+): live at \d+ after (\S+) s, from (\w+)", line["message"])
            if match:
                yield Live(int(match[1]), match[3], float(match[2]), time_of(line))


def sources(live: Iterable[Live]) -> Counter[str]:
    """How many partitions were restored from where."""
    return Counter(each.source for each in live)


def takeovers(lives: Iterable[Life]) -> list[float]:
    """Seconds from the moment when a worker was killed or frozen until each of its partitions was live again."""
    lives = list(lives)
    live = sorted(became_live(lives), key=lambda each: each.at)
    result = []
    for life in lives:
        for struck in life.struck:
            owned = [generation for generation in generations(life) if generation.at < struck]
            for partition in owned[-1].partitions if owned else ():
                again = (each.at for each in live if each.partition == partition and each.at > struck)
                result += [at - struck for at in [next(again, None)] if at is not None]
    return result


def counted(lives: Iterable[Life], said: str) -> int:
    """How many lines of the logs match a pattern."""
    return sum(1 for life in lives for line in life.lines() if re.search(said, line["message"]))


def numbers(lives: Iterable[Life], said: str) -> list[int]:
    """The numbers that lines of the logs name; the pattern has one group for it."""
    return [int(match[1]) for life in lives for line in life.lines() if (match := re.search(said, line["message"]))]


def reason_of(life: Life, happened: Iterable[str]) -> str | None:
    """Why a worker ended by itself, if that can be after what happened."""
    before = set(happened)
    words = life.last_words()
    return next((each.name for each in REASONS if re.search(each.said, words) and before & each.after), None)
