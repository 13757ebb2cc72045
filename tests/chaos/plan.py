"""Which faults come, and when: drawn from a seed, and every kind comes before any comes again."""

import random
from collections.abc import Iterator
from typing import NamedTuple

KINDS = (
    "kill-one",
    "kill-all",
    "terminate",
    "zombie",
    "redis-flush",
    "redis-freeze",
    "redis-kill",
    "redis-old-dump",
    "broker-kill",
    "static-restart",
    "reconfigure",
    "reconfigure-without-redis",
)
"""What can happen; `faults` has a function for each."""

SHORTEST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 4.0
"""Some faults come while the one before is still felt, others when all is well again."""


class Step(NamedTuple):
    """One fault of the plan."""

    kind: str
    pause_s: float
    """After the fault before."""
    seed: int
    """Of what the fault itself draws: which worker, for how long."""


def steps(seed: int) -> Iterator[Step]:
    """A plan without an end, in rounds of all kinds."""
    dice = random.Random(f"plan {seed}")
    while True:
        for kind in dice.sample(KINDS, len(KINDS)):
            yield Step(kind, dice.uniform(SHORTEST_PAUSE_S, LONGEST_PAUSE_S), dice.getrandbits(32))
