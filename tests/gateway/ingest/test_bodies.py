"""Bodies are what the reference says, and mistakes in them are named."""

import msgspec
import pytest

from tokenmill.gateway.ingest.bodies import Stop, ToolResultBody, message_id_of, stopped_message
from tokenmill.gateway.problems import Refused
from tokenmill.limits import KEY_BYTES


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"mesage_id":"m"}', "unknown field `mesage_id`"),
        (b'{"message_id":""}', "message_id"),
        (b'{"message_id":1}', "message_id"),
        (b'{"message_id":"%b"}' % (b"m" * (KEY_BYTES + 1)), "message_id"),
        (b'{"choice":-1}', "choice"),
        (b'{"unnamed":"yes"}', "unnamed"),
    ],
)
def test_a_stop_that_is_misspelt_is_no_stop_of_something_else(body: bytes, said: str) -> None:
    """Without its message it would end another one."""
    with pytest.raises(msgspec.ValidationError, match=said):
        msgspec.json.decode(body, type=Stop)


def test_a_result_is_any_json_value_null_included() -> None:
    """Null is a result, too; unknown fields are those of tomorrow's events."""
    body = msgspec.json.decode(b'{"id":"call_1","name":"t","result":null,"later":1}', type=ToolResultBody)
    assert (body.result, body.error) == (None, msgspec.UNSET)


@pytest.mark.parametrize("body", [b'{"name":"t"}', b'{"id":"","name":"t"}', b'{"id":"c","name":"t","elapsed_ms":-1}'])
def test_a_result_says_of_which_call_it_is(body: bytes) -> None:
    """Nobody could use it otherwise."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(body, type=ToolResultBody)


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
    assert stopped_message(stop, known) == meant


@pytest.mark.parametrize(
    ("stop", "known", "status"),
    [(Stop(), None, 400), (Stop(), ["a", "b"], 409), (Stop(message_id="m", unnamed=True), ["m"], 400)],
)
def test_a_stop_that_could_mean_several_is_refused(stop: Stop, known: list[str] | None, status: int) -> None:
    """With what to say instead."""
    with pytest.raises(Refused) as refused:
        stopped_message(stop, known)
    assert refused.value.kind.status == status


@pytest.mark.parametrize("text", ["", "x" * 1_025, "\ud800"])
def test_what_can_be_no_id_is_refused(text: str) -> None:
    """Empty, too long, or no UTF-8."""
    with pytest.raises(Refused, match="message_id must be UTF-8"):
        message_id_of(text)
