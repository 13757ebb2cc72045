"""What pages in a real Chromium see of the gateway: the programs of the how-to, cut off and coming back."""

import hashlib
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import pytest_asyncio
from aiohttp import ClientSession, web
from playwright.async_api import Page

from tests.structure.pages import _blocks
from tests.structure.tree import DOCS
from tests.support.browser import browser_page, shared_browser, site
from tests.support.gateways import Gate, Speaker, admission, answer, listening
from tests.support.relay import Relay
from tests.support.stage import until
from tokenmill.config import Gateway
from tokenmill.errors import Unavailable
from tokenmill.gateway.auth.authorizer import TicketAuthorizer, make_authorizer
from tokenmill.gateway.auth.connection_limits import ConnectionLimits
from tokenmill.gateway.routes.tickets import TicketRoutes
from tokenmill.records import Output

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

HOWTO = {block.language: block.text for block in _blocks(DOCS / "howto" / "show-an-answer-in-a-browser.md")}

TEXTS = [f"word {number}, " for number in range(40)]

ANSWER = answer("hello", "m", TEXTS)

HALF = len(ANSWER) // 2

Halves: TypeAlias = tuple[list[Output], list[Output]]

GATEWAY = "http://127.0.0.1:8090"
"""As the how-to writes it."""

FOLLOWING = """<!doctype html><pre id="answer"></pre><script>
  %s
  const ticket = () => fetch("/ticket").then((answer) => answer.text());
  const show = ({ type, delta = "" }) => document.getElementById("answer").append(type === "finish" ? "END " : delta);
  follow("GATEWAY", "hello", ticket, show);
</script>"""

CLOSING = """<!doctype html><script>
  %s
  const [timers, sources, tickets] = [[], [], []];
  window.setTimeout = (work) => timers.push(work);
  window.EventSource = class extends EventSource { constructor(url) { super(url); sources.push(this); } };
  const ticket = () => new Promise((resolve, reject) => tickets.push({ resolve, reject }));
  const close = follow("http://127.0.0.1:1", "hello", ticket, () => {});
  const done = () => new Promise(requestAnimationFrame);
  const counts = () => [tickets.length, timers.length, sources.length];
</script>"""
"""Holds back what the helper waits for. The page's address of the gateway answers nothing."""

CLOSED = "async () => { %s; close(); %s; await done(); return counts(); }"
"""What the helper has asked for and opened, closed after one step and before another."""


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def browser() -> AsyncIterator[None]:
    """One for all tests."""
    async with shared_browser():
        yield


async def text(page: Page) -> str:
    """What the page shows."""
    return await page.locator("#answer").text_content() or ""


def statuses(page: Page) -> list[int]:
    """Of all answers for events that the page will get."""
    found: list[int] = []
    page.on("response", lambda response: found.append(response.status) if "/events" in response.url else None)
    return found


async def answered_in_halves(gate: Gate, line: Relay, page: Page, halves: Halves, shown: str) -> None:
    """An answer that is cut in its midst, when the page shows this, and goes on when the page is there again."""
    await gate.attended()
    await gate.say(halves[0])
    await until(lambda: shows(page, shown), "the first half is shown")
    before = line.opened
    line.reset()
    await until(lambda: line.opened > before, "the page has come back")
    await gate.say(halves[1])


def two_choices() -> Halves:
    """An answer with an alternative that is longer: the first half ends with an end that is not the last one."""
    speaker = Speaker("hello", "m")
    first: list[dict[str, Any]] = [
        {"delta": TEXTS[0], "open": {"format": "plain"}},
        {"delta": TEXTS[1], "choice": 1},
        {"finish_reason": "stop"},
    ]
    rest: list[dict[str, Any]] = [
        *({"delta": text, "choice": 1} for text in TEXTS[2:]),
        {"finish_reason": "stop", "choice": 1},
    ]
    one, two = ([record for chunk in chunks for record in speaker.says(chunk)] for chunks in (first, rest))
    return one, two


async def shows(page: Page, part: str) -> bool:
    return part in await text(page)


