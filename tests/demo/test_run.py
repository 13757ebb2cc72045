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


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A child can be interrupted also if these tests run in the background of a shell, which ignores SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_the_whole_flow_in_plain_lines(temporary: Path) -> None:
    """Every conversation is shown with what came of it, then the counts, and nothing is left behind.

    Kept open, the demo goes on writing an answer at the address of its last line; Ctrl-C ends it.
    """
    keeping = [*DEMO, "--keep"]
    with subprocess.Popen(
        keeping, env=environment(temporary), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        shown: list[str] = []
        for line in process.stdout:
            shown.append(line)
            if line.startswith("http://"):
                break
        assert shown[-1].startswith("http://"), process.stderr.read()
        with urllib.request.urlopen(shown[-1].strip(), timeout=DEADLINE_S) as answer:  # noqa: S310 -- it is http
            assert answer.headers["content-type"].startswith("text/event-stream")
            assert any(b'"type":"tool-call"' in line for line in answer)
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE_S) == 128 + signal.SIGINT
        assert process.stderr.read().strip() == ""
    check_all_is_shown("".join(shown))


def check_all_is_shown(shown: str) -> None:
    """Each conversation, each count, and what the tutorial shows of it."""
    assert "\x1b" not in shown
    lines = [line.split() for line in shown.splitlines()]
    everything = len(samples())
    for sample in samples():
        assert f"── {sample.name} {sample.about}" in shown
    assert lines.count(["finish", "tool-calls"]) >= len(samples()) / 2
    assert lines.count(["finish", "cancelled"]) == 1
    assert ["finish", str(everything), str(everything * COPIES)] in lines
    assert sum(line[:1] == ["error"] and line[1].endswith("-call:") for line in lines) == len(BROKEN)
    assert ["dead", "letters", "1", "undecodable", "1"] in lines
    tutorial = (CHECKOUT / "docs" / "tutorial.md").read_text()
    (conversation,) = re.findall(r"```text\n(── letters .*?)```", tutorial, flags=re.DOTALL)
    assert conversation in shown
    assert f"The gateway served {everything} conversations over HTTP" in shown


def test_it_cleans_up_when_it_is_stopped(temporary: Path) -> None:
    """In the midst of it: its worker and its Redis end with it, and so does its folder."""
    with subprocess.Popen(DEMO, env=environment(temporary), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("──".encode()):  # the first conversation
                break
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 128 + signal.SIGTERM
        assert process.stderr is not None
        assert process.stderr.read().strip() == b""
