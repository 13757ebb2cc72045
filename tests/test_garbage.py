"""When garbage is looked for."""

import gc

import pytest

from tokenmill.garbage import GARBAGE_THRESHOLD, gc_paused, tune_garbage_collector


def test_the_garbage_collector_looks_less_often() -> None:
    """And not at what was there before the first record."""
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    there = [list[int]() for _ in range(1_000)]
    try:
        tune_garbage_collector()
        assert gc.get_threshold()[0] == GARBAGE_THRESHOLD
        assert gc.get_freeze_count() >= frozen + len(there)
    finally:
        gc.set_threshold(*before)


def test_no_garbage_is_looked_for_meanwhile() -> None:
    """It is enabled again afterwards, even after an error; if it was off before, it stays off."""
    on = []

    def fails() -> None:
        with gc_paused():
            on.append(gc.isenabled())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert [*on, gc.isenabled()] == [False, True]
    gc.disable()
    try:
        with gc_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
