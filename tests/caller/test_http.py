"""The way to model servers: a deadline for each wait, and failures as what they mean for clients."""

import asyncio
import logging
import socket
import traceback
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

import msgspec
import pytest

from tests.support.model_servers.openai_like import OpenAiLike
from tests.support.model_servers.speech import Script
from tests.support.raw_server import SSE, RawServer, Then, answer, chunk, raw_server
from tests.support.stage import until
from tokenmill.caller import http as module
from tokenmill.caller.failure import RAW_CHARS, UpstreamFailed
from tokenmill.caller.http import Http, message_of
from tokenmill.caller.kinds import Call
from tokenmill.config import Upstream

KEY = "sk-secret-key"
HEADERS = {"authorization": f"Bearer {KEY}"}
CALL = Call("/v1/x", {"a": "b"})


def upstream(**settings: Any) -> Upstream:
    return Upstream(models=["m"], urls=["http://a"], **settings)


async def streamed(http: Http, url: str, call: Call = CALL, **settings: Any) -> bytes:
    async with aclosing(http.streamed(url, call, HEADERS, upstream(**settings))) as pieces:
        return b"".join([piece async for piece in pieces])


async def problem_of(url: str, **settings: Any) -> UpstreamFailed:
    """The failure, in which there is no key wherever one looks."""
    async with Http() as http:
        with pytest.raises(UpstreamFailed) as problem:
            await streamed(http, url, **settings)
    told = "".join(traceback.format_exception(problem.value))
    assert KEY not in told
    return problem.value


async def test_a_call_is_posted_as_json_and_its_answer_comes_in_pieces() -> None:
    """With the key, and none of them larger than it may be."""
    async with (
        raw_server(SSE, chunk(b"x" * 200_000), chunk(b"y"), b"0\r\n\r\n") as server,
        Http() as http,
        aclosing(http.streamed(server.url, CALL, HEADERS, upstream())) as pieces,
    ):
        came = [piece async for piece in pieces]
    assert b"".join(came) == b"x" * 200_000 + b"y"
    assert max(map(len, came)) <= module.PIECE_BYTES
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v1/x HTTP/1.1")
    said = set(head.lower().split(b"\r\n"))
    assert {b"authorization: bearer sk-secret-key", b"content-type: application/json"} <= said
    assert b"accept-encoding: identity" in said
    assert body == b'{"a":"b"}'


