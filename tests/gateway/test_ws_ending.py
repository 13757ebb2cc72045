"""Why a WebSocket is closed: `gateway/ws_ending.py`."""

from typing import get_args

from tokenmill.gateway import ws_ending
from tokenmill.gateway.stream import Outcome
from tokenmill.gateway.ws_ending import ENDINGS, Ending

REASON_BYTES = 123
"""A close frame has 125, two of which are the code."""


def test_every_outcome_that_ends_a_socket_has_an_ending() -> None:
    """Only `finished` and `back` do not."""
    (names,) = (get_args(arg) for arg in [Outcome])
    assert set(names) - ENDINGS.keys() == {"finished", "back"}


def test_reasons_fit_their_frame() -> None:
    """Or the library would refuse to close."""
    endings = [value for value in vars(ws_ending).values() if isinstance(value, Ending)]
    assert len(endings) >= len(ENDINGS)
    assert all(len(ending.reason.encode()) <= REASON_BYTES for ending in (*endings, *ENDINGS.values()))
