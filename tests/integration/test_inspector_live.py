"""The live view in a real Chromium, on a real Kafka, with real workers and tools."""

import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from playwright.async_api import FilePayload, expect

from tests.integration.test_inspector import AXE, FINDINGS, SCHEMES
from tests.support.browser import browser_page, shared_browser
from tests.support.hostile import HOSTILE
from tests.support.inspecting import Seen
from tests.support.inspecting_live import config_of, events_of, following, live, marked, page_at, published
from tests.support.stage import Stage
from tests.support.tool_calls import runner_settings, weather
from tokenmill.config import Gateway
from tokenmill.gateway.auth.grant import Authorizer, Credentials, Grant, unauthenticated
from tokenmill.servers.tools import ToolsProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

CALL = '<tool_call>\n{"name":"f","arguments":{"city":"Paris"}}\n</tool_call>'

SOURCE = CALL.removesuffix("\n</tool_call>")


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def browser() -> AsyncIterator[None]:
    """One for all tests."""
    async with shared_browser():
        yield


@pytest_asyncio.fixture(loop_scope="module")
async def stage(tmp_path: Path, kafka: str, redis_url: str, unique: str) -> AsyncIterator[Stage]:
    """Topics and a group of the test's own, for the loop that the browser is of."""
    async with Stage(tmp_path, kafka, unique, redis_url, partitions=2) as stage:
        yield stage


async def answer(stage: Stage, conversation: str, message: str, *pieces: str, finish: bool = True) -> None:
    """Tokens of a message, a record each."""
    for number, piece in enumerate(pieces):
        opening = {} if number else {"open": {"format": "hermes"}}
        await stage.send(conversation, {"message_id": message, "delta": piece, **opening})
    if finish:
        await stage.send(conversation, {"message_id": message, "finish_reason": "stop"})


async def test_an_answer_is_followed_while_its_worker_is_killed(stage: Stage) -> None:
    """Tokens are there at once; their events wait for a worker, and come when there is one."""
    worker = await stage.start()
    async with live(config_of(stage), "c") as page:
        await answer(stage, "c", "m", "Let me see. ", finish=False)
        await expect(events_of(page).last).to_have_attribute("data-type", "text-delta")
        await published(page)
        worker.kill()
        for at in range(0, len(CALL), 7):
            await stage.send("c", {"message_id": "m", "delta": CALL[at : at + 7]})
        await stage.send("c", {"message_id": "m", "finish_reason": "stop"})
        await expect(events_of(page).last).to_have_attribute("data-type", "finish")
        await expect(events_of(page).last).to_contain_text("not published yet")
        await stage.start()
        await published(page)
        await events_of(page, "tool-call").click()
        assert await marked(page) == SOURCE
        await expect(page.get_by_test_id("call")).to_have_attribute("data-state", "complete")
        await expect(page.get_by_test_id("timing")).to_contain_text("(p99)")


async def test_one_goes_back_pauses_and_comes_again(stage: Stage) -> None:
    """What comes meanwhile is kept; who connects again sees all of it."""
    async with live(config_of(stage), "c") as page:
        await answer(stage, "c", "m", "One ", "two ", finish=False)
        step = page.get_by_test_id("step")
        await expect(step).to_have_text("2 of 2")
        await page.get_by_role("button", name="Previous").click()
        await answer(stage, "c", "m", "three ", finish=False)
        await expect(step).to_have_text("1 of 3")
        await page.get_by_role("button", name="Next").click(click_count=2)
        await page.get_by_role("button", name="Pause").click()
        await answer(stage, "c", "m", "four ", finish=False)
        await expect(step).to_have_text("3 of 4")
        await page.get_by_role("button", name="Go on").click()
        await expect(step).to_have_text("4 of 4")
        await answer(stage, "c", "other", "five ")
        await expect(page.get_by_label("Message")).to_have_text("m …other")
        await expect(page.locator(".strip")).to_contain_text("five")
        await page.get_by_label("Message").select_option(index=0)
        await expect(page.locator(".strip")).to_contain_text("One two three four")
        disconnect, reconnect = (page.get_by_role("button", name=name) for name in ("Disconnect", "Reconnect"))
        await disconnect.press("Enter")
        await expect(page.get_by_test_id("live-status")).to_have_text("You left.")
        await expect(reconnect).to_be_focused()
        await reconnect.press("Enter")
        await following(page)
        await expect(disconnect).to_be_focused()
        await expect(page.get_by_test_id("position")).to_contain_text("2 answers")


