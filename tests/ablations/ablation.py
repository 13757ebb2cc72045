"""`Ablation`: a row of the table."""

from typing import NamedTuple


class Change(NamedTuple):
    """One replacement in a file of the package."""

    file: str
    right: str
    wrong: str


class Ablation(NamedTuple):
    """A part that is switched off."""

    part: str
    """What makes a promise true."""
    harm: str
    """What becomes of it without this part."""
    test: str
    """Which test notices, under `tests`."""
    changes: tuple[Change, ...]
