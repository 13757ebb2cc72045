"""What a page costs its browser: its longest task, and its heap.

A task is measured by the processor time of the page's main thread, as Chromium's own trace has it: on a machine with
much else to do a task takes longer on the clock, and is no longer for it.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Page

TASK = "ThreadControllerImpl::RunTask"
MAIN = "CrRendererMain"

TASK_MS = 100.0
"""The longest that a task may be: a person notices a pause that is longer."""

HEAP_BYTES = 150 * 1024 * 1024
"""The most that the page may hold."""


class Cost:
    """Known when the block is over."""

    def __init__(self) -> None:
        self.longest_ms = 0.0
        self.tasks = 0
        self.heap_bytes = 0


@asynccontextmanager
async def cost_of(page: Page) -> AsyncIterator[Cost]:
    """What happens on the page within the block."""
    browser, cost = page.context.browser, Cost()
    assert browser is not None
    await browser.start_tracing(page=page, categories=["toplevel", "__metadata"])
    yield cost
    events = json.loads(await browser.stop_tracing())["traceEvents"]
    mains = {_thread(each) for each in events if each.get("name") == "thread_name" and each["args"]["name"] == MAIN}
    times = [
        each["tdur"] / 1000 for each in events if each["name"] == TASK and _thread(each) in mains and "tdur" in each
    ]
    cost.tasks, cost.longest_ms = len(times), max(times)
    session = await page.context.new_cdp_session(page)
    await session.send("HeapProfiler.collectGarbage")
    await session.send("Performance.enable")
    measured = (await session.send("Performance.getMetrics"))["metrics"]
    cost.heap_bytes = next(int(each["value"]) for each in measured if each["name"] == "JSHeapUsedSize")


def _thread(event: dict[str, Any]) -> tuple[int, int]:
    return event["pid"], event["tid"]
