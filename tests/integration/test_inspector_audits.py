"""What Lighthouse leaves to people: the keyboard reaches everything and is caught nowhere, nothing moves by itself."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.support.browser import shared_browser
from tests.support.inspecting import opened

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

STOPS = 200
"""More than the page has."""

FOCUSED = """() => {
  const element = document.activeElement;
  if (element === document.body) return null;
  const { outlineStyle } = getComputedStyle(element);
  const after = getComputedStyle(element, "::after").outlineStyle;
  const kind = element.id || element.textContent.slice(0, 30) || element.className;
  return { kind, shown: outlineStyle !== "none" || after !== "none" };
}"""

MOVING = """() => document.getAnimations().length +
  [...document.querySelectorAll("*")].filter((each) => getComputedStyle(each).transitionDuration !== "0s").length"""

FIELDS = {"text": "One moment. <tool_call>{}</tool_call>", "format": "hermes", "cuts": [5]}


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def browser() -> AsyncIterator[None]:
    """One for all tests."""
    async with shared_browser():
        yield


async def test_the_keyboard_goes_through_the_page_and_out_of_it() -> None:
    """Each stop is seen to have the focus."""
    async with opened("play", FIELDS) as page:
        stops = list[dict[str, Any]]()
        for _ in range(STOPS):
            await page.keyboard.press("Tab")
            stop = await page.evaluate(FOCUSED)
            if stop is None or (stops and stop["kind"] == stops[0]["kind"]):
                break
            stops.append(stop)
        else:
            pytest.fail("the keyboard is caught")
    assert [stop for stop in stops if not stop["shown"]] == []
    kinds = [stop["kind"] for stop in stops]
    assert {"tab-play", "play-input", "play-format", "play-strip", "play-step", "play-events"} <= set(kinds)


async def test_nothing_moves_by_itself() -> None:
    """So there is nothing to be asked for less of it."""
    async with opened("play", FIELDS) as page:
        assert await page.evaluate(MOVING) == 0
