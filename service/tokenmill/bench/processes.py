"""What the system knows of a process: processor time and memory."""

import os
from pathlib import Path

TICKS_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def processor_seconds(pid: int) -> float | None:
    """Seconds of processor time that a process has used, all its threads together; None where /proc does not exist."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    user, system = fields[11:13]
    return (int(user) + int(system)) / TICKS_S


def queued_seconds(pid: int) -> float | None:
    """Seconds that the main thread of a process stood in line for a processor; None where Linux does not tell."""
    try:
        waited = Path(f"/proc/{pid}/schedstat").read_text(encoding="utf-8").split()[1]
    except OSError:
        return None
    return int(waited) / 1e9


def resident_bytes(pid: int) -> int | None:
    """Memory that a process holds now; None where /proc does not exist."""
    try:
        resident = Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1]
    except OSError:
        return None
    return int(resident) * PAGE_BYTES
