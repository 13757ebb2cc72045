"""Sources of answers in users' programs: asynchronous iterables, which are closed when their reader has done."""

import logging
from collections.abc import AsyncIterable, AsyncIterator
from inspect import isawaitable
from typing import Any

log = logging.getLogger(__name__)


async def close_source(source: AsyncIterable[Any], items: AsyncIterator[Any]) -> None:
    """Close a source and its iterator, where they can be closed: a model must not write for nobody.

    Errors are only logged: they change nothing about what was read.
    """
    for each in (items,) if items is source else (items, source):
        close = getattr(each, "aclose", None) or getattr(each, "close", None)
        try:
            if close is not None and isawaitable(closing := close()):
                await closing
        except Exception as problem:  # noqa: BLE001 -- foreign code may raise anything
            log.warning("a source did not close cleanly: %r", problem)
