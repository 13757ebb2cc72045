"""`tokenmill caller`; what it does is tested with `caller/` and `front/`."""

from typing import Any

import pytest

from tokenmill.__main__ import main
from tokenmill.commands import caller
from tokenmill.config import Config


@pytest.mark.parametrize("code", [0, 1])
def test_it_runs_a_caller_and_passes_its_exit_code_on(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the configuration of file, environment and command line."""
    given: list[Config] = []

    def run(config: Config) -> Any:
        given.append(config)
        return code

    monkeypatch.setattr(caller, "run_caller", run)
    assert main(["caller", "--bootstrap", "k:1"]) == code
    assert [config.kafka.bootstrap_servers for config in given] == ["k:1"]
