"""The inspector's page in a real Chromium, under its policy."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, Route, expect

from tests.support.approvals import asked_about
from tests.support.browser import shared_browser
from tests.support.inspecting import fragment, link, opened
from tests.support.stage import until
from tokenmill.inspector.lines import about
from tokenmill.inspector.playground import Recording
from tokenmill.replay import parse_batch

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

CALL = '<tool_call>\n{"name":"f","arguments":{"city":"Paris"}}\n</tool_call>'
TEXT = f"One moment. {CALL}"
WHOLE = CALL.removesuffix("\n</tool_call>")

AXE = Path(__file__).parents[1] / "judges" / "node" / "node_modules" / "axe-core" / "axe.min.js"

FINDINGS = "axe.run().then(({violations}) => violations.map(({id, nodes}) => [id, ...nodes.map(({html}) => html)]))"

RECORDING = Recording("stream.jsonl", '{"delta": "Hi "}\n{"delta": "there"}\n')

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def playing(**fields: Any) -> dict[str, Any]:
    return {"text": TEXT, "format": "hermes", **fields}


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def browser() -> AsyncIterator[None]:
    """One for all tests."""
    async with shared_browser():
        yield


async def test_an_event_marks_the_characters_that_made_it() -> None:
    """A call all of its source; the list works with the keyboard."""
    async with opened("play", playing()) as page:
        call = page.locator("[data-testid=event][data-type=tool-call]")
        await call.click()
        assert "".join(await page.locator(".strip .mark").all_text_contents()).replace("↵", "\n") == WHOLE
        await expect(page.get_by_test_id("event-detail")).to_contain_text('"city": "Paris"')


async def test_one_steps_through_a_text() -> None:
    """With buttons and keys; each step says what is held and lights up where the parser is."""
    async with opened("play", playing(cuts=[15, 40], step=1)) as page:
        step = page.get_by_test_id("step")
        await expect(step).to_have_text("1 of 4")
        await expect(page.get_by_test_id("held")).to_have_text("<to")
        await expect(page.get_by_test_id("mode")).to_have_text("text")
        await page.get_by_role("button", name="Next").click()
        await expect(step).to_have_text("2 of 4")
        await expect(page.get_by_test_id("mode")).to_have_text("section0_call0")
        await expect(page.get_by_text("The parser is in: a call")).to_be_visible()
        await page.locator("body").press("ArrowRight")
        await page.locator("body").press("ArrowRight")
        await expect(step).to_have_text("4 of 4")
        await expect(page.get_by_text(re.compile("^finish, characters"))).to_be_visible()
        await page.get_by_role("button", name="Previous").click()
        await expect(step).to_have_text("3 of 4")


async def test_cuts_are_set_moved_and_removed_with_the_keyboard() -> None:
    """And checked, all of them."""
    async with opened("play", playing(cuts=[10])) as page:
        cut = page.get_by_test_id("cut")
        await cut.focus()
        await cut.press("ArrowRight")
        await expect(page.get_by_role("slider", name="Cut 1 of 1")).to_have_attribute("aria-valuenow", "11")
        await page.get_by_test_id("cut").press("Delete")
        await expect(cut).to_have_count(0)
        await page.get_by_role("button", name="Pieces of this size").click()
        await expect(page.get_by_test_id("step")).to_have_text(f"{len(TEXT) + 1} of {len(TEXT) + 1}")
        await page.get_by_role("button", name="Check all cuts").click()
        await expect(page.get_by_test_id("cuts-answer")).to_have_text(
            f"The same events with each of {len(TEXT) - 1} cuts."
        )


async def test_a_cut_is_dragged_and_set_by_a_click() -> None:
    """With a pointer; the link has where it is."""
    async with opened("play", playing(cuts=[10])) as page:
        text = page.locator(".strip .run").last
        cut = page.get_by_test_id("cut")
        box: Any = await until(cut.bounding_box, "the cut is drawn")  # anew, where something changes
        across, down = box["x"], box["y"] + box["height"] / 2
        width = (await text.evaluate("each => each.getBoundingClientRect().width / each.textContent.length")) or 0
        await page.mouse.move(across, down)
        await page.mouse.down()
        await page.mouse.move(across - 4 * width, down, steps=4)
        await page.mouse.up()
        await expect(cut).to_have_attribute("aria-valuenow", "6")
        await page.mouse.click(across - 8 * width, down)
        await expect(cut).to_have_count(2)
        await page.wait_for_url(re.compile(r"cuts%22%3A%5B2%2C6%5D"))


async def test_cuts_are_drawn_at_random() -> None:
    """As many as are asked for, each time others."""
    async with opened("play", playing()) as page:
        await page.get_by_label("Number of pieces").fill("4")
        drawn = set()
        for _ in range(3):
            await page.get_by_role("button", name="Cut at random").click()
            await expect(page.get_by_test_id("cut")).to_have_count(3)
            cuts = await page.get_by_test_id("cut").all()
            drawn.add(tuple([await cut.get_attribute("aria-valuenow") for cut in cuts]))
        assert len(drawn) > 1


async def test_what_is_tried_becomes_a_test_case() -> None:
    """A line that `parse --batch` takes, with the pieces and their events as they are shown."""
    async with opened("play", playing(cuts=[15, 40])) as page:
        await page.get_by_text("Make this a test case").click()
        await page.get_by_label("Name of the case").fill("Paris")
        case = page.get_by_label("JSON line")
        await expect(case).to_have_value(re.compile(r'"name":\s*"Paris"'))
        line = json.loads(await case.input_value())
        assert (line["name"], line["format"]) == ("Paris", "hermes")
        assert line["chunks"] == [TEXT[:15], TEXT[15:40], TEXT[40:]]
        shown = [await each.get_attribute("data-type") for each in await page.get_by_test_id("event").all()]
        assert [event["type"] for event in parse_batch(line)["events"]] == shown


async def test_a_dialect_s_payloads_stand_beside_each_step() -> None:
    """As clients get them; the diagram has a list for those who can't see it."""
    async with opened("play", playing(dialect="anthropic")) as page:
        await page.get_by_test_id("event").first.click()
        await expect(page.get_by_test_id("event-detail")).to_contain_text("message_start")
        await expect(page.get_by_test_id("payloads")).to_contain_text("message_stop")
        await page.get_by_text("Moves as a list").click()
        await expect(page.get_by_text(re.compile("to section0: <tool_call>"))).to_be_visible()


