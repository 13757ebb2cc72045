"""Gauges that are read from the engine when somebody looks at the metrics."""

from collections.abc import Iterable

from tokenmill.limits import MIB
from tokenmill.observe import Numbers
from tokenmill.partition import Partition, size_of
from tokenmill.worker.engine import Engine
from tokenmill.worker.held import held
from tokenmill.worker.lane import Phase


def read_gauges(numbers: Numbers, engine: Engine) -> None:
    """Have the numbers read these gauges from the engine."""

    def live() -> list[Partition]:
        return [lane.partition for lane in engine.lanes.values() if lane.phase is Phase.LIVE]

    def lag() -> Iterable[tuple[tuple[str, ...], float]]:
        for tp, lane in engine.lanes.items():
            end = engine.end(tp)
            if end is not None:
                done = max(lane.partition.offset, engine.position(tp))
                yield (tp.topic, str(tp.partition)), max(0, end - done)

    def uncommitted() -> Iterable[tuple[tuple[str, ...], float]]:
        for tp in engine.lanes:
            hidden = engine.uncommitted(tp)
            if hidden is not None:
                yield (tp.topic, str(tp.partition)), hidden

    numbers.read_value("tokenmill_open_messages", lambda: sum(each.open_messages for each in live()))
    numbers.read_value("tokenmill_state_bytes", lambda: size_of(live()))
    numbers.read_value("tokenmill_state_limit_bytes", lambda: engine.config.worker.state_mib * MIB)
    numbers.read("tokenmill_consumer_lag_records", lag)
    numbers.read("tokenmill_uncommitted_records", uncommitted)
    numbers.read_value("tokenmill_assigned_partitions", lambda: len(engine.lanes))
    numbers.read_value(
        "tokenmill_replaying_partitions",
        lambda: sum(lane.phase not in (Phase.LIVE, Phase.HELD) for lane in engine.lanes.values()),
    )
    numbers.read_value("tokenmill_held_partitions", lambda: len(held(engine)))
    numbers.read_value(
        "tokenmill_unacknowledged_bytes", lambda: sum(lane.unacked_bytes for lane in engine.lanes.values())
    )
