"""Writing over HTTP: what each address takes and answers, and what it refuses."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from threading import Event
from typing import Any

import pytest

from tests.support.stage import until
from tests.support.writes import Answer, Client, serving
from tests.support.written import PARTITION
from tokenmill.gateway.ingest import options_compiler
from tokenmill.gateway.ingest.in_flight import too_many, unavailable
from tokenmill.gateway.ingest.options_compiler import OptionsCompiler
from tokenmill.gateway.problems import Refused

NDJSON = {"content-type": "application/x-ndjson"}
EVENTS = {"content-type": "text/event-stream"}
OPENAI = b'data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'
HERMES = '{"format":"hermes"}'


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with serving() as client:
        yield client


async def eventually(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 -- lists tell nobody
            await asyncio.sleep(0.005)


# Chunks


async def test_a_chunk_is_in_the_log_when_it_is_answered(client: Client) -> None:
    """Under the conversation of the address, as a native record whatever the topic's codec is."""
    answer = await client("c%20%C3%BC%2F1/chunks", {"message_id": "m", "delta": "a"})
    place = {"partition": PARTITION, "offset": 0}
    assert (answer.status, answer.body) == (200, {"accepted": 1, "message_id": "m", **place})
    (record,) = client.written.records
    assert (record.topic, record.key.decode(), record.header("tm-codec")) == ("tokens", "c ü/1", "native")
    assert client.counts.numbers.value("tokenmill_gateway_writes_total", "chunks") == 1


async def test_lines_are_taken_as_they_come(client: Client) -> None:
    """The first is a record before the second is sent, and the body has no cap, but a line has."""

    async def body() -> AsyncIterator[bytes]:
        for number in range(40):
            await eventually(lambda: len(client.written.records) == number)  # noqa: B023 -- it is asked at once
            yield b'{"message_id":"m","delta":"%b"}\n' % (b"x" * 50)

    answer = await client("c/chunks", body(), **NDJSON)
    assert (answer.status, answer.body["accepted"]) == (200, 40)
    answer = await client("c/chunks", b'{"delta":"%b"}\n' % (b"x" * 1024), **NDJSON)
    assert (answer.status, answer.body["type"]) == (413, "urn:tokenmill:problem:too-large")


async def test_no_new_body_of_chunks_is_begun_while_the_process_drains(client: Client) -> None:
    """It would be cut off; a stop is a moment's work."""
    client.writing.drain()
    refused = await client("c/chunks", {"message_id": "m", "delta": "a"})
    assert (refused.status, refused.body["type"]) == (503, "urn:tokenmill:problem:stopping")
    assert (refused.headers["retry-after"], client.written.records) == ("2", [])
    assert (await client("c/stop", {"message_id": "m"})).status == 202


async def test_a_stream_of_a_provider_is_a_message(client: Client) -> None:
    """With options from the address or a header, and the request's tracing."""
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    answer = await client("c/chunks?codec=openai", OPENAI, **EVENTS, tm_open=HERMES, traceparent=trace)
    assert (answer.status, answer.body["message_id"]) == (200, "chatcmpl-1")
    assert {record.header("traceparent") for record in client.written.records} == {trace}
    answer = await client("c/chunks?codec=text&message_id=m&tm-open=%7B%22format%22%3A%22hermes%22%7D", b"Hi")
    assert (answer.status, answer.body["message_id"]) == (200, "m")
    assert client.story() == {
        "chatcmpl-1": ["<hermes>", "Hi", "[stop]"],
        "m": ["<hermes>", "Hi", "[stop]"],
    }


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("c/chunks", b"{", 400, "codec="),
        ("c/chunks", {"delta": 1}, 400, "delta"),
        ("c/chunks", {"open": {"fromat": "x"}}, 400, "did you mean format?"),
        ("c/chunks", {"conversation_id": "d", "delta": "a"}, 400, "conversation_id is not that of the address"),
        ("c/chunks", {"delta": "x" * 1024}, 413, "gateway.body_kib"),
        ("c/chunks?message_id=", {"delta": "a"}, 400, "message_id"),
        (f"c/chunks?message_id={'m' * 1025}", {"delta": "a"}, 400, "message_id"),
        (f"{'c' * 1025}/chunks", {"delta": "a"}, 400, "conversation's id"),
        ("c/chunks?codec=nonsense", b"x", 400, "tokenmill codecs"),
        ("c/chunks?codec=openai", b"x", 415, "text/event-stream"),
        ("c/chunks?codec=text&tm-open=hermes", b"x", 400, "tm-open"),
        ("c/chunks?codec=text", b"", 400, "no chunk"),
        ("c/stop", b"", 400, "message_id"),
        ("c/stop", {"mesage_id": "m"}, 400, "unknown field"),
        ("c/stop", {"message_id": "m", "unnamed": True}, 400, "not both"),
        ("c/stop", b"message_id=m", 415, "application/json"),
        ("c/tool-results", {"id": "call_1", "name": "t"}, 400, "either a result or an error"),
        ("c/tool-results", {"id": "call_1", "name": "t", "result": 1, "error": ""}, 400, "either"),
        ("c/tool-results", {"id": "call_1", "name": "t", "result": 2**70}, 400, "64 bits"),
        ("c/tool-results", {"id": "call_1", "name": "t", "result": 1, "conversation_id": "d"}, 400, "address"),
        ("c/tool-results", b"x", 415, "application/json"),
    ],
)
async def test_what_is_wrong_with_a_request_is_said(
    client: Client, path: str, body: Any, status: int, said: str
) -> None:
    """As a problem that names what to change; nothing is written."""
    answer = await client(path, body)
    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")
    assert said in answer.detail
    assert client.written.records == []


