"""The pictures of the inspector in the pages: taken here, and known to be old when the page shows something else.

`make pictures` takes them again. What a picture shows is remembered as a hash of what it is made from, not of its
pixels: fonts differ between machines.
"""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec
import pytest
import pytest_asyncio
from playwright.async_api import FilePayload, Page, expect

from tests.structure.tree import DOCS
from tests.support.browser import shared_browser
from tests.support.inspecting import opened
from tests.support.inspecting_live import page_at
from tests.support.recorded import recording
from tokenmill.inspector.page import assets
from tokenmill.inspector.steps import ParseRequest, parse_in_steps

pytestmark = [pytest.mark.integration, pytest.mark.slow]

FOLDER = DOCS / "pictures"

SHOWN = FOLDER / "shown.json"
"""Name of a picture → hash of what it shows."""

ANSWER = 'Let me look.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n</tool_call>'
BROKEN = ANSWER.replace('"Paris"', "Paris")

PNG = b"\x89PNG\r\n\x1a\n"

LEAST_BYTES, MOST_BYTES = 10_000, 300_000


class Picture(NamedTuple):
    """A view, and the event that is chosen in it."""

    name: str
    view: str
    fields: Any
    event: str = ""


HERMES = {"text": ANSWER, "format": "hermes"}

PICTURES = (
    Picture("playground", "play", {**HERMES, "cuts": [20, 47, 70], "step": 3}, "tool-input-delta"),
    Picture("broken-call", "play", {**HERMES, "text": BROKEN}, "error"),
    Picture("compare", "compare", {"a": HERMES, "b": {**HERMES, "format": "plain"}}),
    Picture("live", "live", None, "tool-input-delta"),
)

PIECES = [ANSWER[at : at + 6] for at in range(0, len(ANSWER), 6)]

RECORDING = recording(PIECES, published=len(PIECES) - 4, format="hermes")


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def browser() -> AsyncIterator[None]:
    """One for all tests."""
    async with shared_browser():
        yield


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
async def test_a_picture_shows_the_page_as_it_is(picture: Picture) -> None:
    """Else it is to be taken again."""
    async with shown(picture) as page:
        if picture.event:
            await page.locator(f"[data-testid=event][data-type={picture.event}]").first.click()
        taken = await page.screenshot(full_page=True)
    shows = hash_of(picture)
    path = FOLDER / f"inspector-{picture.name}.png"
    if os.environ.get("TOKENMILL_PICTURES") == "write":
        FOLDER.mkdir(exist_ok=True)
        path.write_bytes(taken)
        SHOWN.write_text(json.dumps({**known(), picture.name: shows}, indent=2, sort_keys=True) + "\n")
    assert known()[picture.name] == shows, "the page has changed: make pictures"
    for image in (taken, path.read_bytes()):
        assert image.startswith(PNG)
        assert LEAST_BYTES < len(image) < MOST_BYTES


@asynccontextmanager
async def shown(picture: Picture) -> AsyncIterator[Page]:
    """The page at a view; the live one at a recording."""
    if picture.view != "live":
        async with opened(picture.view, picture.fields) as page:
            yield page
        return
    async with page_at("live", None) as page:
        lines = FilePayload(name="answer.jsonl", mimeType="application/x-ndjson", buffer=RECORDING)
        await page.get_by_label("Open a recording").set_input_files(lines)
        await expect(page.get_by_test_id("live-status")).to_contain_text("all of the recording")
        await expect(page.get_by_test_id("timing")).to_contain_text("(p99)")
        yield page


def known() -> dict[str, str]:
    """What the pictures show that there are."""
    found: dict[str, str] = json.loads(SHOWN.read_text()) if SHOWN.exists() else {}
    return found


def hash_of(picture: Picture) -> str:
    """Of all that a picture is made from: the page's files, and what the server answers or told."""
    files = [asset.body for asset in assets().values()]
    if picture.view == "live":
        return sha256(b"".join([*files, RECORDING])).hexdigest()[:16]
    inputs = [picture.fields] if picture.view == "play" else list(picture.fields.values())
    asked = [msgspec.convert({name: each[name] for name in each.keys() - {"step"}}, ParseRequest) for each in inputs]
    answers = msgspec.json.encode([parse_in_steps(each) for each in asked])
    return sha256(b"".join([*files, answers])).hexdigest()[:16]


def test_every_picture_is_in_a_page() -> None:
    """And there is no other."""
    named = {f"inspector-{picture.name}.png" for picture in PICTURES}
    assert {path.name for path in FOLDER.glob("*.png")} == named
    pages = "".join(path.read_text() for path in DOCS.rglob("*.md"))
    assert all(f"pictures/{name}" in pages for name in named)
