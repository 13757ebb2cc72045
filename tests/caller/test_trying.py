"""Tries at model servers: where, how often, after which pauses, and what the log says of them."""

import asyncio
import logging
import time
from pathlib import Path

import msgspec
import pytest

from tests.support.answering import Desk, desk
from tests.support.calling import chat
from tests.support.model_servers.speech import Fail, Script
from tests.support.model_servers.vllm import Vllm
from tests.support.raw_server import SSE, RawServer, answer, chunk, raw_server
from tests.support.stage import until
from tokenmill.apis.ask import BadAsk, Json
from tokenmill.caller import http, pool
from tokenmill.caller import trying as module
from tokenmill.caller.kinds import Call, Plan
from tokenmill.caller.kinds.vllm import Vllm as KindOfVllm
from tokenmill.caller.pool import FAILURES
from tokenmill.caller.trying import bare
from tokenmill.observe import setup_logs

KEY = "sk-secret-key"


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries follow each other at once."""
    monkeypatch.setattr(module, "PAUSES_S", (0.0,))


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was logged of failures."""
    records = [record for record in caplog.records if record.name == module.__name__]
    assert {record.levelno for record in records} <= {logging.WARNING}
    return [record.getMessage() for record in records]


class Picky(KindOfVllm):
    """A kind that finds out late what it can't ask for."""

    def call(self, plan: Plan) -> Call:
        raise BadAsk(f"{plan.model} can't be asked for this")


async def test_a_request_that_can_t_be_made_is_the_client_s_to_change() -> None:
    """It comes to no server, and is not tried again."""
    async with desk("vllm", "http://nowhere.invalid", tries=3) as at:
        at.resources.models["m"].kind = Picky()
        answer, outcome = await at.run()
        assert (outcome, answer.failure, at.status, at.pool.running) == ("refused", "refused", 400, 0)
        assert not at.pool.closed


@pytest.mark.usefixtures("soon")
async def test_a_server_that_is_busy_is_left_for_another() -> None:
    """Nobody notices."""
    busy = Script("", fail="refuse", status=503)
    async with Vllm(lambda _: busy) as first, Vllm(lambda _: Script("Hello")) as second:
        async with desk("vllm", first.url, second.url) as at:
            answer, outcome = await at.run()
            assert (outcome, at.pool.running, at.text) == ("finished", 0, "Hello")
        assert (len(first.refusals), len(second.generations)) == (1, 1)
    assert answer.failure == ""


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("fail", ["refuse", "error", "drop", "junk"])
async def test_a_server_is_tried_as_often_as_configured(fail: Fail) -> None:
    """As long as nothing has come; then it is told."""
    script = Script("", fail=fail, status=503)
    async with Vllm(lambda _: script) as server, desk("vllm", server.url, tries=3) as at:
        _, outcome = await at.run()
        assert (outcome, at.pool.running) == ("refused", 0)
        assert len(server.refusals) + len(server.generations) == at.pool.replicas[0].failures == 3
    assert at.status == {"refuse": 503, "error": 500}.get(fail, 502)
    assert at.story()[-1] == "[error]"


@pytest.mark.usefixtures("soon")
async def test_a_server_that_limits_its_clients_has_not_failed() -> None:
    """It works; left alone, it would be missed."""
    async with Vllm(lambda _: Script("", fail="refuse", status=429)) as server, desk("vllm", server.url, tries=3) as at:
        await at.run()
        assert (len(server.refusals), at.pool.replicas[0].failures) == (3, 0)


async def test_who_finds_no_place_is_told_to_come_back() -> None:
    """At once, where nobody may wait."""
    async with Vllm(lambda _: Script("Hello")) as server, desk("vllm", server.url, calls=1, queue=0) as at:
        await at.pool.take()
        answer, outcome = await at.run()
        assert (outcome, answer.failure, at.status, server.generations) == ("refused", "full", 429, [])
        assert at.pool.running == 1


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(
    ("script", "words"),
    [
        (Script("", fail="refuse", status=503), "(refused): status 503"),
        (Script("", fail="drop"), "(broken-off): the connection to the model's server was lost: "),
        (Script("", fail="junk"), "(refused): status 502"),
        (Script("", fail="error"), "(refused): status 50"),
    ],
    ids=lambda value: value.fail if isinstance(value, Script) else "",
)
async def test_every_try_that_fails_is_logged(script: Script, words: str, caplog: pytest.LogCaptureFixture) -> None:
    """With the model, its server and the kind; the last one, too."""
    async with Vllm(lambda _: script) as server, desk("vllm", server.url, tries=2) as at:
        await at.run()
        first, last = said(caplog)
        assert first == last
        assert last.startswith(f"no answer from test-model at {server.url} {words}")


