"""A pipe that is full, as nobody reads it: a log that nobody takes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def unread_pipe() -> Iterator[int]:
    """The writing end, whose next write waits for ever."""
    reading, writing = os.pipe()
    try:
        os.set_blocking(writing, False)
        with suppress(BlockingIOError):
            while os.write(writing, bytes(65_536)):
                pass
        os.set_blocking(writing, True)
        yield writing
    finally:
        os.close(reading)
        os.close(writing)
