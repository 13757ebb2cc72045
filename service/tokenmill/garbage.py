"""Tuning of Python's garbage collector: it runs rarely, and not while many lasting objects are made."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

GARBAGE_THRESHOLD = 50_000
"""New objects before the collector looks for cycles. Records, chunks and outputs have none; searching them every 700
objects, as Python does by default, costs more than reading them."""


def tune_garbage_collector() -> None:
    """Exclude objects that live as long as the process, and look for cycles less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD, 20, 20)


@contextmanager
def frozen_imports(module: str) -> Iterator[None]:
    """Collect no garbage while a module is imported, nor in its objects later: this saves a sixth of a worker's start.

    Imported objects live as long as the process. If something is frozen already, as in a process that runs tests, this
    does nothing. That check walks all frozen objects, so it is made once per module.
    """
    if module in sys.modules or gc.get_freeze_count() or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        gc.enable()


@contextmanager
def gc_paused() -> Iterator[None]:
    """Collect no garbage in a block that makes many objects and drops none of them.

    A restore makes a dozen per message. Searching them again and again as they grow in number would take two thirds of
    its time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
