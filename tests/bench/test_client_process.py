"""A process of clients that breaks off; whole ones are in `test_answer_clients.py` and `test_sse_clients.py`."""

import os
from pathlib import Path

import msgspec
import pytest

from tokenmill.bench.client_process import ClientProcess
from tokenmill.errors import FatalError


class Nothing(msgspec.Struct):
    """A job, and results."""


def test_a_process_that_has_ended_is_reported_with_its_last_words(tmp_path: Path) -> None:
    """Whatever is waited for: a word, or the results."""
    with ClientProcess("tokenmill.no_such_module", tmp_path / "log", Nothing()) as process:
        assert process.pid > 0
        with pytest.raises(FatalError, match=r"does not begin: .*no_such_module"):
            process.expect("begun", "it does not begin")
        with pytest.raises(FatalError, match=r"clients failed: .*no_such_module"):
            process.results(Nothing)


def test_a_process_that_takes_no_line_is_reported_likewise(tmp_path: Path) -> None:
    """As when the system ended it meanwhile: what the block raises is its end, and nothing else."""

    def told() -> None:
        with ClientProcess("tokenmill.no_such_module", tmp_path / "log", Nothing()) as process:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            process.tell()

    with pytest.raises(FatalError, match=r"clients failed: .*no_such_module"):
        told()