async def test_an_answer_whose_beginning_is_not_read_is_shown_as_such(stage: Stage) -> None:
    """As soon as one of its events says so: what was expected of its middle was a guess.

    They say so by when the message began, in milliseconds: what is read has to be of a later one.
    """
    first = {"message_id": "m", "delta": "Let me see. ", "open": {"format": "hermes"}}
    await stage.send("c", first, timestamp_ms=int(time.time() * 1000) - 1000)
    await stage.send("c", {"message_id": "m", "delta": CALL[:20]})
    config = msgspec.structs.replace(config_of(stage), gateway=Gateway(lookback_records=1))
    async with live(config, "c") as page:
        await expect(events_of(page).last).to_contain_text("not published yet")
        await expect(page.get_by_test_id("middle")).to_be_hidden()
        await stage.start()
        await stage.send("c", {"message_id": "m", "delta": CALL[20:], "finish_reason": "stop"})
        await events_of(page, "tool-call").click()
        await expect(page.get_by_test_id("middle")).to_be_visible()
        await published(page)
        await expect(page.locator(".strip")).to_contain_text(CALL.rpartition("\n")[2])
        await expect(page.get_by_label("Message")).to_have_text("m")


NOTE_ALERTS = """() => {
  window.alerts = 0;
  const alert = [...document.querySelectorAll("[role=alert]")].find((each) => each.textContent.includes("Put aside"));
  new MutationObserver(() => window.alerts++).observe(alert, { childList: true, subtree: true });
}"""
"""Counts how often a screen reader announces what was put aside."""


async def test_a_conversation_is_found_by_its_id(stage: Stage) -> None:
    """In the page; the link then has it. Of others nothing is shown, nor what a worker puts aside of them.

    What is put aside is announced when it comes, and not again whenever something else does.
    """
    await answer(stage, "other", "m", "not this one")
    await stage.send("c", {"message_id": "m", "open": {"formt": "hermes"}, "delta": "x"})
    await answer(stage, "c", "n", "this one")
    async with page_at("live", config_of(stage)) as page:
        await page.get_by_label("Conversation").fill("c")
        await page.get_by_role("button", name="Follow").click()
        await following(page)
        await expect(page.get_by_text("Put aside")).to_contain_text("formt")
        await page.evaluate(NOTE_ALERTS)
        await expect(page.locator(".strip")).to_contain_text("this one")
        await expect(page.locator(".strip")).not_to_contain_text("not this one")
        await page.wait_for_url("**conversation%22%3A%22c%22**")
        await answer(stage, "c", "n", "more of it")
        await expect(page.locator(".strip")).to_contain_text("more of it")
        await stage.send("c", {"message_id": "m", "open": {"formt": "hermes"}, "delta": "x"})
        await expect(page.get_by_text("Put aside")).to_have_count(2)
        assert await page.evaluate("alerts") == 1


async def test_what_was_seen_is_saved_and_shown_again(stage: Stage, tmp_path: Path) -> None:
    """As lines, which the page opens without a Kafka; and as a page of its own, which needs no network at all."""
    await stage.start()
    config = config_of(stage)
    async with live(config, "c") as page:
        await answer(stage, "c", "m", "<script>window.hit=1</script></script>", CALL)
        await expect(events_of(page, "finish")).to_have_count(1)
        await published(page)
        for button, name in (("Save as JSON lines", "lines.jsonl"), ("Save as a page", "page.html")):
            async with page.expect_download() as download:
                await page.get_by_role("button", name=button).click()
            await (await download.value).save_as(tmp_path / name)
    assert json.loads((tmp_path / "lines.jsonl").read_text().splitlines()[0])["line"] == "position"
    async with page_at("live", None) as page:
        await expect(page.get_by_role("button", name="Follow")).to_be_hidden()
        await page.get_by_label("Open a recording").set_input_files(tmp_path / "lines.jsonl")
        await events_of(page, "tool-call").click()
        assert await marked(page) == SOURCE
    async with browser_page() as alone:
        with Seen(alone) as seen:
            await alone.context.set_offline(True)
            await alone.goto((tmp_path / "page.html").as_uri())
            await events_of(alone, "tool-call").click()
            assert await marked(alone) == SOURCE
            await expect(alone.get_by_text("The parser is in:")).to_be_visible()
            assert await alone.evaluate("window.hit") is None
        assert seen.problems == [(tmp_path / "page.html").as_uri()]