async def test_a_server_that_is_not_there_can_t_be_reached() -> None:
    """Another one may be."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        problem = await problem_of(f"http://127.0.0.1:{free.getsockname()[1]}")
    assert (problem.kind, problem.status, problem.again) == ("connect", 503, True)
    assert (await problem_of("http://no-such-host.invalid")).kind == "connect"


@pytest.mark.parametrize(
    ("pieces", "settings"),
    [
        ((), {"first_byte_s": 0.1}),
        ((b"HTTP/1.1 200 OK\r\ncontent-",), {"first_byte_s": 0.1}),
        ((SSE,), {"first_byte_s": 0.1}),
        ((SSE, chunk(b": ping\n\n")), {"first_byte_s": 0.1, "silence_s": 0.1}),
        ((SSE, chunk(b"Hel")), {"silence_s": 0.1}),
        ((SSE, chunk(b": ping\n\n"), chunk(b"data: {}\n\n")), {"silence_s": 0.1}),
        ((SSE, chunk(b": ping\r\n\r\ndata: {}\n\n")), {"silence_s": 0.1}),
    ],
)
async def test_silence_ends(pieces: Sequence[bytes], settings: dict[str, float]) -> None:
    """Before the head, in it, behind it or a comment, in the middle; the connection is closed: nothing is computed."""
    async with raw_server(*pieces, then="silent") as server:
        problem = await problem_of(server.url, **settings)
        await server.left.wait()
    assert (problem.kind, problem.status, problem.again) == ("slow", 504, True)


@pytest.mark.parametrize("before", [(), (b": ping\n\n",), (b":\n\n", b": ping\n", b"\n")])
async def test_a_prompt_has_the_time_of_the_first_byte_though_the_head_and_comments_come_before(
    before: Sequence[bytes],
) -> None:
    """They are sent before the prompt is read: the silence that ends an answer is that of one that has begun."""
    said = b"data: {}\n\n"
    async with raw_server(SSE, *map(chunk, before), 0.5, chunk(said), b"0\r\n\r\n") as server, Http() as http:
        assert await streamed(http, server.url, silence_s=0.1, first_byte_s=20) == b"".join(before) + said


async def test_comments_keep_a_prompt_going() -> None:
    """Whoever says every few moments that it is at work is waited for, as long as the answer may take."""
    ping, said = b": ping\n\n", b"data: {}\n\n"
    async with raw_server(SSE, chunk(ping), 0.5, chunk(said), b"0\r\n\r\n") as server, Http() as http:
        assert await streamed(http, server.url, silence_s=20, first_byte_s=0.2) == ping + said


@pytest.mark.parametrize(
    ("pieces", "then"),
    [
        ((), "close"),
        ((), "reset"),
        ((SSE,), "reset"),
        ((SSE, chunk(b"Hel")), "close"),
        ((SSE, chunk(b"Hel")), "reset"),
        ((b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nHel",), "close"),
        ((b"NONSENSE\r\n\r\n",), "close"),
        ((SSE + b"no-number\r\n\r\n",), "close"),
    ],
)
async def test_a_connection_that_is_lost_is_no_end(pieces: Sequence[bytes], then: Then) -> None:
    """Nor is an answer that is no HTTP."""
    async with raw_server(*pieces, then=then) as server:
        problem = await problem_of(server.url)
    assert (problem.kind, problem.status, problem.again) == ("broken-off", 502, True)


async def test_a_body_whose_frames_are_broken_in_the_middle_is_given_up() -> None:
    """At the latest when it has been silent for too long: aiohttp closes the connection and tells nobody."""
    async with raw_server(SSE, chunk(b"Hel"), b"no-number\r\n\r\n") as server:
        problem = await problem_of(server.url, silence_s=0.2)
    assert problem.kind in ("slow", "broken-off")


async def test_broken_frames_behind_a_piece_lose_the_connection() -> None:
    """What came before them is told; aiohttp has no error of its own for whoever reads on."""
    junk = chunk(b"Hel") + b"no-number\r\n\r\n"
    async with (
        raw_server(SSE, junk, then="silent") as server,
        Http() as http,
        aclosing(http.streamed(server.url, CALL, HEADERS, upstream())) as pieces,
    ):
        assert await anext(pieces) == b"Hel"
        await server.left.wait()
        with pytest.raises(UpstreamFailed) as problem:
            await anext(pieces)
    assert (problem.value.kind, problem.value.status, problem.value.again) == ("broken-off", 502, True)
    assert problem.value.logged == "the connection to the model's server was lost: RuntimeError"


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (400, b'{"error":{"message":"too long","type":"BadRequestError","param":null,"code":400}}', "too long"),
        (400, b'{"object":"error","message":"too long","type":"BadRequest","code":400}', "too long"),
        (529, b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "Overloaded"),
        (422, b'{"detail":"no such field"}', "no such field"),
        (422, b'{"detail":[{"loc":["body","a"],"msg":"missing"}]}', "the model's server answered with status 422"),
        (404, b'{"error":"model not found"}', "model not found"),
        (402, b'{"error":"Insufficient Balance"}', "Insufficient Balance"),
        (500, b"Internal Server Error", "the model's server answered with status 500"),
        (502, b"<html>\xff Bad Gateway</html>", "the model's server answered with status 502"),
        (503, b"", "the model's server answered with status 503"),
        (500, b"[" * 4_000, "the model's server answered with status 500"),
        (500, b'{"error":{"message":{"error":"deep"}}}', "the model's server answered with status 500"),
    ],
)
async def test_a_refusal_keeps_its_status_and_says_why(status: int, body: bytes, message: str) -> None:
    """In whichever shape a server says it."""
    async with raw_server(answer(status, body)) as server:
        problem = await problem_of(server.url)
    assert (problem.kind, problem.status, str(problem)) == ("refused", status, message)
    assert problem.raw == body.decode(errors="replace")
    assert problem.again is (status in (500, 502, 503, 529))


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refusal_of_our_key_is_no_client_s(status: int) -> None:
    """An SDK would take it for its own key's, and the server's words may quote ours."""
    body = b'{"error":{"message":"Incorrect API key provided: sk-sec****-key","code":"invalid_api_key"}}'
    async with raw_server(answer(status, body)) as server:
        problem = await problem_of(server.url)
    assert (problem.kind, problem.status, problem.server_status, problem.again) == ("refused", 502, status, False)
    assert "the gateway's own credentials" in str(problem)
    assert (problem.raw, "sk-" in str(problem), problem.logged) == ("", False, f"status {status}")


@pytest.mark.parametrize(
    ("more", "seconds"), [("", None), ("retry-after: 7\r\n", 7), ("Retry-After-Ms: 1500\r\nRetry-After: 2\r\n", 1.5)]
)
async def test_a_refusal_says_when_to_come_back(more: str, seconds: float | None) -> None:
    """If the server does."""
    async with raw_server(answer(429, b"{}", more=more)) as server:
        assert (await problem_of(server.url)).pause_s == seconds


async def test_what_is_logged_of_a_failure_has_no_words_of_the_server_s() -> None:
    """They may be those of a prompt; what the system says of a host and a port is no secret."""
    said = b'{"error":"you said: open sesame"}'
    async with raw_server(answer(400, said)) as refuses, raw_server(b"open sesame\r\n\r\n") as babbles:
        refused, broken = await problem_of(refuses.url), await problem_of(babbles.url)
    assert (refused.logged, "sesame" in broken.logged) == ("status 400", False)
    assert broken.logged.startswith("the connection to the model's server was lost: ")
    nowhere = await problem_of("http://no-such-host.invalid")
    assert "no-such-host.invalid" in nowhere.logged
    assert "no-such-host" not in str(nowhere)


async def test_a_refusal_that_comes_in_pieces_is_whole() -> None:
    """Its head and its body are seldom in one packet."""
    body = b'{"error":{"message":"too long"}}'
    whole = answer(400, body)
    async with raw_server(whole[:-20], whole[-20:-10], whole[-10:]) as server:
        problem = await problem_of(server.url)
    assert (str(problem), problem.raw) == ("too long", body.decode())


async def test_of_a_long_refusal_the_beginning_is_kept() -> None:
    """Ten megabytes are read by nobody."""
    async with raw_server(answer(500, b"x" * 10_000_000)) as server:
        assert (await problem_of(server.url)).raw == "x" * RAW_CHARS


async def test_what_is_compressed_is_not_read() -> None:
    """A packet of it may become gigabytes."""
    async with raw_server(answer(200, b"\x1f\x8b", more="content-encoding: gzip\r\n")) as server:
        assert (await problem_of(server.url)).kind == "unreadable"
    async with raw_server(answer(500, b"\x1f\x8b", more="content-encoding: gzip\r\n")) as server:
        problem = await problem_of(server.url)
    assert (problem.kind, problem.status, problem.raw) == ("refused", 500, "")


async def test_a_refusal_whose_body_does_not_come_is_one() -> None:
    """Its status says enough."""
    head = b"HTTP/1.1 400 X\r\ncontent-length: 9\r\n\r\n"
    async with raw_server(head, then="silent") as server:
        problem = await problem_of(server.url, connect_s=0.1)
    assert (problem.status, problem.raw, problem.again) == (400, "", False)
    async with raw_server(head + b"Hel", then="reset") as server:
        assert (await problem_of(server.url)).status == 400


@pytest.mark.parametrize("status", [301, 302, 307, 308, 600, 999])
async def test_a_redirect_is_not_followed_and_no_status_is_told_that_http_lacks(status: int) -> None:
    """It would take the key elsewhere."""
    async with raw_server(answer(200, b"{}")) as elsewhere:
        async with raw_server(answer(status, b"", more=f"location: {elsewhere.url}/\r\n")) as server:
            problem = await problem_of(server.url)
        assert elsewhere.requests == []
    assert (problem.kind, problem.status, problem.logged) == ("refused", 502, f"status {status}")


async def test_a_prompt_is_read_whole() -> None:
    """However large, and in how many pieces it comes."""
    prompt = "ä" * 1_000_000
    body = msgspec.json.encode({"prompt": prompt})
    head = answer(200, body)[: -len(body)]
    async with raw_server(head, body[:10], body[10:100_001], body[100_001:]) as server, Http() as http:
        assert await http.whole(server.url, CALL, HEADERS, upstream()) == body


async def test_a_prompt_that_does_not_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither for ever nor without measure."""
    async with raw_server(SSE, chunk(b'{"prompt":"'), then="silent") as server, Http() as http:
        with pytest.raises(UpstreamFailed) as problem:
            await http.whole(server.url, CALL, HEADERS, upstream(silence_s=0.1))
    assert problem.value.kind == "slow"
    monkeypatch.setattr(module, "PROMPT_BYTES", 1_000)
    async with raw_server(SSE, chunk(b'{"prompt":"' + b"x" * 2_000), then="silent") as server, Http() as http:
        assert len(await http.whole(server.url, CALL, HEADERS, upstream())) == 1_000


