"""Processor time of other processes, to say what a benchmark was limited by."""

import os
from pathlib import Path

TICKS_S = os.sysconf("SC_CLK_TCK")


def processor_seconds(pid: int) -> float | None:
    """Seconds of processor time that a process has used, all its threads together; None where /proc does not exist."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    user, system = fields[11:13]
    return (int(user) + int(system)) / TICKS_S
