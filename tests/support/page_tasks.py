"""How long a page's tasks take, in time of its thread: other processes count little, unlike by the clock."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Page

CATEGORIES = ["toplevel"]
"""Chromium's own records of the tasks of each thread."""

TASK_MS = 250
"""The longest that a task may be. A person notices 100 ms, which the page keeps on a machine of its own. Beside other
programs the collector's helpers come late, and the page's thread does their work: up to 217 ms were seen on two cores
with other tests, where what a long task costs by a mistake is seconds."""

HEAP_BYTES = 150_000_000
"""The most that the page's scripts may hold."""

TASK = "ThreadControllerImpl::RunTask"
PAGES_THREAD = "CrRendererMain"


@asynccontextmanager
async def traced(page: Page) -> AsyncIterator[list[float]]:
    """The tasks of the page's thread as milliseconds of its processor time, longest first; filled at the end."""
    browser = page.context.browser
    assert browser is not None
    found = list[float]()
    await browser.start_tracing(page=page, categories=CATEGORIES)
    yield found
    found += tasks(json.loads(await browser.stop_tracing())["traceEvents"])


def tasks(trace: list[dict[str, Any]]) -> list[float]:
    """Milliseconds of each task of a page's thread, longest first."""
    threads = {
        (each["pid"], each["tid"])
        for each in trace
        if each["name"] == "thread_name" and each["args"]["name"] == PAGES_THREAD
    }
    own = (each for each in trace if each["name"] == TASK and (each["pid"], each["tid"]) in threads)
    return sorted((each["tdur"] / 1000 for each in own if "tdur" in each), reverse=True)  # the last one has not ended


async def heap(page: Page) -> float:
    """Bytes that the page's scripts hold."""
    session = await page.context.new_cdp_session(page)
    await session.send("HeapProfiler.collectGarbage")
    await session.send("Performance.enable")
    found = (await session.send("Performance.getMetrics"))["metrics"]
    return next(float(each["value"]) for each in found if each["name"] == "JSHeapUsedSize")
