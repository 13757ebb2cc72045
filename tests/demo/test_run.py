"""The demo as a whole, as a newcomer runs it."""

import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.structure.tree import CHECKOUT
from tokenmill.demo.run import COPIES
from tokenmill.demo.samples import samples

pytestmark = pytest.mark.integration

DEMO = [sys.executable, "-m", "tokenmill", "demo"]
DEADLINE_S = 150
"""The demo has its own, shorter deadlines; this one is for a machine that does other things, too."""

BROKEN = [sample for sample in samples() if sample.error]


@pytest.fixture
def temporary(tmp_path: Path) -> Iterator[Path]:
    """A folder for the demo's temporary ones; it must be empty afterwards."""
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


def environment(temporary: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(temporary), "PYTHONUNBUFFERED": "1"}


def test_the_whole_flow_in_plain_lines(temporary: Path) -> None:
    """Every conversation is shown with what came of it, then the counts; nothing is left behind."""
    run = subprocess.run(
        DEMO, env=environment(temporary), capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert "\x1b" not in run.stdout
    lines = [line.split() for line in run.stdout.splitlines()]
    everything = len(samples())
    for sample in samples():
        assert f"── {sample.name} {sample.about}" in run.stdout
    assert lines.count(["finish", "tool-calls"]) >= len(samples()) / 2
    assert lines.count(["finish", "cancelled"]) == 1
    assert ["finish", str(everything), str(everything * COPIES)] in lines
    assert sum(line[:1] == ["error"] and line[1].endswith("-call:") for line in lines) == len(BROKEN)
    assert ["dead", "letters", "1", "undecodable", "1"] in lines
    tutorial = (CHECKOUT / "docs" / "tutorial.md").read_text()
    (conversation,) = re.findall(r"```text\n(── letters .*?)```", tutorial, flags=re.DOTALL)
    assert conversation in run.stdout
    assert f"The gateway served {everything} conversations over HTTP" in run.stdout


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A child can be interrupted also if these tests run in the background of a shell, which ignores SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_cleans_up_when_it_is_stopped(how: signal.Signals, temporary: Path) -> None:
    """Its worker and its Redis end with it, and so does its folder."""
    with subprocess.Popen(DEMO, env=environment(temporary), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("──".encode()):  # the first conversation
                break
        process.send_signal(how)
        assert process.wait(DEADLINE_S) == 128 + how
        assert process.stderr is not None
        assert process.stderr.read().strip() == b""


@pytest.mark.usefixtures("interruptible")
def test_kept_open_it_shows_an_answer_at_the_address_of_its_last_line(temporary: Path) -> None:
    """What is written meanwhile can be read there; Ctrl-C ends it."""
    keeping = [*DEMO, "--keep"]
    with subprocess.Popen(
        keeping, env=environment(temporary), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        address = next((line for line in process.stdout if line.startswith(b"http://")), None)
        assert address is not None, process.stderr and process.stderr.read()
        with urllib.request.urlopen(address.decode().strip(), timeout=DEADLINE_S) as answer:  # noqa: S310 -- it is http
            assert answer.headers["content-type"].startswith("text/event-stream")
            lines = iter(answer)
            assert any(b'"type":"tool-call"' in line for line in lines)
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE_S) == 128 + signal.SIGINT
        assert process.stderr is not None
        assert process.stderr.read().strip() == b""
