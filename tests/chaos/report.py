"""What a run of faults saw, for people and for programs, and whether that is a pass."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec


class Spread(NamedTuple):
    """Of measured seconds."""

    times: int = 0
    p50: float = 0.0
    p95: float = 0.0
    p99: float = 0.0
    longest: float = 0.0


def spread(seconds: Sequence[float]) -> Spread:
    """Quantiles; all 0 where nothing was measured."""
    ordered = sorted(seconds)
    if not ordered:
        return Spread()
    at = [ordered[min(int(len(ordered) * share), len(ordered) - 1)] for share in (0.5, 0.95, 0.99)]
    return Spread(len(ordered), *(round(value, 3) for value in (*at, ordered[-1])))


class Report(msgspec.Struct, kw_only=True):
    """One run. Every field is a row of what is printed."""

    delivery: str
    seed: int
    seconds: float = 0.0
    """Of faults."""
    faults: dict[str, int] = {}
    fault_seconds: dict[str, float] = {}
    tokens_in: int = 0
    """Chunks that were sent."""
    records_in: int = 0
    """On the input topic in the end, control records included."""
    records_out: int = 0
    """What the oracle makes of them, on all output topics."""
    conversations: int = 0
    messages: int = 0
    """Each choice for itself."""
    fewest_live: int = 0
    """Conversations that were going on when a fault came."""
    control_records: int = 0
    """Time-outs that workers wrote to the input."""
    poison: int = 0
    """Records that have to become one dead letter each."""
    wrong: dict[str, str] = {}
    """By conversation."""
    repeats: int = 0
    aborted: int = 0
    """Output records of transactions that were not committed: nobody may see them."""
    reconfigured: int = 0
    """Messages that lost their state together with their configuration, and said so."""
    went_on: int = 0
    """Messages that were open when the configuration changed, and ended under the one that they began with."""
    restores: dict[str, int] = {}
    takeovers: Spread = Spread()
    """From the kill or freeze of a worker until another had each of its partitions."""
    restore_seconds: Spread = Spread()
    """From an assignment until the partition was live."""
    zombies: int = 0
    """Workers that were frozen until others had their partitions, and then went on."""
    zombies_fenced: int = 0
    """With exactly-once: whose producer was refused. At least once: without whom the group had a generation, so that
    nothing it still wanted to commit was accepted."""
    workers: int = 0
    """Processes in all."""
    ended: dict[str, int] = {}
    """Workers that ended by themselves, by reason."""
    stops: int = 0
    """SIGTERM with exit code 0."""
    commit_samples: int = 0
    head_samples: int = 0
    latency: Spread = Spread()
    """From an input record's timestamp until a reader of what is committed had its event."""
    without_redis_s: list[float] = []
    """Until every partition had moved on while Redis did not answer."""
    lag_s: float = 0.0
    """From the last fault until there was no lag."""
    largest_rss_mib: int = 0
    lost_brokers: list[str] = []
    """Of three, one after the other, each in another way: how long until a plain client and events are back."""
    problems: list[str] = []
    """Every invariant that did not hold."""

    def lost(self, row: str, *, in_time: bool) -> None:
        """A broker of three was lost; that events are back too late, or wrong, is a problem."""
        self.lost_brokers.append(row)
        if not in_time:
            self.problems.append(f"a lost broker: {row}")

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.wrong and not self.problems

    def rows(self) -> list[tuple[str, str]]:
        """Names and values."""
        return [(name.replace("_", " "), _shown(getattr(self, name))) for name in self.__struct_fields__]

    def markdown(self) -> str:
        """A table."""
        rows = "\n".join(f"| {name} | {value} |" for name, value in self.rows())
        return f"| {'passed' if self.passed else 'FAILED'} | |\n| --- | --- |\n{rows}\n"

    def write(self, path: Path) -> None:
        """As JSON or as a table, by the ending of the name."""
        text = msgspec.json.format(msgspec.json.encode(self)).decode() if path.suffix == ".json" else self.markdown()
        path.write_text(text)


def _shown(value: object) -> str:
    if isinstance(value, Spread):
        return f"{value.times} times, p50 {value.p50}, p95 {value.p95}, p99 {value.p99}, longest {value.longest}"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {each}" for name, each in value.items()) or "none"
    if isinstance(value, list):
        return "; ".join(map(str, value)) or "none"
    return f"{value:.1f}" if isinstance(value, float) else str(value)