async def test_the_page_of_the_how_to_shows_an_answer_that_is_cut_off_and_ends(kafka: str, unique: str) -> None:
    """Served from another origin. After the reset it has every word once; behind the end it gets 204, and rests."""
    pages: dict[str, str] = {}
    async with (
        site(pages) as port,
        listening(kafka, unique, origins=[f"http://127.0.0.1:{port}"]) as gate,
        Relay(gate.port) as line,
        browser_page() as page,
    ):
        pages["/"] = HOWTO["html"].replace(GATEWAY, f"http://127.0.0.1:{line.port}")
        seen = statuses(page)
        await page.goto(f"http://127.0.0.1:{port}/")
        await answered_in_halves(gate, line, page, (ANSWER[:HALF], ANSWER[HALF:]), TEXTS[HALF // 2])
        await until(lambda: shows(page, TEXTS[-1]), "the whole answer is shown")
        await until(lambda: seen[-1:] == [204], "the page has asked once more")
        assert await text(page) == "".join(TEXTS)
        assert await page.title() == "stop"
        assert await page.evaluate("source.readyState") == 2
        assert seen == [200, 200, 204]


async def test_a_page_comes_back_until_kafka_answers_again(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A status would be the end of its source: it is cut off, and tries again."""

    async def fail(_partition: int) -> None:
        raise Unavailable("Kafka does not answer")

    pages: dict[str, str] = {}
    async with (
        site(pages) as port,
        listening(kafka, unique, origins=[f"http://127.0.0.1:{port}"]) as gate,
        Relay(gate.port) as line,
        browser_page() as page,
    ):
        pages["/"] = HOWTO["html"].replace(GATEWAY, f"http://127.0.0.1:{line.port}")
        seen = statuses(page)
        await page.goto(f"http://127.0.0.1:{port}/")
        await gate.attended()
        await gate.say(ANSWER[:HALF])
        await until(lambda: shows(page, TEXTS[HALF // 2]), "the first half is shown")
        with monkeypatch.context() as away:
            away.setattr(gate.serving.tail, "pin", fail)
            line.reset()
            await until(lambda: len(seen) > 2, "the page has come back twice")
        await gate.say(ANSWER[HALF:])
        await until(lambda: shows(page, TEXTS[-1]), "the whole answer is shown")
        assert await text(page) == "".join(TEXTS)
        assert set(seen) <= {200, 204}


async def test_a_page_of_another_origin_sees_nothing(kafka: str, unique: str) -> None:
    """`localhost` is another one than `127.0.0.1`; the browser keeps what it gets from the page."""
    pages: dict[str, str] = {}
    async with (
        site(pages) as port,
        listening(kafka, unique, origins=[f"http://127.0.0.1:{port}"]) as gate,
        browser_page() as page,
    ):
        pages["/"] = HOWTO["html"].replace(GATEWAY, gate.url)
        await gate.say(ANSWER)
        await page.goto(f"http://localhost:{port}/")
        await until(lambda: page.evaluate("source.readyState === 2"), "the browser has given up")
        assert await text(page) == ""


async def test_a_page_with_tickets_comes_back_when_its_ticket_has_expired(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    """The browser gives up on a 401; the page's helper makes a new source with a new ticket and the last id.

    The end of one choice is not that of the answer.
    """
    authorizer, pages, tickets = keyed(tmp_path), dict[str, str](), list[float]()
    served: list[str] = []

    async def ticket(_: web.Request) -> web.Response:
        tickets.append(time.time())
        path = "/v1/conversations/hello/ticket"
        async with ClientSession(served[0]) as session, session.post(path, headers={"x-api-key": "a-key"}) as made:
            return web.Response(text=(await made.json())["ticket"])

    async with (
        site(pages, web.get("/ticket", ticket)) as port,
        listening(
            kafka,
            unique,
            lambda _: TicketRoutes(authorizer, admission(authorizer), 1, ConnectionLimits(100, 100)).routes(),
            authorizer=authorizer,
            origins=[f"http://127.0.0.1:{port}"],
        ) as gate,
        Relay(gate.port) as line,
        browser_page() as page,
    ):
        served.append(gate.url)
        pages["/"] = (FOLLOWING % HOWTO["javascript"]).replace("GATEWAY", f"http://127.0.0.1:{line.port}")
        seen = statuses(page)
        await page.goto(f"http://127.0.0.1:{port}/")
        await gate.attended()
        await until(lambda: time.time() > tickets[0] + 2, "the ticket has expired")
        await answered_in_halves(gate, line, page, two_choices(), "END ")
        await until(lambda: shows(page, TEXTS[-1] + "END "), "the whole answer is shown")
        assert await text(page) == "".join([*TEXTS[:2], "END ", *TEXTS[2:], "END "])
        assert len(tickets) == 2
        assert seen[:3] == [200, 401, 200]


async def test_a_page_that_stops_following_opens_nothing_more() -> None:
    """Neither when its ticket comes nor when a pause is over: a component may be gone before it was connected."""
    async with site({"/": CLOSING % HOWTO["javascript"]}) as port, browser_page() as page:
        await page.goto(f"http://127.0.0.1:{port}/")
        waiting = "tickets[0].resolve('t')"
        assert await page.evaluate(CLOSED % ("", waiting)) == [1, 0, 0]
        await page.reload()
        pausing = "tickets[0].reject(); await done()"
        assert await page.evaluate(CLOSED % (pausing, "timers[0]()")) == [1, 1, 0]


def keyed(folder: Path) -> TicketAuthorizer:
    """Rights for one key, and tickets that are good for a second."""
    keys, digest = folder / "keys.toml", hashlib.sha256(b"a-key").hexdigest()
    keys.write_text(f'[[keys]]\nname = "site"\nsha256 = "{digest}"\nconversations = ["*"]\nactions = ["read"]\n')
    return make_authorizer(Gateway(auth="keys", keys_file=str(keys), ticket_s=1))
