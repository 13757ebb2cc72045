"""The gateway's table lists what its labels can be, and the lists are those of the code."""

from tokenmill.gateway.problems import KINDS
from tokenmill.gateway.routes.durable_framing import DurableEvents
from tokenmill.gateway.streams.framing import LINES, SSE, Framing
from tokenmill.gateway.websocket.server_frames import WebSocketFraming
from tokenmill.observe.gateway_table import GATEWAY_METRICS, PROBLEMS, TRANSPORTS


def test_labels_are_names_of_lists() -> None:
    """A conversation, a principal or an address is none."""
    labels = {label for metric in GATEWAY_METRICS for label in metric.labels}
    assert labels <= {"transport", "dialect", "reason", "source", "problem", "kind", "partition", "version", "python"}


def test_problems_are_the_kinds_of_refusals() -> None:
    """A refusal that the table did not know would not begin at 0."""
    assert {kind.name for kind in KINDS} == set(PROBLEMS)


def test_transports_are_the_names_of_framings() -> None:
    """Each framing is one."""
    framings: list[Framing] = [SSE, LINES, WebSocketFraming(), DurableEvents("0", up_to_date=True)]
    assert {framing.name for framing in framings} == set(TRANSPORTS)


def test_all_names_tell_whose_they_are() -> None:
    """So that what a worker counts is never added to it."""
    assert all(metric.name.startswith("tokenmill_gateway_") for metric in GATEWAY_METRICS)
