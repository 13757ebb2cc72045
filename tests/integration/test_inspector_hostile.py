"""Texts that try to be more than text, in everything that a model writes: the page shows them, and nothing else.

That its policy had nothing to stop, and that it asked nobody else, is checked by `opened` at the end of each test.
"""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from tests.support.browser import shared_browser
from tests.support.hostile import HIDDEN, HOSTILE
from tests.support.inspecting import link, opened

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

HARMLESS = tuple(f"text {number}" for number in range(10))

HIDDEN_TEXTS = tuple(f"{at}{''.join(HIDDEN[at : at + 50])}." for at in range(0, len(HIDDEN), 50))

COLLECT = """(hidden) => {
  [window.made, window.naked, window.named] = [new Set(), new Set(), new Set()];
  const characters = new RegExp(`[${hidden.join("")}]`, "gu");
  const says = (text) => text.match(characters)?.forEach((character) => naked.add(character));
  const add = (element) => {
    made.add(element.localName);
    for (const { name, value } of element.attributes) made.add(`${element.localName} ${name}`), says(value);
    for (const { data } of element.childNodes) if (data) says(data);
    if (element.matches(".strip .escape")) named.add(element.textContent);
  };
  const all = (node) => node instanceof Element && [node, ...node.querySelectorAll("*")].forEach(add);
  all(document.documentElement);
  new MutationObserver((records) => {
    for (const { addedNodes, target } of records) add(target), addedNodes.forEach(all);
  }).observe(document, { subtree: true, childList: true, attributes: true });
}"""
"""Writes down every element that there ever is, with the names of its attributes; the characters that stay hidden in
it, and those that the source strip names."""

MADE = "[...made].sort()"

WALK = """async () => {
  const view = document.querySelector("main > section:not([hidden])");
  const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  const seen = (text) => (each) => each.textContent === text && !each.hidden;
  const buttons = (text) => [...view.querySelectorAll("button")].filter(seen(text));
  const eachRow = async (list) => {
    const press = (key) => list.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    const chosen = () => list.getAttribute("aria-activedescendant");
    list.style.height = "3300px";
    press("Home");
    for (let row = 0, last; chosen() !== last; row++) {
      last = chosen();
      press("ArrowDown");
      if (row % 100 === 0) await frame();
    }
  };
  view.querySelectorAll("summary").forEach((summary) => summary.click());
  for (const next of buttons("Next")) while (next.getAttribute("aria-disabled") !== "true") next.click();
  for (const list of view.querySelectorAll("[role=listbox]")) await eachRow(list);
  for (const strip of view.querySelectorAll(".strip")) {
    strip.style.height = "3000px";
    for (let top = (strip.scrollTop = 0); top <= strip.scrollHeight; strip.scrollTop = top += 2900) await frame();
  }
  for (let more; [more] = buttons("Show earlier blocks"), more; ) more.click();
  view.querySelectorAll("details").forEach((details) => (details.open = true));
  await frame();
}"""
"""Goes through all that a view shows: each step, each event with its details, each row of the source, each card."""


FORGET = "document.querySelectorAll('[data-testid=status]').forEach((each) => each.replaceChildren())"


async def look(page: Page, view: str, fields: Any) -> None:
    """Go through all of a view; nothing runs."""
    await page.evaluate(FORGET)
    await link(page, view, fields)
    await expect(page.locator("main > section:not([hidden]) [data-testid=status]:empty")).to_have_count(0)
    await page.evaluate(WALK)
    assert await page.evaluate("window.hit") is None


@asynccontextmanager
async def looked_through(view: str, fields: Callable[[Sequence[str]], Any]) -> AsyncIterator[Page]:
    """A view of the hostile texts; it is made of the same elements as that of harmless ones."""
    async with opened() as page:
        await page.evaluate(COLLECT, HIDDEN)
        await look(page, view, fields(HARMLESS))
        usual = await page.evaluate(MADE)
        await look(page, view, fields(HOSTILE))
        assert await page.evaluate(MADE) == usual
        yield page


async def cards(page: Page) -> dict[str, list[str]]:
    """The texts of what a model wrote."""
    places = {"name": ".call .name", "id": ".call h3 + p", "text": ".card.text .long", "reasoning": ".reasoning .long"}
    return {name: await page.locator(place).all_text_contents() for name, place in places.items()}


