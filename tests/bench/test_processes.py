"""Processor time of other processes."""

import os
import sys
from time import process_time

import pytest

from tokenmill.bench.processes import processor_seconds


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