async def test_who_leaves_a_stream_closes_the_connection_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the server stops; nothing is read on."""
    monkeypatch.setattr(module, "REST_S", 20.0)
    async with OpenAiLike(lambda _: Script("x" * 400, pause_s=0.02)) as server, Http() as http:
        call = Call("/v1/chat/completions", {"model": "test-model", "messages": [{}], "stream": True})
        async with aclosing(http.streamed(server.url, call, HEADERS, upstream())) as pieces:
            await anext(pieces)
        await server.generations[0].over()
    assert server.generations[0].closed_early


async def test_the_next_call_takes_the_same_connection() -> None:
    """A new one for each would cost round trips."""
    async with raw_server(answer(200, b"Hi"), then="again") as server, Http() as http:
        assert [await streamed(http, server.url) for _ in range(3)] == [b"Hi"] * 3
        assert server.connections == 1


async def answered(server: RawServer, number: int) -> None:
    await until(lambda: server.answers == number, "the body has ended")


async def left(http: Http, url: str) -> None:
    """Take the first piece of an answer, which is all of it, and leave."""
    over = list[bool]()
    async with aclosing(http.streamed(url, CALL, HEADERS, upstream(), over=lambda: bool(over))) as pieces:
        over.append(bool(await anext(pieces)))


async def test_a_body_whose_answer_is_over_is_read_to_its_end() -> None:
    """Beside what comes next: so the connection can be taken again, and nobody waits for that."""
    pieces = (SSE, chunk(b"Hi"), 0.2, chunk(b"[DONE]"), b"0\r\n\r\n")
    async with raw_server(*pieces, then="again") as server, Http() as http:
        for number in range(1, 4):
            await left(http, server.url)
            assert server.written == 4 * number - 2  # not those behind the pause
            await answered(server, number)
        assert server.connections == 1


@pytest.mark.parametrize("more", [(), (chunk(b"x" * 100_000),)])
async def test_a_body_that_goes_on_behind_its_answer_is_left(
    more: Sequence[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a moment, or as soon as it is too much."""
    monkeypatch.setattr(module, "REST_S", 20.0 if more else 0.1)
    async with raw_server(SSE, chunk(b"Hi"), 0.05, *more, then="silent") as server, Http() as http:
        await left(http, server.url)
        async with asyncio.timeout(5):
            await server.left.wait()


