"""What aiokafka leaves to Python's collector of cycles: the one file that changes how its consumers drop records.

What a fetch brought is read by a generator that refers to it, and that it refers to: up to a megabyte for each
partition, which stays until the collector runs if it is dropped before its end. That happens at each seek, assignment
and end of a reader, and the collector runs rarely in our processes (`garbage`): readers of the past left half a
gibibyte. Here the two are parted as soon as the consumer drops what it fetched.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from aiokafka.consumer.fetcher import FetchResult


def _part(records: Any) -> None:
    """Part what was fetched from its generator. None: all of it was read."""
    if records is not None:
        records._records_iterator = None


def _dropped(result: Any) -> None:
    """Free what was fetched with the result, as its `__del__`."""
    _part(getattr(result, "_partition_records", None))  # its own `__init__` may have failed


def _checked(check: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Free what was fetched if the check finds that it is not wanted any longer, and so has dropped it."""

    @wraps(check)
    def checked(result: Any, place: Any) -> bool:
        records = result._partition_records
        wanted = check(result, place)
        if not wanted:
            _part(records)
        return wanted

    return checked


FetchResult.__del__ = _dropped
FetchResult.check_assignment = _checked(FetchResult.check_assignment)
