"""The demo of the front as a whole, as a newcomer runs it."""

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tokenmill.demo.front import TURNS

pytestmark = pytest.mark.integration

DEMO = [sys.executable, "-m", "tokenmill", "demo", "--front"]
DEADLINE_S = 150
"""The demo has its own, shorter deadlines; this one is for a machine that does other things, too."""


@pytest.fixture
def temporary(tmp_path: Path) -> Iterator[Path]:
    """A folder for the demo's temporary ones; it must be empty afterwards."""
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


def environment(temporary: Path) -> dict[str, str]:
    other = {"TOKENMILL_UPSTREAMS": "[]", "TOKENMILL_KAFKA__BOOTSTRAP_SERVERS": "nobody:1"}
    return {**os.environ, **other, "TMPDIR": str(temporary), "PYTHONUNBUFFERED": "1"}


def test_clients_of_three_apis_in_plain_lines(temporary: Path) -> None:
    """Each gets the call that the model wrote, whatever else the environment configures; nothing is left behind."""
    run = subprocess.run(
        DEMO, env=environment(temporary), capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert "\x1b" not in run.stdout
    for turn in TURNS:
        assert f"── {turn.about} POST {turn.path}, model {turn.body['model']}, which writes" in run.stdout
        assert f"  finish     {turn.finish}" in run.stdout
    assert run.stdout.count("  call       get_weather\n") == len(TURNS)
    assert "  text       The tool says: 21 degrees, no rain\n" in run.stdout
    assert run.stdout.endswith("Every answer was what it has to be.\n"), "no address of what has ended is named"


def test_kept_open_it_answers_at_the_addresses_that_it_names(temporary: Path) -> None:
    """Until it is told to end; all that it started ends with it."""
    with subprocess.Popen(
        [*DEMO, "--keep"], env=environment(temporary), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        command = next((line for line in process.stdout if line.startswith("curl ")), None)
        assert command is not None, process.stderr.read()
        with urllib.request.urlopen(command.split()[1], timeout=DEADLINE_S) as answer:  # noqa: S310 -- it is http
            assert b'"id":"kimi_k2"' in answer.read()
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 128 + signal.SIGTERM
        assert process.stderr.read().strip() == ""