async def test_who_closes_does_not_wait_for_bodies_whose_answers_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their connections are closed, too."""
    monkeypatch.setattr(module, "REST_S", 20.0)
    async with raw_server(SSE, chunk(b"Hi"), then="silent") as server:
        async with asyncio.timeout(5):
            async with Http() as http:
                await left(http, server.url)
            await server.left.wait()


async def test_a_cookie_of_a_server_s_is_not_kept() -> None:
    """It would lead all answers to one replica, and go to every port of the host."""
    async with raw_server(answer(200, b"Hi", more="set-cookie: a=b\r\n"), then="again") as server, Http() as http:
        for _ in range(2):
            await streamed(http, server.url.replace("127.0.0.1", "localhost"))
        assert [b"cookie" in request.lower() for request in server.requests] == [False, False]


@pytest.mark.parametrize(("pieces", "then"), [((), "reset"), ((), "silent"), ((answer(500, b"no"),), "close")])
async def test_whether_a_server_hears_of_an_abort_changes_nothing(
    pieces: Sequence[bytes], then: Then, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is told, for a moment, and nothing is said of it."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(module, "ABORT_S", 0.1)
    async with raw_server(*pieces, then=then) as server, Http() as http:
        await http.abort(server.url, Call("/abort_request", {"rid": "r"}), HEADERS, upstream())
        assert server.requests[0].endswith(b'{"rid":"r"}')
        await http.abort("http://no-such-host.invalid", CALL, HEADERS, upstream())
    assert KEY not in caplog.text


async def test_it_is_used_inside_its_block() -> None:
    """Outside there is no connection to take."""
    with pytest.raises(RuntimeError):
        await streamed(Http(), "http://a")


@pytest.mark.parametrize("raw", ["", "null", "3", "[]", '{"message":""}', '{"detail":[]}', '{"error":{"a":1}}'])
def test_what_says_nothing_is_no_message(raw: str) -> None:
    """The status is told then; a text alone is one."""
    assert message_of(raw) == ""
    assert message_of('"no"') == "no"