async def test_a_link_holds_all_of_a_view_and_is_sent_to_nobody() -> None:
    """What is typed comes into the address behind the `#`."""
    async with opened("play", playing(cuts=[15], dialect="openai", step=2)) as page:
        await expect(page.get_by_label("Dialect")).to_have_value("openai")
        await page.get_by_label("Model text").fill("Hello there")
        await expect(page.get_by_test_id("events")).to_contain_text("Hello there")
        await page.wait_for_url(re.compile("Hello"))
        await page.reload()
        await expect(page.get_by_label("Model text")).to_have_value("Hello there")
        await expect(page.get_by_label("Dialect")).to_have_value("openai")


OVERTAKEN = "(hash) => { const before = location.href; location.hash = hash; history.replaceState(null, '', before) }"
"""Follows a link, and writes the address of before, as the page does when it has waited long enough."""


async def test_a_link_is_not_lost_if_the_address_is_written_before_the_page_hears_of_it() -> None:
    """Which it does while what was typed before the click waits to be written."""
    async with opened("play", playing()) as page:
        await page.evaluate(OVERTAKEN, fragment("play", playing(text="Hello there")))
        await expect(page.get_by_label("Model text")).to_have_value("Hello there")
        await page.wait_for_url(re.compile("Hello"))


async def test_what_is_wrong_is_said_in_the_server_s_words() -> None:
    """And the page goes on when it is right again."""
    async with opened("play", playing()) as page:
        await page.get_by_text("Tools and options").click()
        await page.get_by_label("Options of the message").fill('{"formt": 1}')
        await expect(page.get_by_role("alert")).to_contain_text("formt")


TYPE = "(field, text) => { field.value = text; field.dispatchEvent(new Event('input')) }"
"""Types into a field, also into one that is folded away."""


