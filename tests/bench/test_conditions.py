"""What figures depend on besides the code."""

import os
import platform

from tokenmill.bench.conditions import PACKAGES, conditions, processor


def test_the_processor_has_a_name() -> None:
    """Its maker's, or at least that of the architecture."""
    assert processor()


def test_conditions_are_told() -> None:
    """The interpreter, the machine, how busy it was, and the packages that the work is done by."""
    told = conditions()
    assert told["python"] == platform.python_version()
    assert told["processors"] == f"{os.cpu_count()} of {processor()}"
    assert {"load average afterwards", *PACKAGES} <= told.keys()
