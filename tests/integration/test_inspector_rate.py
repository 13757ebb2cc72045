"""The live view of a long answer, at the rate of a busy conversation and as a recording: it stays quick, and small."""

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.support.inspecting_live import config_of, live, page_at, published
from tests.support.page_tasks import HEAP_BYTES, TASK_MS, heap, traced
from tests.support.recorded import recording
from tests.support.stage import Stage

pytestmark = [pytest.mark.integration, pytest.mark.slow]

LONG = 100_000
EVENTS = 20_000
RATE = 500
TICK_S = 0.02


async def write(stage: Stage) -> None:
    """An answer of so many tokens, at that rate."""
    loop = asyncio.get_running_loop()
    began, sent = loop.time(), 0
    await stage.send("c", {"message_id": "m", "open": {"format": "hermes"}, "delta": "Once "})
    while sent < EVENTS:
        due = min(EVENTS, int((loop.time() - began) * RATE))
        words = [f"word {number}, " for number in range(sent, due)]
        await stage.send_all(("c", {"message_id": "m", "delta": word}) for word in words)
        sent = due
        await asyncio.sleep(TICK_S)  # the rate is what is tested
    await stage.send("c", {"message_id": "m", "finish_reason": "stop"})


async def test_a_recording_of_a_hundred_thousand_events_is_shown(tmp_path: Path) -> None:
    """All of it, and the way back through it."""
    lines = tmp_path / "long.jsonl"
    lines.write_bytes(recording([f"word {number}, " for number in range(LONG)], published=LONG, format="plain"))
    async with page_at("live", None) as page:
        async with traced(page) as tasks:
            await page.get_by_label("Open a recording").set_input_files(lines)
            await expect(page.get_by_test_id("live-status")).to_contain_text("all of the rec")
            await expect(page.get_by_test_id("step")).to_have_text(f"{LONG} of {LONG}")
            await page.get_by_test_id("events").evaluate("each => each.scrollTop = 100_000")
            await page.get_by_role("button", name="Previous").click()
            await expect(page.get_by_test_id("step")).to_have_text(f"{LONG - 1} of {LONG}")
        await expect(page.get_by_test_id("position")).to_be_empty()
        assert tasks[0] <= TASK_MS
        assert await heap(page) <= HEAP_BYTES


async def test_twenty_thousand_events_are_followed_as_they_come(stage: Stage) -> None:
    """At 500 a second: each is shown, and no task of the page is long."""
    await stage.start()
    async with live(config_of(stage), "c") as page:
        async with traced(page) as tasks:
            await write(stage)
            await expect(page.get_by_test_id("event").last).to_have_attribute("data-type", "finish")
            await published(page)
        await expect(page.get_by_test_id("position")).to_contain_text(f"{EVENTS + 5:,} events")
        assert len(tasks) > EVENTS / RATE
        assert tasks[0] <= TASK_MS
        assert await heap(page) <= HEAP_BYTES
