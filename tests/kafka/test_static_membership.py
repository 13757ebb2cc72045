"""A process that shares a `group_instance_id` ends; one that restarts, joins or was suspended is left alone."""

import pytest

from tokenmill.config import Kafka
from tokenmill.errors import FatalError
from tokenmill.kafka.static_membership import HEARTBEATS, REPLACEMENTS, StaticMembership

STATIC = Kafka(group_instance_id="pod-0", session_timeout_ms=30_000, heartbeat_interval_ms=3_000)
SESSION_S, HEARTBEAT_S = 30, 3


class Place:
    """A place in the group at a time that the test sets."""

    def __init__(self, kafka: Kafka = STATIC) -> None:
        self.now = 1_000.0
        self.membership = StaticMembership(kafka, lambda: self.now)
        self._ids = iter(range(1_000))
        self.membership.joined("first", 1)

    def replaced(self, after: float) -> None:
        """Have another process take it, and this one take it back."""
        self.now += after
        self.membership.joined(f"again-{next(self._ids)}", 1)


def test_a_newcomer_that_is_replaced_ends() -> None:
    """It took the place of a process that is alive."""
    with pytest.raises(FatalError, match=r"kafka.group_instance_id 'pod-0' must be that of one process alone"):
        Place().replaced(HEARTBEAT_S)


def test_who_has_been_there_for_long_stays() -> None:
    """Newcomers come and end, one after the other; each is started again later."""
    place = Place()
    place.now += SESSION_S + 1
    for pause in (10, 20, 40, 80, 160, 300, 300):
        place.replaced(pause)


def test_two_that_have_been_there_for_long_do_not_fight_for_ever() -> None:
    """As after one of them was suspended and the other started in its place."""
    place = Place()
    place.now += SESSION_S + 1
    for _ in range(REPLACEMENTS - 1):
        place.replaced(2 * HEARTBEAT_S)
    with pytest.raises(FatalError, match="another process"):
        place.replaced(2 * HEARTBEAT_S)
    assert REPLACEMENTS * 2 * HEARTBEAT_S < HEARTBEATS * HEARTBEAT_S


def test_rebalances_are_no_replacement() -> None:
    """Others come and go, or our own session ran out: the generation changes each time."""
    place = Place()
    for generation in range(2, 50):
        place.membership.joined("first" if generation % 3 else f"new-{generation}", generation)
    place.membership.joined("first", 49)  # the same place once more


def test_without_a_static_name_there_is_nothing_to_share() -> None:
    """The broker gives each process an id of its own."""
    for name in (None, ""):
        Place(Kafka(group_instance_id=name)).replaced(1)
