"""One answer: a model server is called, and what it says becomes chunks, up to an end."""

import asyncio
import gc
import logging
from typing import Any

import msgspec
import pytest
from aiohttp import web

from tests.support.answering import Narrow, desk, request
from tests.support.calling import HI, SHAPE, TOOL, chat
from tests.support.model_servers.anthropic import Anthropic
from tests.support.model_servers.openai_like import OpenAiLike
from tests.support.model_servers.sglang import Sglang
from tests.support.model_servers.speech import Script
from tests.support.model_servers.vllm import Vllm
from tests.support.parsing import named, parse
from tests.support.stage import until
from tokenmill.apis.ask import Json
from tokenmill.caller import answer as module
from tokenmill.caller import http, trying
from tokenmill.caller.answer import Answer
from tokenmill.caller.kinds import Call, Plan
from tokenmill.caller.writing import RANGE
from tokenmill.codecs import Chunk
from tokenmill.events import ToolCall
from tokenmill.formats import compile_grammar
from tokenmill.parser import read_options

KEY = "sk-secret-key"
SLOW = Script("x" * 4_000, pause_s=0.02)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries follow each other at once."""
    monkeypatch.setattr(trying, "PAUSES_S", (0.0,))


async def test_an_answer_is_opened_told_and_ended() -> None:
    """With the format of the model, its counts, and the place given back."""
    async with Vllm(lambda _: Script("Hello"), api_key=KEY) as server, desk("vllm", server.url, api_key=KEY) as at:
        answer, outcome = await at.run()
        assert (outcome, answer.failure, at.pool.running) == ("finished", "", 0)
    assert "".join(at.story()) == "<hermes>Hello[stop]"
    assert answer.first_s is not None
    first, *_, last = at.written.chunks
    assert first["open"] == {"format": "hermes", "model": "m"}
    assert (last["end"], [chunk["seq"] for chunk in at.written.chunks]) == (True, list(range(len(at.written.chunks))))
    assert any("usage" in chunk for chunk in at.written.chunks)


@pytest.mark.parametrize(
    ("kind", "api", "told"),
    [("anthropic", "messages", "a-1,b-2"), ("anthropic", "chat", None), ("vllm", "messages", None)],
)
async def test_what_a_client_of_messages_tries_out_is_said_to_a_server_that_speaks_it(
    kind: str, api: Any, told: str | None
) -> None:
    """Its body may have fields that are refused without the header; others are asked in other words."""
    server_of = {"anthropic": Anthropic, "vllm": Vllm}[kind]
    body: Json = chat(max_tokens=9)
    async with server_of(lambda _: Script("Hello")) as server, desk(kind, server.url) as at:
        asked = msgspec.structs.replace(request(body), api=api, betas="a-1,b-2")
        assert await Answer(at.resources, "c", asked, until_ms=asked.until).run() == "finished"
    (generation,) = server.generations
    assert generation.headers.get("anthropic-beta") == told


async def test_an_answer_is_opened_before_it_has_a_place() -> None:
    """Whoever waits sees that it is alive."""
    async with Vllm(lambda _: Script("Hello")) as server, desk("vllm", server.url, calls=1) as at:
        place = await at.pool.take()
        run = asyncio.create_task(at.run())
        await until(lambda: at.pool.waiting == 1, "it waits")
        assert [chunk.get("open", {}).get("model") for chunk in at.written.chunks] == ["m"]
        assert server.generations == []
        at.pool.give_back(place, failed=None)
        assert (await run)[1] == "finished"


def kept(user: str) -> list[Any]:
    """What is in memory of a request that was read: its plan, and what its server is asked."""
    read = [each for each in gc.get_objects() if isinstance(each, Plan | Call)]
    return [each for each in read if each.body.get("user") == user]


@pytest.mark.parametrize("kind", ["vllm", "openai"])
async def test_a_request_is_kept_as_it_came(kind: str) -> None:
    """What is read of it takes several times its bytes: hundreds may wait for a place, and answers take minutes."""
    settings: Json = {"calls": 1, "format": "hermes" if kind == "vllm" else ""}
    async with OpenAiLike(lambda _: SLOW) as server, desk(kind, server.url, **settings) as at:
        place = await at.pool.take()
        answer = at.answer(chat(user=kind))
        run = asyncio.create_task(answer.run())
        await until(lambda: at.pool.waiting == 1, "it waits")
        assert kept(kind) == []
        at.pool.give_back(place, failed=None)
        await until(lambda: answer.first_s is not None, "it has begun")
        assert server.generations[0].body["user"] == kind
        assert kept(kind) == []
        answer.stop(run)
        assert await run == "stopped"


@pytest.mark.parametrize(("fail", "expected"), [("", "finished"), ("drop", "failed"), ("refuse", "refused")])
async def test_each_of_several_choices_has_its_end(fail: Any, expected: str) -> None:
    """And its own numbers; also where the server fails, as a reader of the last one would wait for ever."""
    script = Script("Hello", fail=fail, after=1, status=400)
    async with Vllm(lambda _: script) as server, desk("vllm", server.url) as at:
        assert (await at.run(chat(n=2)))[1] == expected
    assert sorted(chunk.get("choice", 0) for chunk in at.written.chunks if chunk.get("end")) == [0, 1]
    assert [chunk["seq"] for chunk in at.written.chunks if "open" in chunk] == [0, 0]


@pytest.mark.parametrize(("alone", "calls"), [(True, 1), (False, 2)])
async def test_of_several_calls_the_first_is_told_where_one_is_wanted(alone: bool, calls: int) -> None:
    """The model may write another one; it is not read, and its tokens are counted."""
    script = Script('<tool_call>{"name": "now", "arguments": {}}</tool_call>' * 2)
    async with Vllm(lambda _: script) as server, desk("vllm", server.url) as at:
        _, outcome = await at.run(chat(tools=[TOOL], parallel_tool_calls=not alone))
        assert (outcome, len(server.generations)) == ("finished", 1)
    compiled = compile_grammar(read_options(at.written.chunks[0]["open"]))
    assert len(named(parse(compiled, [at.text]), ToolCall)) == calls
    assert at.story()[-1] == "[tool-calls]"


@pytest.mark.parametrize("fail", ["drop", "error", "junk", "no-finish"])
async def test_an_answer_that_breaks_off_failed_and_is_not_asked_for_again(fail: Any) -> None:
    """Its text is there already."""
    script = Script("Hello", fail=fail, after=1)
    async with Vllm(lambda _: script) as server, desk("vllm", server.url) as at:
        answer, outcome = await at.run()
        assert (outcome, at.pool.running, len(server.generations)) == ("failed", 0, 1)
    assert at.status == (500 if fail == "error" else 502)
    assert answer.failure in ("broken-off", "refused")
    assert at.story()[:2] == ["<hermes>", "Hell"]
    assert at.story()[-1] == "[error]"


async def test_a_refusal_of_the_request_is_told_and_not_asked_for_again() -> None:
    """With the server's own status and words."""
    script = Script("", fail="refuse", status=400)
    async with Vllm(lambda _: script) as server, desk("vllm", server.url) as at:
        answer, outcome = await at.run()
        assert (outcome, answer.failure, at.status, at.pool.running) == ("refused", "refused", 400, 0)
        assert server.refusals == [("/v1/chat/completions", 400)]
    assert at.story() == ["<hermes>", "upstream: refused by its script", "[error]"]
    assert "BadRequestError" in at.written.chunks[-1]["error_raw"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (chat() | {"model": "nobody"}, 404),
        (chat(tools=[TOOL], response_format={"type": "json_object"}), 400),
        ({"model": "m", "messages": []}, 400),
    ],
)
async def test_what_can_t_be_had_of_the_model_is_told(body: Any, status: int) -> None:
    """The front has looked at it with another configuration."""
    async with desk("vllm", "http://nowhere.invalid") as at:
        _, outcome = await at.run(body)
    assert (outcome, at.status, at.story()[-1]) == ("refused", status, "[error]")


