"""Whether processes run, and what short ones print."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def there(pid: int) -> bool:
    """Whether a process has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def printed(arguments: Sequence[str], hash_seed: str) -> str:
    """What a Python of its own, with this hash seed, prints."""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True).stdout
