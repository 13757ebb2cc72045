"""`tokenmill gateway`; what it does is tested with `gateway/`."""

from typing import Any

import pytest

from tokenmill.__main__ import main
from tokenmill.commands import gateway
from tokenmill.config import Config
from tokenmill.gateway.host import Beside, nothing_beside
from tokenmill.inspector.host import beside_gateway


@pytest.mark.parametrize("code", [0, 1])
def test_it_runs_the_gateway_and_passes_its_exit_code_on(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the configuration of file, environment and command line; the inspector beside it, if that is asked for."""
    given: list[tuple[Config, Beside]] = []

    def run(config: Config, beside: Beside) -> Any:
        given.append((config, beside))
        return code

    monkeypatch.setattr(gateway, "run_gateway", run)
    assert main(["gateway", "--bootstrap", "k:1"]) == code
    monkeypatch.setenv("TOKENMILL_GATEWAY__INSPECT", "true")
    assert main(["gateway", "--bootstrap", "k:1"]) == code
    assert [config.kafka.bootstrap_servers for config, _ in given] == ["k:1", "k:1"]
    assert [beside for _, beside in given] == [nothing_beside, beside_gateway]
