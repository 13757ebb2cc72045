"""The settings of the inspector are safe as they are."""

import pytest

from tokenmill.config import load_config
from tokenmill.config.inspect import Inspect
from tokenmill.errors import ConfigError


def test_the_page_is_this_machine_s_alone() -> None:
    """It authenticates nobody."""
    assert Inspect().bind == "127.0.0.1"
    with pytest.raises(ConfigError, match=r"inspect\.bind: 10\.0\.0\.1 can be reached from elsewhere"):
        load_config(None, {"TOKENMILL_INSPECT__BIND": "10.0.0.1"})
