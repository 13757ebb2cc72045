"""The settings of tools."""

import pytest

from tokenmill.config import load_config
from tokenmill.errors import ConfigError


def test_no_server_is_waited_for_without_an_end() -> None:
    """Nor not at all; and the variable is named as all others are."""
    assert load_config(None, {"TOKENMILL_TOOLS__CONNECT_S": "5"}).tools.connect_s == 5
    for seconds in ("0", "-1", "inf"):
        with pytest.raises(ConfigError, match=r"^tools\.connect_s: "):
            load_config(None, {"TOKENMILL_TOOLS__CONNECT_S": seconds})
