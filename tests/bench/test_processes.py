"""What the system knows of processes."""

import os
import subprocess
import sys
import time
from time import process_time

import pytest

from tokenmill.bench.processes import processor_seconds, queued_seconds, resident_bytes


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
def test_processor_time_is_what_the_process_itself_knows() -> None:
    """To the hundredth of a second that the kernel counts in."""
    before = process_time()
    while process_time() - before < 0.1:
        pass
    seconds = processor_seconds(os.getpid())
    assert seconds is not None
    assert seconds == pytest.approx(process_time(), abs=0.1)


def test_a_process_that_is_gone_has_none() -> None:
    """A benchmark then says that it does not know."""
    assert processor_seconds(2**30) is None
    assert resident_bytes(2**30) is None
    assert queued_seconds(2**30) is None


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
def test_time_in_line_for_a_processor_is_known() -> None:
    """Of a process that shares its only processor with another it is about half of the time."""
    allowed = os.sched_getaffinity(0)
    busy = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"
    command = [sys.executable, "-c", f"import os; os.sched_setaffinity(0, {{{min(allowed)}}})\n{busy}"]
    with subprocess.Popen(command) as one, subprocess.Popen(command) as other:
        try:
            deadline = time.monotonic() + 30
            while (queued := queued_seconds(one.pid)) is not None and queued < 0.2 and time.monotonic() < deadline:
                time.sleep(0.05)
        finally:
            one.kill()
            other.kill()
    assert queued is not None
    assert queued >= 0.2


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
def test_memory_is_what_the_process_holds_now() -> None:
    """In bytes: what is filled counts, and no longer when it is given back."""
    before = resident_bytes(os.getpid())
    filled = b"x" * (64 << 20)
    full = resident_bytes(os.getpid())
    del filled
    after = resident_bytes(os.getpid())
    assert before is not None
    assert full is not None
    assert after is not None
    assert full - before > 60 << 20 < full - after
