"""A clock for what others count down meanwhile: sessions, and the time for which Kafka keeps an id."""

import time

_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", None)


def boot_clock() -> float:
    """Return monotonic seconds that include suspensions of the machine: on Linux `time.monotonic` leaves them out."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)