async def test_one_that_lacks_only_its_ends_gets_them() -> None:
    """Each choice, behind the reason that the caller before has told; no server is asked."""
    async with desk("vllm", "http://nowhere.invalid") as at:
        before = at.answer(chat(n=2))
        await before.writer.open({"format": "plain"}, 2)
        for choice, reason in enumerate(("length", "stop")):
            await before.put(Chunk(choice=choice, delta="Hello"))
            await before.put(Chunk(choice=choice, finish_reason=reason, end=False))
        answer = at.answer(chat(n=2), attempt=1)
        await answer.take_over(b"me")
        assert (answer.choices, await answer.end()) == (2, "finished")
    assert at.story() == ["Hello", "Hello", "[length]", "[stop]"]


@pytest.mark.parametrize("seconds", [-5.0, 0.3])
async def test_an_answer_that_is_not_over_in_time_is_ended(seconds: float) -> None:
    """Also one whose time was over when it was read; its server is left."""
    async with Vllm(lambda _: SLOW) as server, desk("vllm", server.url) as at:
        answer, outcome = await at.run(seconds=seconds)
        assert (outcome, at.status, at.pool.running) == ("expired", 504, 0)
        for generation in server.generations:
            await generation.over()
            assert generation.closed_early
    assert at.story()[-1] == "[error]"
    assert (answer.first_s is None) is (seconds < 0)