@pytest.mark.parametrize(
    ("method", "path", "may"),
    [
        ("POST", "chunks", "read stop"),
        ("POST", "stop", "read write"),
        ("DELETE", "messages/m", "read write"),
        ("POST", "tool-results", "read stop"),
    ],
)
async def test_who_may_not_writes_nothing(client: Client, method: str, path: str, may: str) -> None:
    """Before anything of the body is read."""
    answer = await client(f"c/{path}", b"{", method=method, x_may=may)
    assert (answer.status, client.written.records) == (403, [])


async def test_a_body_ends_with_the_rights_with_which_it_began(client: Client) -> None:
    """A key that was taken back writes nothing more, however long its body is."""

    async def body() -> AsyncIterator[bytes]:
        yield OPENAI
        await eventually(lambda: client.written.records)
        client.authorizer.valid = False
        yield OPENAI

    answer = await client("c/chunks?codec=sse+openai", body(), **EVENTS)
    assert (answer.status, answer.body["reason"]) == (401, "expired")
    failed = "upstream: the stream broke off: Credentials are missing or not valid"
    assert client.story() == {"chatcmpl-1": ["Hi", failed, "[error]"]}


async def test_a_gateway_that_stops_is_named_to_writers_and_readers() -> None:
    """Nobody is said to have gone: what can't be gone on with ends, and who numbers chunks comes to another one."""
    going_on, answers = asyncio.Event(), list[asyncio.Task[Answer]]()

    async def body(first: bytes) -> AsyncIterator[bytes]:
        yield first
        await going_on.wait()

    async with serving() as client:
        raw = client("c/chunks?codec=sse+openai", body(OPENAI), **EVENTS)
        numbered = client("c/chunks", body(b'{"message_id":"m","seq":0,"delta":"a"}\n'), **NDJSON)
        answers += map(asyncio.ensure_future, (raw, numbered))
        await eventually(lambda: len(client.written.records) == 2)
    for answer in await asyncio.gather(*answers):
        assert (answer.status, answer.headers["retry-after"]) == (503, "2")
        assert answer.body["type"] == "urn:tokenmill:problem:stopping"
    failed = "upstream: the stream broke off: its gateway was stopped"
    assert client.story() == {"chatcmpl-1": ["Hi", failed, "[error]"], "m": ["a"]}


async def test_it_is_known_when_what_is_being_written_is(client: Client) -> None:
    """A gateway that stops waits for it; what never ends is for whoever waits to give up."""
    await client.writing.settled()
    writer = await client.half("c/chunks?codec=sse+openai", OPENAI)
    await eventually(lambda: client.written.records)
    waiting = [asyncio.create_task(each) for each in (client.writing.settled(), client.writing.close(5))]
    await asyncio.wait(waiting, timeout=0.05)
    assert not any(each.done() for each in waiting)
    writer.close()
    await asyncio.wait_for(asyncio.gather(*waiting), 5)


async def test_bodies_take_the_places_of_the_process_but_not_those_of_their_name(client: Client) -> None:
    """A service writes many answers at once, with one key."""
    writers = [await client.half("c/chunks?codec=sse+openai", OPENAI) for _ in range(10)]
    await eventually(lambda: client.limits.taken_now == 10)
    answer = await client("c/chunks", {"delta": "a"})
    assert (answer.status, (await client("c/stop", {"message_id": "m"})).status) == (429, 202)
    for writer in writers:
        writer.close()
    await eventually(lambda: client.limits.taken_now == 0)


