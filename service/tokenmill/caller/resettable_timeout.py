"""A deadline for each wait of a loop that has many."""

import asyncio
import time


class ResettableTimeout:
    """Ends each wait inside its `with` block that takes too long, with a `TimeoutError`.

    It has one timer for all waits of an answer, where `asyncio.timeout` takes one for each: that would be each token.
    """

    def __init__(self, seconds: float) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 -- a coroutine is run by one
        self._task = task
        self._loop = asyncio.get_running_loop()
        self._seconds = seconds
        self._since: float | None = None
        """When the wait began, if there is one."""
        self._late = False
        self._timer = self._loop.call_later(seconds, self._look)

    def __enter__(self) -> None:
        self._since = time.monotonic()

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, _trace: object) -> None:
        self._since = None
        if self._late and kind is asyncio.CancelledError and not self._task.uncancel():
            raise TimeoutError from problem

    def change(self, seconds: float) -> None:
        """Say how long waits may take from now on; to be called between two of them."""
        self._timer.cancel()
        self._seconds = seconds
        self._timer = self._loop.call_later(seconds, self._look)

    def close(self) -> None:
        """Stop the timer."""
        self._timer.cancel()

    def _look(self) -> None:
        waited = 0.0 if self._since is None else time.monotonic() - self._since
        self._late = waited >= self._seconds
        if self._late:
            self._task.cancel()
        else:
            self._timer = self._loop.call_later(self._seconds - waited, self._look)