async def test_a_server_that_is_not_there_is_logged_with_what_the_system_says(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A name that nobody knows and a port that nobody listens at are fixed in different places."""
    async with desk("vllm", "http://no-such-host.invalid", tries=1) as at:
        await at.run()
    (line,) = said(caplog)
    assert line.startswith("no answer from test-model at http://no-such-host.invalid (connect): ")
    assert "Cannot connect to host no-such-host.invalid:80" in line


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("status", [400, 401, 403, 500])
async def test_neither_prompts_nor_keys_are_logged(status: int, caplog: pytest.LogCaptureFixture) -> None:
    """A refusal may quote both."""
    caplog.set_level(logging.DEBUG)
    body = b'{"error":{"message":"Incorrect API key sk-secret-key for: Hi there"}}'
    async with raw_server(answer(status, body)) as server, desk("vllm", server.url, api_key=KEY, tries=1) as at:
        await at.run()
    (line,) = said(caplog)
    assert line.endswith(f"(refused): status {status}")
    assert not {word for word in ("Incorrect", KEY, "Hi there") if word in caplog.text}


async def test_a_refusal_of_our_key_is_told_as_the_gateway_s(caplog: pytest.LogCaptureFixture) -> None:
    """Once, and it says nothing of whether the server works: it is not left alone for that."""
    async with Vllm(lambda _: Script("Hello"), api_key=KEY) as server, desk("vllm", server.url, api_key="sk-old") as at:
        for number in range(6):
            found, outcome = await at.run(message_id=f"m{number}")
            assert (outcome, found.failure) == ("refused", "refused")
        assert (len(server.refusals), at.pool.closed, at.status) == (6, 0, 502)
    told = at.story("m0")[1]
    assert "the gateway's own credentials" in told
    assert not any("error_raw" in chunk for chunk in at.written.chunks)
    assert said(caplog)[0].endswith("(refused): status 401")


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_server_that_refuses_all_is_left_for_one_that_does_not(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has another key, or not the model: as it is quick it always has the fewest answers, and would get them all."""
    monkeypatch.setattr(pool, "BREAK_S", 1_000.0)
    lacks = Script("", fail="refuse", status=status)
    async with (
        Vllm(lambda _: lacks) as first,
        Vllm(lambda _: Script("Hello")) as second,
        desk("vllm", first.url, second.url) as at,
    ):
        for number in range(4 * FAILURES):
            assert (await at.run(message_id=f"m{number}"))[1] == "finished"
        assert (len(first.refusals), len(second.generations), at.pool.closed) == (FAILURES, 4 * FAILURES, 1)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(("status", "told"), [(401, 502), (404, 404)])
async def test_what_all_servers_refuse_is_asked_of_each_once(status: int, told: int) -> None:
    """Nothing tells that a third time would help; where there is one server it is not left alone for it."""
    lacks = Script("", fail="refuse", status=status)
    async with Vllm(lambda _: lacks) as first, Vllm(lambda _: lacks) as second:
        async with desk("vllm", first.url, second.url, tries=5) as at:
            _, outcome = await at.run()
            assert (outcome, at.status, len(first.refusals), len(second.refusals)) == ("refused", told, 1, 1)
        async with desk("vllm", first.url) as at:
            for number in range(FAILURES + 1):
                await at.run(message_id=f"m{number}")
            assert (at.status, len(first.refusals), at.pool.closed) == (told, FAILURES + 2, 0)


@pytest.mark.usefixtures("soon")
async def test_a_request_that_one_server_finds_wrong_is_asked_of_no_other() -> None:
    """It would say the same."""
    wrong = Script("", fail="refuse", status=400)
    async with Vllm(lambda _: wrong) as first, Vllm(lambda _: wrong) as second:
        async with desk("vllm", first.url, second.url) as at:
            assert (await at.run())[1] == "refused"
        assert len(first.refusals) + len(second.refusals) == 1


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("status", [401, 403, 404])
async def test_what_all_servers_refuse_closes_none_for_others(status: int) -> None:
    """One asks for a model that none of them has, or is refused for what it says: another's request is answered."""

    def judged(body: Json) -> Script:
        return Script("Hello") if "fine" in str(body["messages"]) else Script("", fail="refuse", status=status)

    async with Vllm(judged) as first, Vllm(judged) as second, desk("vllm", first.url, second.url) as at:
        for number in range(2 * FAILURES):
            assert (await at.run(message_id=f"m{number}"))[1] == "refused"
        assert (at.pool.closed, [each.failures for each in at.pool.replicas]) == (0, [0, 0])
        _, outcome = await at.run(chat({"role": "user", "content": "fine"}), message_id="other")
        assert outcome == "finished"


@pytest.mark.usefixtures("soon")
async def test_a_refusal_is_a_failure_when_another_server_begins_to_answer() -> None:
    """Not at the end of a long answer: until then most requests would be refused once."""
    lacks, slow = Script("", fail="refuse", status=404), Script("Hello", fail="hang", after=1)
    async with (
        Vllm(lambda _: lacks) as first,
        Vllm(lambda _: slow) as second,
        desk("vllm", first.url, second.url) as at,
    ):
        _, run = await at.begun()
        assert [each.failures for each in at.pool.replicas] == [1, 0]
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)
        assert [each.failures for each in at.pool.replicas] == [1, 0]