async def test_a_body_whose_options_wait_has_a_place(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits for those of others, for up to half a minute, and nothing else bounds how many do so."""
    go_on = Event()
    monkeypatch.setattr(options_compiler, "compile_grammar", lambda *_: go_on.wait(20))
    options = [f"%7B%22model%22%3A%22{number}%22%7D" for number in range(11)]
    writers = [await client.half(f"c/chunks?codec=text&tm-open={each}", b"Hi") for each in options[:10]]
    await eventually(lambda: client.limits.taken_now == 10)
    answer = await client(f"c/chunks?codec=text&tm-open={options[10]}", b"Hi")
    go_on.set()
    for writer in writers:
        writer.close()
    assert answer.status == 429
    await eventually(lambda: client.limits.taken_now == 0)


async def test_options_are_compiled_under_the_name_of_whoever_brings_them(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those beside the body and those in it."""
    names, check = list[str](), OptionsCompiler.check

    async def noted(self: OptionsCompiler, name: str, options: Mapping[str, Any]) -> None:
        names.append(name)
        await check(self, name, options)

    monkeypatch.setattr(OptionsCompiler, "check", noted)
    opening = {"message_id": "m", "open": {"model": "a"}, "delta": "Hi"}
    assert (await client("c/chunks?tm-open=%7B%22model%22%3A%22b%22%7D", opening)).status == 200
    assert names == ["service", "service"]


async def test_a_result_that_comes_has_a_place_of_the_process(client: Client) -> None:
    """As a body of chunks, and none of its name's."""
    result, json = {"id": "call_1", "name": "t", "result": 1}, "application/json"
    writers = [await client.half("c/tool-results", b"{", json) for _ in range(10)]
    await eventually(lambda: client.limits.taken_now == 10)
    assert (await client("c/tool-results", result)).status == 429
    writers.pop().close()
    await eventually(lambda: client.limits.taken_now == 9)
    assert (await client("c/tool-results", result)).status == 200
    for writer in writers:
        writer.close()


async def test_a_stop_that_comes_has_one_of_the_places_of_stops(client: Client) -> None:
    """One name has few of them, and none of what is open besides takes one."""
    writer = await client.half("c/stop", b"{", "application/json")

    async def refused() -> bool:
        return (await client("c/stop", {"message_id": "m"})).status == 429

    await until(refused, "the body has a place")
    assert client.limits.taken_now == 0
    writer.close()

    async def taken() -> bool:
        return (await client("c/stop", {"message_id": "m"})).status == 202

    await until(taken, "the place is free")


@pytest.mark.parametrize(("refusal", "status"), [(too_many(), 429), (unavailable("Kafka: no leader"), 503)])
async def test_when_kafka_does_not_take_it_the_client_hears_when_to_come_back(
    client: Client, refusal: Refused, status: int
) -> None:
    """And how much of its body is written."""
    client.written.refusals[1] = refusal
    answer = await client("c/chunks", b'{"delta":"a"}\n{"delta":"b"}\n', **NDJSON)
    assert (answer.status, answer.body["accepted"]) == (status, 1)
    assert int(answer.headers["retry-after"]) > 0


async def test_a_repeat_of_a_numbered_request_writes_nothing(client: Client) -> None:
    """204, as Durable Streams says; a gap is 409 with what is expected, an old epoch 403."""
    chunk = {"message_id": "m", "delta": "a"}

    async def numbered(epoch: int, seq: int) -> Answer:
        numbers = {"producer_id": "p", "producer_epoch": str(epoch), "producer_seq": str(seq)}
        return await client("c/chunks", chunk, **numbers)

    answers = [await numbered(*each) for each in ((1, 0), (1, 0), (1, 2), (1, 1), (0, 2))]
    assert [answer.status for answer in answers] == [200, 204, 409, 200, 403]
    assert [answers[1].headers[f"producer-{name}"] for name in ("epoch", "seq")] == ["1", "0"]
    assert answers[2].headers["producer-expected-seq"] == "1"
    assert len(client.written.records) == 2


async def test_a_producer_of_one_message_numbers_its_chunks(client: Client) -> None:
    """Its id is that of the message, so a repeat is harmless in the log, too."""
    for seq in range(2):
        numbers = {"producer_id": "m", "producer_epoch": "0", "producer_seq": str(seq)}
        assert (await client("c/chunks?message_id=m", {"delta": "a"}, **numbers)).status == 200
    assert [chunk["seq"] for chunk in client.written.chunks] == [0, 1]


async def test_a_request_whose_client_is_gone_counts_when_it_is_written(client: Client) -> None:
    """The client comes again with the same number, to hear that it is done."""
    client.written.acknowledging.clear()
    numbers = {"producer_id": "p", "producer_epoch": "0", "producer_seq": "0"}
    asking = asyncio.create_task(client("c/chunks", {"delta": "a"}, **numbers))
    await eventually(lambda: client.written.records)
    asking.cancel()
    await asyncio.wait([asking])
    client.written.acknowledging.set()
    assert (await client("c/chunks", {"delta": "a"}, **numbers)).status == 204
    assert len(client.written.records) == 1


async def test_a_client_that_goes_away_in_its_stream_leaves_an_answer_that_failed(client: Client) -> None:
    """As soon as the connection is lost."""
    writer = await client.half("c/chunks?codec=sse+openai", OPENAI)
    await eventually(lambda: client.written.records)
    writer.close()
    await eventually(lambda: len(client.written.records) == 3)
    assert client.story()["chatcmpl-1"][-1] == "[error]"


async def test_when_the_process_ends_streams_that_come_in_end_as_failed() -> None:
    """Connections are closed first; what they leave is written before the producer is stopped."""
    async with serving() as client:
        writer = await client.half("c/chunks?codec=sse+openai", OPENAI)
        await eventually(lambda: client.written.records)
    writer.close()
    assert client.story()["chatcmpl-1"][-1] == "[error]"


async def test_the_end_of_the_process_waits_for_nobody_for_ever() -> None:
    """Kafka may be gone, too."""
    async with serving() as client:
        client.written.acknowledging.clear()
        asking = asyncio.create_task(client("c/chunks", {"delta": "a"}))
        await eventually(lambda: client.written.records)
        await client.writing.close(0.01)
        asking.cancel()
        await asyncio.wait([asking])
    assert len(client.writing._tasks) == 0


# Stops


async def test_a_stop_ends_the_message_that_it_names(client: Client) -> None:
    """Or one of its choices; twice does no harm."""
    bodies = {"message_id": "m"}, {"message_id": "m", "choice": 1}
    answers = [await client("c/stop", body) for body in bodies]
    answers.append(await client("c/messages/m%2F1", method="DELETE"))
    assert [(answer.status, answer.body["message_id"]) for answer in answers] == [(202, "m"), (202, "m"), (202, "m/1")]
    stop = {"conversation_id": "c", "message_id": "m", "control": "cancel"}
    assert client.written.chunks == [stop, stop | {"choice": 1}, stop | {"message_id": "m/1"}]


async def test_the_unnamed_message_is_stopped_if_the_caller_says_so(client: Client) -> None:
    """It is whichever is open then."""
    answer = await client("c/stop", {"unnamed": True})
    assert (answer.status, answer.body) == (202, {"message_id": None})
    assert client.written.chunks == [{"conversation_id": "c", "control": "cancel"}]


@pytest.mark.parametrize(
    ("known", "body", "status", "stopped"),
    [
        (["m"], {}, 202, "m"),
        (["m"], {"message_id": "m"}, 202, "m"),
        ([], {"message_id": "m"}, 200, "m"),
        (["n"], {"message_id": "m"}, 200, "m"),
        (["n"], {"unnamed": True}, 202, None),
        (None, {"message_id": "m"}, 202, "m"),
    ],
)
async def test_what_is_open_decides_what_a_stop_means(
    known: list[str] | None, body: dict[str, Any], status: int, stopped: str | None
) -> None:
    """It is written in any case: what the gateway has read may be behind what is in the log."""
    async with serving(lambda _: known) as client:
        answer = await client("c/stop", body)
        assert (answer.status, answer.body["message_id"]) == (status, stopped)
        assert [chunk.get("message_id") for chunk in client.written.chunks] == [stopped]


async def test_a_stop_of_nothing_in_particular_stops_nothing_by_chance() -> None:
    """None is open: there is nothing to do. Several are: somebody has to say which."""
    for known, status in (([], 200), (["m", "n"], 409)):
        async with serving(lambda _, known=known: known) as client:  # type: ignore[misc] # mypy: a default in a lambda
            answer = await client("c/stop")
            assert (answer.status, client.written.records) == (status, [])
    assert answer.body["open"] == ["m", "n"]


# Results of tools


async def test_a_result_of_a_tool_is_an_event(client: Client) -> None:
    """On its topic, under its conversation."""
    answer = await client("c/tool-results", {"id": "call_1", "name": "t", "result": {"a": [1, None]}, "elapsed_ms": 7})
    assert (answer.status, answer.body) == (200, {"partition": PARTITION, "offset": 0})
    await client("c/tool-results", {"id": "call_2", "name": "t", "error": "no such city", "message_id": "m"})
    first, second = client.written.records
    assert (first.topic, first.key) == ("tool-results", b"c")
    envelope = {"type": "tool-result", "conversation_id": "c", "name": "t"}
    assert first.chunk == {**envelope, "id": "call_1", "result": {"a": [1, None]}, "elapsed_ms": 7}
    assert second.chunk == {**envelope, "id": "call_2", "error": "no such city", "message_id": "m"}
