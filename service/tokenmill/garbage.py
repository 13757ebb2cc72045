"""When Python looks for garbage: seldom, and not while many objects are made that all stay."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

GARBAGE_THRESHOLD = 50_000
"""New objects before the collector looks for cycles. Records, chunks and outputs make none; looking through them every
700 objects, as Python does by default, costs more than reading them."""


def tune_garbage_collector() -> None:
    """Leave out what lives as long as the process, and look for cycles less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD, 20, 20)


@contextmanager
def frozen_imports(module: str) -> Iterator[None]:
    """No search for garbage while a module is imported, nor in what was: that takes a sixth of a worker's start.

    What is imported lives as long as the process. Where something is frozen already, as in a process that runs tests,
    whoever did that sees to it. To ask goes through all that is, so it is asked once for each module.
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
    """No search for garbage meanwhile, for what makes many objects and drops none of them.

    A restore makes a dozen a message. Searched through again and again as they grow in number, they would take two
    thirds of its time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
