"""`tokenmill gateway`; what it does is tested with `gateway/`."""

from typing import Any

import pytest

from tokenmill.__main__ import main
from tokenmill.commands import gateway
from tokenmill.config import Config


@pytest.mark.parametrize("code", [0, 1])
def test_it_runs_the_gateway_and_passes_its_exit_code_on(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the configuration of file, environment and command line."""
    given: list[Config] = []

    def run(config: Config) -> Any:
        given.append(config)
        return code

    monkeypatch.setattr(gateway, "run_gateway", run)
    assert main(["gateway", "--bootstrap", "k:1"]) == code
    assert [config.kafka.bootstrap_servers for config in given] == ["k:1"]
