"""A hundred thousand events in the playground, and lines of a megabyte: the page stays quick, and small.

What is measured is processor time of the page's own thread, task by task, as Chromium records it: on a machine that is
busy with something else a task takes longer by the clock, and that is not the page's doing. The heap is what is left
of it after a collection.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.support.inspecting import opened
from tests.support.page_tasks import HEAP_BYTES, TASK_MS, heap, traced
from tokenmill.limits import MIB

pytestmark = [pytest.mark.integration, pytest.mark.slow]

EVENTS = 100_000

LOAD_MS = 60_000
"""It takes some seconds; a machine with much to do needs longer."""

CALLS = 200

SCROLL = """async () => {
  for (const list of document.querySelectorAll(".events, .strip")) {
    for (let part = 0; part <= 30; part++) {
      list.scrollTop = (list.scrollHeight * part) / 30;
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
  }
}"""


def records() -> Iterator[dict[str, Any]]:
    """Of a stream: words, and between them calls whose arguments grow."""
    for call in range(CALLS):
        yield from ({"delta": f"word{word} "} for word in range(EVENTS // CALLS // 2))
        yield {"tool_calls": [{"index": call, "id": f"c{call}", "function": {"name": "f", "arguments": '{"a": "'}}]}
        for word in range(EVENTS // CALLS // 2):
            yield {"tool_calls": [{"index": call, "function": {"arguments": f"word{word} "}}]}
        yield {"tool_calls": [{"index": call, "function": {"arguments": '"}'}}]}


async def test_a_captured_stream_of_a_hundred_thousand_events(tmp_path: Path) -> None:
    """Loaded from a file."""
    stream = tmp_path / "stream.jsonl"
    stream.write_text("\n".join(map(json.dumps, records())))
    async with opened() as page:
        await page.get_by_label("Codec").select_option("native")
        async with traced(page) as loading:
            await page.get_by_label("From a file").set_input_files(stream)
            await events(page)
        await used(page)
    assert loading[0] <= TASK_MS


async def test_a_text_of_a_hundred_thousand_pieces() -> None:
    """Cut in front of every character."""
    async with opened("play", {"text": "a" * EVENTS, "format": "plain"}) as page:
        async with traced(page) as loading:
            await page.get_by_role("button", name="Pieces of this size").click()
            await events(page)
        await used(page)
    assert loading[0] <= TASK_MS


async def test_lines_of_a_megabyte(tmp_path: Path) -> None:
    """In text, reasoning, an argument, a tool's name, a part, an error; "Show all" brings the rest in pieces."""
    stream = tmp_path / "stream.jsonl"
    stream.write_text("\n".join(map(json.dumps, long_records())))
    async with opened() as page:
        await page.get_by_label("Codec").select_option("native")
        async with traced(page) as loading:
            await page.get_by_label("From a file").set_input_files(stream)
            await expect(page.get_by_test_id("status")).to_contain_text(f"in {len(long_records()) + 1} steps")
        async with traced(page) as using:
            for event in (await page.get_by_test_id("event").all())[-5:]:
                await event.click()
            for key in ("ArrowLeft", "ArrowRight"):
                await page.locator("body").press(key)
            part = page.get_by_test_id("part")
            await part.get_by_role("button", name="Show all").click()
            await expect(part.locator(".piece").last).to_contain_text('END"', timeout=LOAD_MS)
    assert loading[0] <= TASK_MS
    assert using[0] <= TASK_MS


def long_records() -> list[dict[str, Any]]:
    """One for each place."""
    long = "x" * MIB + "END"
    return [
        {"reasoning": long},
        {"delta": long},
        {"tool_calls": [{"index": 0, "id": "c", "function": {"name": long, "arguments": "{}"}}]},
        {"part": {"kind": "citation", "value": long}},
        {"error": long},
        {"tool_calls": [{"index": 1, "id": "d", "function": {"name": "f", "arguments": json.dumps({"a": long})}}]},
    ]


async def events(page: Page) -> None:
    """All are there."""
    await expect(page.get_by_test_id("status")).to_have_text(re.compile(r"^\d{3},\d{3} events"), timeout=LOAD_MS)


async def used(page: Page) -> None:
    """Stepping, scrolling and choosing take no long task either, and the heap is small."""
    async with traced(page) as using:
        for _ in range(5):
            await page.get_by_role("button", name="Previous").click()
        await page.get_by_role("slider", name="Step").fill(str(EVENTS // 2))
        await page.evaluate(SCROLL)
        for key in ("Home", "ArrowDown", "End"):
            await page.get_by_test_id("events").press(key)
    assert using[0] <= TASK_MS
    assert await heap(page) <= HEAP_BYTES