async def test_a_call_waits_for_a_word_and_gets_it(stage: Stage, unique: str, tmp_path: Path) -> None:
    """One is approved of and run, one is refused, and what came of each is shown."""
    settings = await runner_settings(stage, unique, policy=["ask weather__note"])
    await stage.start()
    ledger = tmp_path / "ledger"
    with ToolsProcess(tmp_path, settings, {"weather": weather()}):
        async with live(config_of(stage, **settings["topics"]), "c") as page:
            for words in ("one", "two"):
                call = {"name": "weather__note", "arguments": {"words": words, "ledger": str(ledger)}}
                await answer(stage, "c", words, f"<tool_call>\n{json.dumps(call)}\n</tool_call>")
            tools = page.get_by_test_id("tool")
            one, two = tools.filter(has_text='"one"'), tools.filter(has_text='"two"')
            await expect(two).to_have_attribute("data-state", "waits")
            await one.get_by_role("button", name="Approve").click()
            await two.get_by_label("Why not").fill("not now")
            await two.get_by_role("button", name="Refuse").click()
            await expect(one).to_have_attribute("data-state", "answered")
            await expect(two).to_have_attribute("data-state", "failed")
            await expect(two).to_contain_text("not now")
    assert ledger.read_text().splitlines() == ["begin one", "end one"]


class Keys(Authorizer):
    """Each key opens the conversations that begin with it."""

    async def grant(self, credentials: Credentials) -> Grant:
        if credentials.key not in ("mine", "yours"):
            if not credentials.key:
                raise unauthenticated("there is no key", "missing")
            raise unauthenticated("this key opens nothing", "wrong")
        return Grant(credentials.key, (f"{credentials.key}*",), frozenset({"read"}))


async def test_who_may_not_see_a_conversation_does_not(stage: Stage) -> None:
    """Without a key there is nothing but the question for one; a key shows what it opens, and no more."""
    await answer(stage, "mine-1", "m", "private")
    async with page_at("live", config_of(stage), Keys()) as page:
        key, enter = page.get_by_label("Key or token"), page.get_by_role("button", name="Enter")
        await key.fill("none")
        await enter.click()
        await expect(page.get_by_text("this key opens nothing")).to_be_visible()
        await key.fill("yours")
        await enter.click()
        await page.get_by_label("Conversation").fill("mine-1")
        await page.get_by_role("button", name="Follow").click()
        await expect(page.get_by_test_id("live-status")).to_contain_text("are not allowed")
        await expect(page.locator("body")).not_to_contain_text("private")
        await page.wait_for_url("**mine-1**")
        await page.reload()
        await page.get_by_label("Key or token").fill("mine")
        await enter.click()
        await following(page)
        await expect(page.locator(".strip")).to_contain_text("private")


def hostile_lines() -> bytes:
    """Hostile texts in all that the server may tell."""
    lines: list[dict[str, Any]] = []
    for of, text in enumerate(HOSTILE):
        event = {"type": "tool-call", "id": text, "name": text, "arguments": {text: text}, "problem": text}
        made = [{"event": event, "start": 0, "end": 1}, {"event": {"type": text, "id": text}, "start": 0, "end": 0}]
        step = {"kind": "text", "start": 0, "end": len(text), "source": text, "made": made, "held": text}
        about = {"pending": text, "mode": text, "bytes": 1}
        call = {"id": text, "name": text, "approval": text}
        word = {"approval": text, "granted": False, "by": text, "why": text}
        progress = {"progress": text, "total": text, "message": text}
        lines += [
            {"line": "opened", "of": of, "message": text, "choice": 0, "formats": [text], "prompt": 0},
            {"line": "piece", "of": of, "time": of, "seen": None, "steps": [{**step, **about}]},
            {"line": "published", "of": of, "number": 0, "seen": None, "other": {text: text}},
            {"line": "rejected", "offset": of, "code": text, "problem": text},
            {"line": "said", "record": {"type": "approval-request", "arguments": {text: text}, "until": 0, **call}},
            {"line": "said", "record": {"type": "approval", **word}},
            {"line": "said", "record": {"type": "tool-progress", **progress, **call}},
            {"line": "said", "record": {"type": "tool-result", "error": text, **call}},
        ]
    lines.append({"line": "ended", "detail": HOSTILE[0]})
    return msgspec.json.Encoder().encode_lines(lines)


