"""Thousands of small cases as few tests: to find, schedule and report a test costs more than to check such a case."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Case = TypeVar("Case")


def every(cases: Iterable[Case], check: Callable[[Case], None], name: Callable[[Case], str]) -> None:
    """Check all cases, also behind one that fails. Raises what is wrong with each that does, with its name."""
    failures = []
    for case in cases:
        try:
            check(case)
        except Exception as failure:  # noqa: BLE001 -- raised again with the others
            failure.add_note(f"in the case: {name(case)}")
            failures.append(failure)
    if failures:
        raise ExceptionGroup(f"{len(failures)} cases fail", failures)