@pytest.mark.usefixtures("soon")
async def test_a_server_that_refuses_and_then_answers_the_same_has_not_failed() -> None:
    """Where there is no place at another one it is asked again."""
    turns = [Script("", fail="refuse", status=404), Script("Hello", fail="hang", after=1)]
    async with Vllm(lambda _: turns.pop(0)) as server, desk("vllm", server.url, "http://full.invalid", calls=1) as at:
        await at.pool.take(avoided={server.url})
        _, run = await at.begun()
        assert [each.failures for each in at.pool.replicas] == [0, 0]
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)


async def test_a_server_that_begins_to_answer_is_asked_by_all_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """After an outage one request tries it: others need not wait for the end of a long answer."""
    monkeypatch.setattr(pool, "BREAK_S", 0.0)
    slow = Script("Hello", fail="hang", after=1)
    async with Vllm(lambda _: slow) as server, desk("vllm", server.url) as at:
        for _ in range(FAILURES):
            at.pool.give_back(await at.pool.take(), failed=True)
        _, run = await at.begun()
        assert (at.pool.closed, (await at.pool.take()).url) == (0, server.url)
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)


async def test_what_comes_to_no_server_says_nothing_of_one(tmp_path: Path) -> None:
    """A prompt that does not render is no sign that a server which failed is well."""
    (tmp_path / "t.jinja").write_text("{{ raise_exception('no') }}")
    url, template = "http://nowhere.invalid", str(tmp_path / "t.jinja")
    async with desk("completions", url, template_file=template) as at:
        at.pool.give_back(await at.pool.take(), failed=True)
        _, outcome = await at.run()
        assert (outcome, at.status, at.pool.replicas[0].failures) == ("refused", 400, 1)


