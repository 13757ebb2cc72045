"""`tokenmill front`; what it does is tested with `front/host.py` and `demo/embedded.py`."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tokenmill.commands import front
from tokenmill.config import Config
from tokenmill.demo import embedded

FILE = """
[front]
port = 8500
[[upstreams]]
models = ["qwen"]
kind = "vllm"
urls = ["http://10.0.0.7:8000"]
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "tokenmill.toml"
    path.write_text(FILE)
    return str(path)


@pytest.mark.parametrize(("options", "caller"), [([], True), (["--no-caller"], False)])
def test_it_runs_a_front_with_what_is_configured(
    options: list[str], caller: bool, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a caller in it, unless it is told not to; the Kafka of the command line goes over the configuration."""
    given: list[Any] = []

    def run(config: Config, *, caller: bool) -> int:
        given.append((config.front.port, config.upstreams[0].models, config.kafka.bootstrap_servers, caller))
        return 0

    monkeypatch.setattr(front, "run_front", run)
    run_ = CliRunner().invoke(front.command, [*options, "--config", file, "--bootstrap", "k:1"])
    assert run_.exit_code == 0
    assert given == [(8500, ["qwen"], "k:1", caller)]


def test_it_starts_all_that_it_needs_where_it_is_asked_to(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the file that the configuration is from."""
    given: list[Any] = []

    def run(config: Config, path: Path, _console: object) -> int:
        given.append((config.front.port, path))
        return 0

    monkeypatch.setattr(embedded, "run_embedded", run)
    assert CliRunner().invoke(front.command, ["--embedded", "--config", file]).exit_code == 0
    assert given == [(8500, Path(file))]


@pytest.mark.parametrize("options", [["--no-caller"], ["--bootstrap", "k:1"]])
def test_what_is_embedded_is_whole(options: list[str], file: str) -> None:
    """With a broker of others, or without a caller, it is wrong usage."""
    run = CliRunner().invoke(front.command, ["--embedded", *options, "--config", file])
    assert run.exit_code == 2
    assert "leave out --no-caller and --bootstrap" in run.output
