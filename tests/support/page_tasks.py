"""How long a page's tasks take, in time of its thread: other processes count little, unlike by the clock.

They do count where they share a core's caches and units, or the machine is a slow one. So a task of a fixed size runs
in the same page before and afterwards, and what a task may take grows with what that one took.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Page

CATEGORIES = ["toplevel"]
"""Chromium's own records of the tasks of each thread."""

TASK_MS = 100
"""The longest that a task may be: a person notices a longer pause."""

REFERENCE = """() => {
  const rows = Array.from({ length: 40_000 }, (_, number) => ({ number, text: `word ${number}` }));
  const list = document.createElement("ol");
  for (const row of JSON.parse(JSON.stringify(rows)).slice(0, 2_000)) {
    list.appendChild(document.createElement("li")).textContent = row.text;
  }
}"""
"""Objects, JSON and elements, as the page's own work."""

REFERENCE_MS = 50
"""What it takes where nothing else runs (Chromium 150, one core of an AMD EPYC, 2.6 GHz)."""

REFERENCES = 3
"""Runs at each end, of which the slowest counts."""

HEAP_BYTES = 150_000_000
"""The most that the page's scripts may hold."""

TASK = "ThreadControllerImpl::RunTask"
PAGES_THREAD = "CrRendererMain"


@dataclass
class Tasks:
    """Of the page's thread, in milliseconds of its processor time."""

    count: int = 0
    longest: float = 0.0
    allowed: float = TASK_MS
    """What the longest may be on a machine that is as slow as this one just is."""

    def quick(self) -> bool:
        """Whether nobody noticed one."""
        return self.longest <= self.allowed


@asynccontextmanager
async def traced(page: Page) -> AsyncIterator[Tasks]:
    """A block whose tasks are counted; they are known at its end."""
    found, paces = Tasks(), [await _pace(page)]
    async with _tracing(page) as durations:
        yield found
    paces.append(await _pace(page))
    found.count, found.longest = len(durations), durations[0]
    found.allowed = TASK_MS * max(1.0, *(pace / REFERENCE_MS for pace in paces))


async def _pace(page: Page) -> float:
    async with _tracing(page) as durations:
        for _ in range(REFERENCES):
            await page.evaluate(REFERENCE)
    return durations[0]


@asynccontextmanager
async def _tracing(page: Page) -> AsyncIterator[list[float]]:
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
