"""The clock that also runs while the machine is suspended."""

import time

from tokenmill.kafka.boot_clock import boot_clock


def test_it_is_the_one_that_counts_suspensions() -> None:
    """Where the system has one; it never goes back."""
    which = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    before = time.clock_gettime(which)
    assert before <= boot_clock() <= time.clock_gettime(which)
