"""A time limit for each of a loop's many waits, with a single timer."""

import asyncio
import time


class ResettableTimeout:
    """Raises `TimeoutError` from a `with` block that takes longer than this many seconds.

    The blocks of an answer share one timer; `asyncio.timeout` would create one for each, and so for each token.
    """

    def __init__(self, seconds: float) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 -- a coroutine is run by one
        self._task = task
        self._loop = asyncio.get_running_loop()
        self._seconds = seconds
        self._since: float | None = None
        """When the current block began, in monotonic seconds; None outside of blocks."""
        self._late = False
        self._timer = self._loop.call_later(seconds, self._look)

    def __enter__(self) -> None:
        self._since = time.monotonic()

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, _trace: object) -> None:
        self._since = None
        if self._late and kind is asyncio.CancelledError and not self._task.uncancel():
            raise TimeoutError from problem

    def change(self, seconds: float) -> None:
        """Set how long later blocks may take, in seconds. Call it outside of blocks."""
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
