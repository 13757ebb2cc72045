"""Why a WebSocket is closed, and what its client is told. Reasons have at most 123 bytes."""

from collections.abc import Mapping
from typing import NamedTuple

from tokenmill.gateway.stream import Outcome


class Ending(NamedTuple):
    """How a socket is closed."""

    code: int
    reason: str


FINISHED = Ending(1000, "finished")
SHUTDOWN = Ending(1001, "the gateway ends; come back with the id of the last message")
SLOW = Ending(1013, "too slow; come back with the id of the last message")
LATER = Ending(1013, "try again later")
SILENT = Ending(1008, "pings were not answered")
NOT_ALLOWED = Ending(1008, "not allowed")
LEFT = Ending(1000, "")
FAILED = Ending(1011, "an error of the gateway's own; it is in its log")

ENDINGS: Mapping[Outcome, Ending] = {
    "drained": SHUTDOWN,
    "slow": SLOW,
    "expired": Ending(1008, "the rights have ended; come back with new ones"),
    "lost": LATER,
    "moved": Ending(1012, "the topic has grown; come back with the id of the last message"),
    "closed": LEFT,
}
"""By what ended a stream of it."""
