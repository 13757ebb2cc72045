"""Many open messages in one process."""

import json
import subprocess
import sys

import msgspec
import pytest

from tokenmill.bench import open_messages
from tokenmill.bench.open_messages import STEPS, Crowd, run_memory
from tokenmill.errors import FatalError


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
def test_memory_is_looked_at_while_messages_are_opened() -> None:
    """In steps, up to the number that was asked for; each message takes something, and not many times its budget."""
    # In a process of its own: memory that earlier tests gave back would be taken before any new.
    command = [sys.executable, "-m", "tokenmill", "bench", "memory", "--messages", "5000", "--json"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    crowd = msgspec.convert(json.loads(run.stdout), Crowd)
    assert [held.messages for held in crowd.steps] == [5_000 * step // STEPS for step in range(1, STEPS + 1)]
    assert len(run.stderr.splitlines()) == STEPS
    assert 500 < crowd.last.bytes_per_message < 5_000
    assert crowd.peak_bytes > 5_000 * crowd.last.bytes_per_message


def test_a_system_that_tells_nothing_is_said_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing to measure then."""
    monkeypatch.setattr(open_messages, "resident_bytes", lambda _: None)
    with pytest.raises(FatalError, match="needs /proc"):
        run_memory(messages=1, progress=lambda _: None)
