"""The processor time and memory of a process, as the system reports them."""

import os
from pathlib import Path

TICKS_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def processor_seconds(pid: int) -> float | None:
    """Return the seconds of processor time that a process has used, with all its threads; None without /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    user, system = fields[11:13]
    return (int(user) + int(system)) / TICKS_S


def queued_seconds(pid: int) -> float | None:
    """Return the seconds that a process's main thread waited for a processor; None if the system does not report it."""
    try:
        waited = Path(f"/proc/{pid}/schedstat").read_text(encoding="utf-8").split()[1]
    except OSError:
        return None
    return int(waited) / 1e9


def resident_bytes(pid: int) -> int | None:
    """Return the bytes of memory that a process holds now; None without /proc."""
    try:
        resident = Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1]
    except OSError:
        return None
    return int(resident) * PAGE_BYTES
