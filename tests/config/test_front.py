"""The settings of front and caller are safe as they are."""

import pytest

from tokenmill.config import Caller, Front, load_config
from tokenmill.errors import ConfigError


def test_nobody_else_can_reach_a_front_without_rights() -> None:
    """The defaults listen on the loopback only; and all three processes fit on one machine."""
    assert Front().bind == "127.0.0.1"
    assert len({Front().port, Front().ops_port, Caller().port}) == 3


@pytest.mark.parametrize(
    "key",
    ["front.first_s", "front.answer_s", "front.retry_s", "front.remember_s", "front.drain_s", "caller.lease_s"],
)
def test_nothing_is_waited_for_without_an_end(key: str) -> None:
    """Nor not at all."""
    variable = f"TOKENMILL_{key.replace('.', '__').upper()}"
    section, name = key.split(".")
    assert getattr(getattr(load_config(None, {variable: "5"}), section), name) == 5
    for seconds in ("0", "-1", "inf"):
        with pytest.raises(ConfigError, match=rf"^{key}: "):
            load_config(None, {variable: seconds})