@pytest.mark.parametrize("attempt", [0, 1])
async def test_a_request_that_no_front_has_read_is_refused(attempt: int) -> None:
    """Whoever inherits it, too, gives it an end."""
    async with desk("vllm", "http://nowhere.invalid") as at:
        asked = msgspec.structs.replace(request(), body=msgspec.Raw(b'{"model":"\xff"}'))
        answer = Answer(at.resources, "c", asked, until_ms=asked.until, attempt=attempt)
        if attempt:
            await answer.take_over(b"me")
            assert not answer.continues
        assert (await answer.run(), at.status) == ("refused", 400)
    assert at.story()[-1] == "[error]"


@pytest.mark.parametrize("stage", ["put", "acknowledge", "acknowledge in time", "give up"])
async def test_a_kafka_that_is_away_holds_no_answer_for_ever(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written when the answer's time is over has some time more; then others have to look for its end."""
    monkeypatch.setattr(module, "END_S", 0.2)
    async with Vllm(lambda _: Script("Hello")) as server, desk("vllm", server.url) as at:
        (at.written.taking if stage in ("put", "give up") else at.written.acknowledging).clear()
        answer = at.answer(seconds=1 if stage == "acknowledge in time" else 0.1)
        async with asyncio.timeout(10):
            outcome = await (answer.give_up("no", 502) if stage == "give up" else answer.run())
        assert (outcome, answer.left, at.pool.running) == ("expired", True, 0)


async def test_an_answer_that_kafka_takes_late_is_not_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its end is known."""
    monkeypatch.setattr(module, "END_S", 20)
    async with desk("vllm", "http://nowhere.invalid", calls=1) as at:
        await at.pool.take()
        at.written.acknowledging.clear()
        answer = at.answer(seconds=0.1)
        run = asyncio.create_task(answer.run())
        await until(lambda: at.written.chunks and at.written.chunks[-1].get("end"), "the end is written")
        at.written.acknowledging.set()
        assert (await run, answer.left, answer.failure) == ("expired", False, "late")


async def test_who_waits_too_long_for_a_place_is_ended_and_holds_none() -> None:
    """Nor does it stay in the queue."""
    async with desk("vllm", "http://nowhere.invalid", calls=1) as at:
        await at.pool.take()
        _, outcome = await at.run(seconds=0.2)
        assert (outcome, at.pool.running, at.pool.waiting) == ("expired", 1, 0)


async def test_a_stop_leaves_the_server_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever stopped it has written its end; the place is free, and nothing is read on."""
    monkeypatch.setattr(http, "REST_S", 60.0)
    async with Vllm(lambda _: SLOW) as server, desk("vllm", server.url) as at:
        answer, run = await at.begun()
        answer.stop(run)
        await asyncio.wait([run], timeout=5)
        assert run.done()
        await server.generations[0].over()
        assert server.generations[0].closed_early
        assert (await run, at.pool.running) == ("stopped", 0)
    assert not any(chunk.get("end") for chunk in at.written.chunks)


async def test_a_stop_also_takes_who_waits_for_a_place() -> None:
    """It has called nobody."""
    async with desk("vllm", "http://nowhere.invalid", calls=1) as at:
        await at.pool.take()
        answer = at.answer()
        run = asyncio.create_task(answer.run())
        await until(lambda: at.pool.waiting == 1, "it waits")
        answer.stop(run)
        assert (await run, at.pool.waiting) == ("stopped", 0)


async def test_it_is_over_when_its_end_is_in_the_log() -> None:
    """Not when it is on its way; a stop then changes nothing, as one that tells of this answer's own end."""
    async with Vllm(lambda _: Script("Hello")) as server, desk("vllm", server.url) as at:
        answer = at.answer()
        at.written.acknowledging.clear()
        run = asyncio.create_task(answer.run())
        await until(lambda: at.written.chunks and at.written.chunks[-1].get("end"), "the end is written")
        answer.stop(run)
        await asyncio.wait([run], timeout=0.01)
        assert not run.done()
        at.written.acknowledging.set()
        assert await run == "finished"


async def test_who_is_cut_off_leaves_the_end_to_others() -> None:
    """As a process that ends: who has the partition next goes on."""
    async with Vllm(lambda _: SLOW) as server, desk("vllm", server.url) as at:
        _, run = await at.begun()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert at.pool.running == 0
    assert not any(chunk.get("end") for chunk in at.written.chunks)


async def test_sglang_is_told_of_a_stop() -> None:
    """By the name of the try: it notices a lost connection late."""
    told = list[str]()

    class Telling(Sglang):
        async def _abort(self, request: web.Request) -> web.StreamResponse:
            told.append((await request.json())["rid"])
            return await super()._abort(request)

    async with Telling(lambda _: SLOW) as server, desk("sglang", server.url) as at:
        answer, run = await at.begun()
        answer.stop(run)
        assert await run == "stopped"
        assert told == [server.generations[0].body["rid"]] == ["m1-0-1"]


async def test_who_takes_over_says_that_the_model_is_called_again() -> None:
    """In front of the first token, in a range of numbers of its own."""
    async with Vllm(lambda _: Script("Hello")) as server, desk("vllm", server.url) as at:
        answer = at.answer(attempt=1)
        await answer.take_over(b"me")
        assert await answer.run() == "finished"
    opening, part, *_ = at.written.chunks
    assert (opening["resumes"], opening["seq"], at.written.records[0].header(module.TAKEOVER)) == (True, RANGE, "me")
    assert part["part"] == {"kind": "takeover", "value": {"how": "called-again"}}
    assert ("".join(at.story()), str(at.written.chunks).count("takeover")) == ("<hermes>Hello[stop]", 1)


async def test_who_goes_on_asks_for_the_rest() -> None:
    """The text of the one before is the beginning of the answer and not said again; how it went on is told last."""
    async with Vllm(lambda _: Script(" world")) as server, desk("vllm", server.url, continues=True) as at:
        answer = at.answer(attempt=1)
        assert answer.continues
        await answer.take_over(b"me")
        answer.continue_text("Hello")
        assert await answer.run() == "finished"
        body = server.generations[0].body
    assert body["messages"] == [HI, {"role": "assistant", "content": "Hello"}]
    assert body["continue_final_message"]
    assert at.text == " world"
    parts = [chunk["part"]["value"] for chunk in at.written.chunks if "part" in chunk]
    assert parts == [{"how": "continued"}]
    text, *last = ("part" in chunk for chunk in at.written.chunks if "part" in chunk or "delta" in chunk)
    assert (text, last[-1]) == (False, True)
    assert at.written.chunks[-1]["end"]


@pytest.mark.parametrize(
    ("continues", "fields", "can"),
    [
        (True, {}, True),
        (True, {"n": 2}, False),
        (False, {}, False),
        (True, {"response_format": SHAPE}, False),
        (True, {"response_format": SHAPE, "tools": [TOOL], "tool_choice": "required"}, True),
    ],
)
async def test_an_answer_is_gone_on_with_where_that_can_be_done(continues: bool, fields: Json, can: bool) -> None:
    """Of one choice, at a server that does, and without a shape, which a server would begin again in the middle; never
    where the request can't be read.
    """
    async with desk("vllm", "http://nowhere.invalid", continues=continues) as at:
        assert at.answer(chat(**fields)).continues is can
        assert not at.answer(chat() | {"model": "nobody"}).continues


@pytest.mark.parametrize("attempt", [0, 1])
async def test_an_answer_that_is_given_up_ends_all_its_choices(attempt: int) -> None:
    """Whoever had it before."""
    async with desk("vllm", "http://nowhere.invalid") as at:
        answer = at.answer(chat(n=2) if attempt else chat(), attempt=attempt)
        if attempt:
            await answer.take_over(b"me")
        assert await answer.give_up("lost", 502) == "refused"
    ends = [chunk.get("choice", 0) for chunk in at.written.chunks if chunk.get("end")]
    assert (ends, at.status, at.story()[-1]) == (list(range(attempt + 1)), 502, "[error]")


async def test_a_request_that_no_record_holds_is_refused() -> None:
    """Its tools open the message; it would be written again for ever."""
    tool = {"type": "function", "function": {"name": "now", "description": "x" * 2_000}}
    async with Vllm(lambda _: Script("Hello")) as server, desk("vllm", server.url, written=Narrow(1_000)) as at:
        _, outcome = await at.run(chat(tools=[tool]))
        assert (outcome, at.status, server.generations) == ("refused", 413, [])
    assert at.story()[-1] == "[error]"


async def test_a_request_that_no_record_holds_can_be_taken_over_to_be_ended() -> None:
    """Else each caller that gets its partition would end at it."""
    tool = {"type": "function", "function": {"name": "now", "description": "x" * 2_000}}
    async with desk("vllm", "http://nowhere.invalid", written=Narrow(1_000)) as at:
        answer = at.answer(chat(tools=[tool], n=2), attempt=1)
        await answer.take_over(b"me")
        assert answer.refused is not None
        assert await answer.give_up("lost", 502) == "refused"
    ends = [(chunk.get("choice", 0), chunk["error_status"]) for chunk in at.written.chunks if chunk.get("end")]
    assert ends == [(0, 413), (1, 413)]
    assert at.written.records[0].header(module.TAKEOVER) == "me"


@pytest.mark.parametrize("script", [Script("", fail="drop"), Script("", fail="refuse", status=401)])
async def test_the_key_is_in_no_log_and_in_no_record(script: Script, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever goes wrong."""
    caplog.set_level(logging.DEBUG)
    async with Vllm(lambda _: script) as server, desk("vllm", server.url, api_key=KEY, tries=2) as at:
        await at.run()
    assert all(KEY.encode() not in (record.value or b"") for record in at.written.records)
    assert KEY not in caplog.text
