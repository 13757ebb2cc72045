"""A front and all that it needs, as one command."""

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from tokenmill.demo.embedded import hang_up, stay, variable
from tokenmill.errors import FatalError
from tokenmill.servers.process import Server, deaths, free_port

pytestmark = pytest.mark.integration

DEADLINE_S = 120

FILE = """
[kafka]
bootstrap_servers = "nobody:1"
[redis]
url_file = "redis-url"
[worker]
delivery = "exactly-once"
[front]
port = {front}
[gateway]
port = 0
[[upstreams]]
models = ["qwen"]
kind = "vllm"
urls = ["http://127.0.0.1:1"]
api_key_file = "key"
"""


class Toy(Server):
    """A shell script for a server."""

    def __init__(self, folder: Path, name: str, script: str) -> None:
        super().__init__(folder)
        self.name = name
        self._script = script

    def command(self) -> Sequence[str]:
        return ["/bin/sh", "-c", self._script]

    def ready(self) -> bool:
        return b"ready" in self.log.read_bytes()


@pytest.fixture
def temporary(tmp_path: Path) -> Iterator[Path]:
    """A folder for temporary ones; it must be empty afterwards."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    yield folder
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_all_of_it_with_the_configuration_of_the_user(how: signal.Signals, tmp_path: Path, temporary: Path) -> None:
    """Files are where they were, ports as they say, Kafka and Redis are others; one signal ends it, with 0."""
    port = free_port()
    (tmp_path / "front.toml").write_text(FILE.format(front=port), encoding="utf-8-sig")  # as some editors do
    (tmp_path / "redis-url").write_text("redis://nobody:1")
    (tmp_path / "key").write_text("secret")
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "tokenmill", "front", "--embedded", "--config", "front.toml"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # the background of a shell ignores it
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        signal.signal(signal.SIGINT, before)
        assert process.stdout is not None
        assert process.stderr is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if line.startswith("Ctrl-C"):
                break
        assert f"  front    http://127.0.0.1:{port}/v1, " in "".join(said), process.stderr.read()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=DEADLINE_S) as answer:
            assert b'"id":"qwen"' in answer.read()
        process.send_signal(how)
        assert process.wait(DEADLINE_S) == 0
        assert process.stderr.read().strip() == ""


def test_what_ends_by_itself_is_said_with_its_last_words(tmp_path: Path) -> None:
    """And nobody waits on."""
    with ExitStack() as running:
        servers = [
            running.enter_context(Toy(tmp_path / "a", "the one", "echo ready; exec sleep 60")),
            running.enter_context(Toy(tmp_path / "b", "the other", "echo ready; sleep 0.5; echo no more; exit 3")),
        ]
        assert deaths(servers[:1]) == ""
        with pytest.raises(FatalError, match=r"^the other has ended with 3: ready\nno more$"):
            stay(servers)


def test_a_terminal_that_goes_away_is_a_ctrl_c() -> None:
    """Where nobody said that it has to go on."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        with pytest.raises(KeyboardInterrupt), hang_up():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.signal(signal.SIGHUP, signal.SIG_IGN) is signal.SIG_DFL
        with hang_up():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_settings_as_variables() -> None:
    """Named as `tokenmill.config` reads them."""
    assert variable("front", "ops_port") == "TOKENMILL_FRONT__OPS_PORT"