async def test_two_formats_are_compared() -> None:
    """Rows that differ are marked, and counted. Where one side has no events, nothing is said of both."""
    fields = {"a": playing(), "b": playing(format="plain")}
    async with opened("compare", fields) as page:
        compared, rows = page.get_by_test_id("compared"), page.get_by_test_id("compared-row")
        await expect(compared).to_have_text(re.compile(r"\d+ of \d+ rows differ"))
        await expect(page.locator("[data-testid=compared-row][data-same=false]")).not_to_have_count(0)
        await rows.first.click()
        await page.get_by_label("B", exact=True).get_by_label("Options of the message").evaluate(TYPE, "{")
        await expect(page.get_by_role("alert")).to_have_text(["", re.compile("not JSON")])
        await expect(compared).to_be_empty()
        await expect(rows).to_have_count(0)
        await expect(page.get_by_test_id("compare-detail")).to_be_empty()


async def test_two_cuts_are_compared() -> None:
    """Nothing differs, as nothing may."""
    async with opened("compare", {"a": playing(cuts=[15]), "b": playing(chunk=1)}) as page:
        await expect(page.get_by_test_id("compared")).to_have_text(re.compile(r"^0 of \d+ rows differ"))


async def test_integers_stay_as_long_as_they_are() -> None:
    """In events, cards, a comparison and a test case. JavaScript's numbers would round them."""
    number, call = 12345678901234567890, '<tool_call>{"name":"f","arguments":{"id":%d}}</tool_call>'
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"maximum": number}}}]
    part = {"part": {"kind": "x", "value": number}}
    async with opened("play", playing(text=call % number, tools=tools)) as page:
        row = page.locator("[data-testid=event][data-type=tool-call]")
        await row.click()
        for place in (
            row,
            page.get_by_test_id("event-detail"),
            page.get_by_test_id("call").get_by_role("definition").last,
        ):
            await expect(place).to_contain_text(str(number))
        await page.get_by_text("Make this a test case").click()
        case = page.get_by_label("JSON line")
        await expect(case).not_to_have_value("")
        assert json.loads(await case.input_value())["tools"] == tools
        await link(page, "play", {"records": json.dumps(part)})
        await expect(page.get_by_test_id("events")).to_contain_text(str(number))
        await expect(case).to_have_value(re.compile('"part"'))
        assert json.loads(await case.input_value())["chunks"] == [part]
        await link(page, "compare", {"a": playing(text=call % number), "b": playing(text=call % (number + 1))})
        differing = page.locator("[data-testid=compared-row][data-same=false]")
        await expect(differing).to_have_count(2)  # the call's source, and the call
        await differing.last.click()
        for found in (number, number + 1):
            await expect(page.get_by_test_id("compare-detail")).to_contain_text(str(found))


async def test_numbers_are_written_as_they_came() -> None:
    """A tool may tell `1.0` from `1`, and JavaScript doesn't; what a test case has is what was typed."""
    call, tools = '<tool_call>{"name":"f","arguments":{"ratio":%s}}</tool_call>', '[{"name":"f","x":[-0,2.50,1E40]}]'
    async with opened("play", playing(text=call % "1.0", tools=tools)) as page:
        row = page.locator("[data-testid=event][data-type=tool-call]")
        await row.click()
        for place in row, page.get_by_test_id("event-detail"):
            await expect(place).to_contain_text(re.compile(r'"ratio": ?1\.0'))
        await page.get_by_text("Make this a test case").click()
        await expect(page.get_by_label("JSON line")).to_have_value(re.compile(re.escape("[-0,2.50,1E40]")))
        await link(page, "compare", {"a": playing(text=call % "1.0"), "b": playing(text=call % "1")})
        await expect(page.locator("[data-testid=compared-row][data-same=false]")).to_have_count(2)


async def test_a_recorded_stream_is_shown() -> None:
    """With its name; each record is a step."""
    async with opened("file", recording=RECORDING) as page:
        await expect(page.get_by_test_id("file-name")).to_have_text("stream.jsonl")
        await expect(page.get_by_test_id("step")).to_have_text("3 of 3")