def captured(texts: Sequence[str]) -> dict[str, Any]:
    """A stream in which each text is everything that a provider may say."""
    records = list[dict[str, Any]]()
    for number, text in enumerate(texts):
        function = {"name": text, "arguments": json.dumps({text: text, "inner": [{text: [text]}]})}
        records += [
            {"reasoning": text},
            {"delta": text},
            {"tool_calls": [{"index": number, "id": text, "function": function}]},
            {"part": {"kind": text, "value": {text: text}, "id": text}},
            {"error": text, "error_raw": text},
        ]
    records.append({"finish_reason": texts[0], "usage": {texts[0]: 1}})
    options = {"open": {"content_arguments": ["*"]}, "dialect": "ai_sdk_ui", "step": 1}
    return {"records": "\n".join(map(json.dumps, records)), **options}


def written(texts: Sequence[str]) -> dict[str, Any]:
    """A model's text with a call for each, and one that is broken."""
    calls = (json.dumps({"name": text, "arguments": {text: text}}) for text in texts)
    pieces = (
        f"{text} <tool_call>{call}</tool_call><tool_call>{text}</tool_call>"
        for text, call in zip(texts, calls, strict=True)
    )
    return {"text": "".join(pieces), "format": "hermes", "step": 1, "chunk": 250, "dialect": "ai_sdk_ui"}


def visible(text: str, *, in_a_line: bool = False) -> str:
    """What the page shows of a text."""
    shown = "".join(f"U+{ord(character):04X}" if character in HIDDEN else character for character in text)
    return shown.replace("\t", "⇥") if in_a_line else shown


def carded(texts: Sequence[str]) -> dict[str, list[str]]:
    """What the cards of a captured stream show."""
    whole, in_a_line = [visible(text) for text in texts], [visible(text, in_a_line=True) for text in texts]
    return {"name": in_a_line, "id": [f"id {text}" for text in in_a_line], "text": whole, "reasoning": whole}


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def browser() -> AsyncIterator[None]:
    """One for all tests."""
    async with shared_browser():
        yield


async def test_a_captured_stream_stays_text() -> None:
    """In text, reasoning, names, ids, arguments, parts and errors; each is shown whole."""
    async with looked_through("play", captured) as page:
        assert await cards(page) == carded(HOSTILE)


async def test_what_a_model_writes_stays_text() -> None:
    """In its own words: calls that are read, and calls that fail."""
    async with looked_through("play", written) as page:
        shown = await cards(page)
    assert {visible(text, in_a_line=True) for text in HOSTILE} <= set(shown["name"])


async def test_what_is_compared_stays_text() -> None:
    """Two readings of the same."""
    async with looked_through(
        "compare", lambda texts: {"a": written(texts), "b": {**written(texts), "format": "plain"}}
    ):
        pass


async def test_a_link_stays_text() -> None:
    """Whoever made it: the form and the server's words show what is in it."""
    async with opened() as page:
        await page.evaluate(COLLECT, HIDDEN)
        made = []
        some = len(HARMLESS)  # of many wrong options the first ones are named
        for texts in (HARMLESS, *(HOSTILE[at : at + some] for at in range(0, len(HOSTILE), some))):
            tools = [{"type": "function", "function": {"name": text, "description": text}} for text in texts]
            options = dict.fromkeys(texts, 1)
            await link(page, "play", {"format": texts, "tools": tools, "open": options, "finish": texts[-1]})
            await expect(page.get_by_role("alert")).to_contain_text(f"unknown option {texts[-1]!r}")
            made.append(await page.evaluate(MADE))
        assert all(each == made[0] for each in made)
        assert await page.evaluate("window.hit") is None


async def test_characters_that_hide_are_shown_by_their_code() -> None:
    """In the strip, in events, in cards, and in everything else that says what a model wrote."""
    async with opened() as page:
        await page.evaluate(COLLECT, HIDDEN)
        await look(page, "play", captured(HIDDEN_TEXTS))
        assert await cards(page) == carded(HIDDEN_TEXTS)
        assert {visible(character) for character in HIDDEN} <= set(await page.evaluate("[...named]"))
        assert await page.evaluate("[...naked]") == []