async def test_whatever_is_told_stays_text() -> None:
    """In ids, names, words and details, of each message; nothing runs, and no element comes of it."""
    kinds = "[...new Set([...document.querySelectorAll('main *')].map((each) => each.localName))].sort()"
    foreign = {"b", "script", "iframe", "img", "a", "style", "object", "video", "audio", "svg", "math", "form"}
    async with page_at("live", None) as page:
        lines = FilePayload(name="<img src=x onerror=window.hit=1>.jsonl", mimeType="", buffer=hostile_lines())
        await page.get_by_label("Open a recording").set_input_files(lines)
        await expect(page.get_by_test_id("live-status")).to_have_text(HOSTILE[0])
        for number in range(len(HOSTILE)):
            await page.get_by_label("Message").select_option(index=number)
            await events_of(page).first.click()
        assert await page.evaluate("window.hit") is None
        assert set(await page.evaluate(kinds)) & foreign <= {"form", "svg"}  # the view's own form, and plots


async def test_a_recording_may_end_without_a_line_break() -> None:
    """Its last line counts. A result may be without a value, or one that JavaScript's numbers can't hold."""
    result = {"type": "tool-result", "name": "f", "message_id": "m", "choice": 0}
    records = [{**result, "id": "a"}, {**result, "id": "b", "result": 12345678901234567890}]
    lines = msgspec.json.Encoder().encode_lines([{"line": "said", "record": record} for record in records])
    async with page_at("live", None) as page:
        recording = FilePayload(name="recording.jsonl", mimeType="", buffer=lines.removesuffix(b"\n"))
        await page.get_by_label("Open a recording").set_input_files(recording)
        await expect(page.get_by_test_id("tool")).to_contain_text(["null", "12345678901234567890"])


def saved(*said: tuple[int, dict[str, Any]]) -> FilePayload:
    """A recording of what was said of the same call, by times."""
    call = {"id": "a", "name": "f", "message_id": "m", "choice": 0}
    lines = [{"line": "said", "time": time, "record": {**call, **record}} for time, record in said]
    return FilePayload(name="recording.jsonl", mimeType="", buffer=msgspec.json.Encoder().encode_lines(lines))


async def test_a_question_is_asked_though_an_earlier_call_had_the_same_id() -> None:
    """As with ids of messages that come again. Topics have no order: a result may be read before its own question."""
    question = {"type": "approval-request", "approval": "x", "arguments": {"to": "somebody"}, "until": 0}
    progress, result = {"type": "tool-progress", "progress": 1.0, "total": 2.0}, {"type": "tool-result", "result": 1}
    async with page_at("live", None) as page:
        card, recording = page.get_by_test_id("tool"), page.get_by_label("Open a recording")
        for said, state in (
            ([(10, result), (20, question)], "waits"),
            ([(10, result), (20, question), (30, result)], "answered"),
            ([(30, result), (20, question)], "answered"),
            ([(10, result), (30, result), (20, question)], "answered"),
        ):
            await recording.set_input_files(saved(*said))
            await expect(card).to_have_attribute("data-state", state)
            await expect(card).to_contain_text("somebody")
        await recording.set_input_files(saved((10, progress)))
        await expect(card).to_contain_text("1 of 2")


@pytest.mark.parametrize("width", [360, 1280])
async def test_it_is_accessible_at_every_width(stage: Stage, width: int) -> None:
    """Axe finds nothing, and nothing is wider than the window."""
    await answer(stage, "c", "m", "Let me see. ", CALL)
    async with live(config_of(stage), "c", width=width) as page:
        await events_of(page, "tool-call").click()
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        for scheme in SCHEMES:
            await page.emulate_media(color_scheme=scheme)
            await page.evaluate(AXE.read_text())
            assert await page.evaluate(FINDINGS) == []
