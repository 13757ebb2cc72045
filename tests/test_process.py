"""What long-running processes share: a deadline on their end, fewer searches for garbage."""

import gc
import threading

import pytest

from tokenmill.process import GARBAGE_THRESHOLD, Deadline, tune_garbage_collector


def test_the_garbage_collector_looks_less_often() -> None:
    """And not at what was there before the first record."""
    before = gc.get_threshold()
    try:
        tune_garbage_collector()
        assert gc.get_threshold()[0] == GARBAGE_THRESHOLD
        assert gc.get_freeze_count() > 0
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def test_a_deadline_ends_the_process_once(capsys: pytest.CaptureFixture[str]) -> None:
    """The first reason to end counts; a process that is over by then never notices."""
    ended, codes = threading.Event(), list[int]()

    def exit_process(code: int) -> None:
        codes.append(code)
        ended.set()

    deadline = Deadline(exit_process)
    deadline.start(0.01, "stop")
    deadline.start(0.0, "failure")
    assert ended.wait(10)
    assert codes == [1]
    assert "stop: not over after 0.01 s" in capsys.readouterr().err