async def test_who_finds_no_place_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """It has come to no server."""
    async with desk("vllm", "http://nowhere.invalid", calls=1, queue=0) as at:
        await at.pool.take()
        await at.run()
    (line,) = said(caplog)
    assert line.startswith("no answer from test-model (full): the model's servers and the queue for them are full")


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("fail", ["refuse", "drop"])
async def test_a_server_that_fails_again_and_again_fills_no_log(
    fail: Fail, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each server and each kind of failure is heard of all the same."""
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", list(root.handlers))
    level = root.level
    setup_logs("plain")
    try:
        async with Vllm(lambda _: Script("", fail=fail)) as server, desk("vllm", server.url, tries=2) as at:
            for number in range(2):
                await at.run(message_id=f"m{number}")
    finally:
        root.setLevel(level)
    lines = capsys.readouterr().err.splitlines()
    assert sum("no answer from" in line for line in lines) == 3


WHOLE = b"".join(
    b"data: " + msgspec.json.encode({"id": "a", **fields}) + b"\n\n"
    for fields in (
        {"choices": [{"index": 0, "delta": {"content": "Hello"}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"completion_tokens": 1}},
    )
)
"""All that is read of an answer."""


async def answered(server: RawServer, number: int) -> None:
    """Wait until it has written so many, and their ends."""
    await until(lambda: server.answers == number, "the body has ended")


async def test_the_next_answer_takes_the_same_connection() -> None:
    """Also from a server that says a moment later that it is done: neither an answer's end nor a place waits for it."""
    done = (0.3, chunk(b"data: [DONE]\n\n"), 0.1, b"0\r\n\r\n")
    async with (
        raw_server(SSE, chunk(WHOLE), *done, then="again") as server,
        desk("openai", server.url, format="plain") as at,
    ):
        for number in (1, 2):
            _, outcome = await at.run(message_id=f"m{number}")
            assert (outcome, at.pool.running) == ("finished", 0)
            assert server.written == 4 * number - 2  # not those behind the pauses
            await answered(server, number)
        assert server.connections == 1


async def test_who_stops_an_answer_leaves_its_server_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that comes then is read."""
    monkeypatch.setattr(http, "REST_S", 60.0)
    half = WHOLE.partition(b"\n\n")[0].replace(b'"stop"', b"null") + b"\n\n"
    async with (
        raw_server(SSE, chunk(half), then="silent") as server,
        desk("openai", server.url, format="plain") as at,
    ):
        answer, run = await at.begun()
        answer.stop(run)
        async with asyncio.timeout(10):
            await server.left.wait()
        assert (await run, at.pool.running) == ("stopped", 0)


async def paused(at: Desk) -> float:
    """How long an answer took, which waits for tries."""
    clock = asyncio.get_running_loop().time
    began = clock()
    await at.run()
    return clock() - began


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(("retry_after", "cap", "least"), [(1, 30.0, 1.0), (3600, 0.5, 0.5)])
async def test_a_server_that_says_when_is_asked_then(
    retry_after: int, cap: float, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not before, unless that would take too long."""
    monkeypatch.setattr(module, "RETRY_AFTER_S", cap)
    busy = [Script("", fail="refuse", status=429, retry_after=retry_after), Script("Hello")]
    async with Vllm(lambda _: busy.pop(0)) as server, desk("vllm", server.url) as at:
        took = await paused(at)
        assert (at.text, busy, least <= took < least + 5) == ("Hello", [], True)


@pytest.mark.usefixtures("soon")
async def test_another_server_is_asked_at_once() -> None:
    """What the first one asks for is none of its affair."""
    busy = Script("", fail="refuse", status=429, retry_after=20)
    async with (
        Vllm(lambda _: busy) as first,
        Vllm(lambda _: Script("Hello")) as second,
        desk("vllm", first.url, second.url) as at,
    ):
        assert await paused(at) < 10
        assert at.text == "Hello"


@pytest.mark.usefixtures("soon")
async def test_who_can_t_wait_so_long_is_told_at_once() -> None:
    """The server's own refusal, and not that the answer took too long."""
    busy = Script("", fail="refuse", status=429, retry_after=25)
    async with Vllm(lambda _: busy) as server, desk("vllm", server.url) as at:
        began = time.monotonic()
        _, outcome = await at.run(seconds=20)
        assert time.monotonic() - began < 10
        assert (outcome, at.status, len(server.refusals)) == ("refused", 429, 1)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://a:8000/v1", "http://a:8000/v1"),
        ("https://user:sk-1@a/x?key=sk-2#sk-3", "https://a/x"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_a_url_is_shown_without_what_may_be_secret(url: str, shown: str) -> None:
    """The configuration refuses such URLs; nobody has to rely on that."""
    assert bare(url) == shown
