"""The settings of model servers."""

from typing import get_args

import pytest

from tokenmill.caller.kinds import KINDS
from tokenmill.config import Config, Upstream, load_config
from tokenmill.config.upstreams import Kind
from tokenmill.errors import ConfigError


def test_every_kind_that_can_be_named_is_there() -> None:
    """And none that can't."""
    assert [kind.name for kind in KINDS] == list(get_args(Kind))


def test_secrets_are_masked() -> None:
    """In whatever prints the configuration."""
    upstream = Upstream(models=["m"], urls=["http://a"], api_key="hidden-1")
    assert "hidden" not in repr(Config(upstreams=[upstream]))


@pytest.mark.parametrize("key", ["queue_s", "connect_s", "first_byte_s", "silence_s", "calls", "tries"])
def test_no_server_is_waited_for_without_an_end(key: str) -> None:
    """Nor not at all."""
    with pytest.raises(ConfigError, match=rf"^upstreams\[0\]\.{key}: "):
        load_config(None, {"TOKENMILL_UPSTREAMS": f'[{{"models": ["m"], "urls": ["http://a"], "{key}": 0}}]'})
