"""A stop names its message, or there is only one that it can mean."""

import pytest

from tokenmill.gateway.bodies import Stop
from tokenmill.gateway.problems import Refused
from tokenmill.gateway.stops import message_id_of, which


@pytest.mark.parametrize(
    ("stop", "known", "meant"),
    [
        (Stop(message_id="m"), None, "m"),
        (Stop(message_id="m"), ["other"], "m"),
        (Stop(), ["m"], "m"),
        (Stop(), [], None),
        (Stop(unnamed=True), ["m"], None),
    ],
)
def test_a_stop_means_one_message(stop: Stop, known: list[str] | None, meant: str | None) -> None:
    """The one it names; else the one that is open; none where none is, or where it has no name."""
    assert which(stop, known) == meant


@pytest.mark.parametrize(
    ("stop", "known", "status"),
    [(Stop(), None, 400), (Stop(), ["a", "b"], 409), (Stop(message_id="m", unnamed=True), ["m"], 400)],
)
def test_a_stop_that_could_mean_several_is_refused(stop: Stop, known: list[str] | None, status: int) -> None:
    """With what to say instead."""
    with pytest.raises(Refused) as refused:
        which(stop, known)
    assert refused.value.kind.status == status


@pytest.mark.parametrize("text", ["", "x" * 1_025, "\ud800"])
def test_what_can_be_no_id_is_refused(text: str) -> None:
    """Empty, too long, or no UTF-8."""
    with pytest.raises(Refused, match="message_id is UTF-8"):
        message_id_of(text)
