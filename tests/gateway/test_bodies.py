"""Bodies are what the reference says, and mistakes in them are named."""

import msgspec
import pytest

from tokenmill.gateway.bodies import Stop, ToolResultBody
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