async def test_a_choice_of_a_captured_stream_is_chosen() -> None:
    """Where there is a stream; a link keeps it."""
    records = "\n".join(
        f'{{"id":"c","choices":[{{"index":{at},"delta":{{"content":"choice {at}"}}}}]}}' for at in (0, 1)
    )
    async with opened("play", {"records": records, "codec": "openai", "format": "plain"}) as page:
        choice, events = page.get_by_label("Choice of the stream"), page.get_by_test_id("events")
        await expect(events).to_contain_text("choice 0")
        await choice.fill("1")
        await expect(events).to_contain_text("choice 1")
        await page.wait_for_url(re.compile("choice%22%3A1"))
        await page.reload()
        await expect(choice).to_have_value("1")
        await expect(events).to_contain_text("choice 1")
        await page.get_by_label("Codec").select_option("")
        await expect(choice).to_be_hidden()


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("view", ["play", "compare", "file"])
async def test_it_is_accessible_at_every_width(view: str, width: int) -> None:
    """Axe finds nothing, and nothing is wider than the window."""
    fields = {"play": playing(cuts=[15]), "compare": {"a": playing(), "b": playing(format="plain")}, "file": None}[view]
    async with opened(view, fields, RECORDING, width) as page:
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        for scheme in SCHEMES:
            await page.emulate_media(color_scheme=scheme)
            await page.evaluate(AXE.read_text())
            assert await page.evaluate(FINDINGS) == []


SHOWS = """async (lines) => {
  const { Conversation } = await import("/inspect/conversation.js");
  const { Calls } = await import("/inspect/calls.js");
  const told = new Conversation(), calls = new Calls(() => "c");
  told.take(JSON.parse(lines));
  calls.show(told.calls);
  document.body.append(calls.element);
  return calls.element.textContent;
}"""
"""What the live page does with lines about calls, and what it says from the first moment on."""


def asked(number: int, name: str = "f", message: str = "m", **arguments: Any) -> dict[str, Any]:
    """A line about a call that waits for a word."""
    approval = f"hash of {name} {message} {number}"
    members = {"message_id": message, "id": f"call_{number}", "name": name, "arguments": arguments, "until": 1}
    request = asked_about(approval=approval, **members)
    told: dict[str, Any] = msgspec.to_builtins(about(request, 0))
    return told


async def test_a_person_sees_all_that_a_word_is_about() -> None:
    """Every call that waits, under its own name, with its arguments to the letter: also numbers that are longer than a
    page's, ids that were another call's before, and texts of which elsewhere only the beginning is shown.
    """
    result = {"type": "tool-result", "id": "call_0", "name": "read", "message_id": "again", "choice": 0, "result": "ok"}
    lines = [
        {"line": "said", "record": result},
        asked(0, "delete", "again", path="/"),
        asked(1, "write", "long", text="x" * 50_000 + "END"),
        *(asked(number, account=1234567890123456789) for number in range(64)),
        *({"line": "said", "record": {**result, "id": f"call_{number}", "message_id": "n"}} for number in range(64)),
    ]
    async with opened("play", playing()) as page:
        assert 'xEND"' in await page.evaluate(SHOWS, json.dumps(lines))
        waiting = page.locator("[data-testid=tool][data-state=waits]")
        await expect(waiting).to_have_count(66)
        await expect(waiting.filter(has_text="1234567890123456789")).to_have_count(64)
        await expect(waiting.filter(has_text="delete")).to_contain_text('"path": "/"')
        await says_a_word_once(page, waiting.first)


async def says_a_word_once(page: Page, call: Locator) -> None:
    """Nothing more is sent while a word is on its way; one that was refused may be said again."""
    words: list[Route] = []

    def held(word: Route) -> None:
        words.append(word)

    approve, refuse = call.get_by_role("button", name="Approve"), call.get_by_role("button", name="Refuse")
    await page.route("**/api/words", held)
    await approve.click()
    for button in (approve, refuse, approve):
        await expect(button).to_have_attribute("aria-disabled", "true")
        await button.dispatch_event("click")
    await until(lambda: words, "the word is on its way")
    await words[0].fulfill(status=409, json={"detail": "too late"})
    await expect(page.get_by_text("too late")).to_be_visible()
    await expect(refuse).to_have_attribute("aria-disabled", "false")
    await refuse.click()
    await until(lambda: len(words) > 1, "another word is on its way")
    await words[1].fulfill(status=204)
    await expect(page.get_by_text("too late")).to_have_count(0)
    await expect(approve).to_have_attribute("aria-disabled", "true")
    assert [json.loads(word.request.post_data or "")["granted"] for word in words] == [True, False]
    await page.unroute("**/api/words")
