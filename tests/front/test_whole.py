"""Answers in one piece, made of the events of a message."""

import asyncio
import tracemalloc
from collections.abc import AsyncIterator, Iterable

import msgspec
import pytest
from openai.types.responses import Response

from tests.support.gateways import Speaker, answer
from tokenmill.apis import CHAT, MESSAGES, RESPONSES, Api
from tokenmill.front import whole as module
from tokenmill.front.failure import Failed
from tokenmill.front.request_index import KnownRequest
from tokenmill.front.whole import Whole, collected, unbegun
from tokenmill.gateway.event_log.view import Frame
from tokenmill.records import Output

TEXTS = ["Hel", "lo"]


def frames(records: Iterable[Output]) -> list[Frame]:
    """The frames of an answer, as the native dialect has them."""
    every = [record.value or b"" for record in records]
    return [Frame(at, 1, 0, value, b"m", ends=at == len(every) - 1) for at, value in enumerate(every)]


async def coming(every: Iterable[Frame]) -> AsyncIterator[Frame]:
    for frame in every:
        yield frame


@pytest.mark.parametrize("api", [CHAT, RESPONSES, MESSAGES], ids=lambda api: api.name)
async def test_all_events_of_an_answer_are_its_object(api: Api) -> None:
    """In the words of each API."""
    whole = Whole(api)
    body = await collected(whole, coming(frames(answer("c", "m", TEXTS))), 1)
    assert whole.over
    assert b'"Hello"' in body


async def test_an_event_of_a_newer_worker_is_skipped() -> None:
    """Also if it is the last one: what this version knows is shown."""
    *before, last = frames(answer("c", "m", TEXTS))
    new = b'{"type":"brand-new","conversation_id":"c","message_id":"m","choice":0}'
    whole = Whole(CHAT)
    body = await collected(whole, coming([*before, last._replace(ends=False), last._replace(payload=new)]), 1)
    assert whole.over
    assert b'"Hello"' in body


async def test_an_answer_that_failed_has_no_object() -> None:
    """Whatever came of it."""
    records = answer("c", "m", TEXTS, finish=False)
    failed = answer("c", "m", ["a"], finish=False)
    assert failed
    lost = Frame(99, 1, 0, b'{"type":"finish","reason":"error"}', b"m", ends=True)
    with pytest.raises(Failed) as problem:
        await collected(Whole(CHAT), coming([*frames(records), lost]), 1)
    assert problem.value.status == 502


@pytest.mark.parametrize("stopped", [False, True])
def test_a_response_that_nobody_has_taken_is_queued(stopped: bool) -> None:
    """As the SDK reads it; one that was stopped says so."""
    known = KnownRequest("c", "resp_1", "responses", "f", "", 0, stays=True, time_ms=7_000, model="m")
    found = Response.model_validate(unbegun(known, stopped=stopped))
    status = "cancelled" if stopped else "queued"
    assert (found.id, found.created_at, found.model, found.status) == ("resp_1", 7, "m", status)
    assert found.output == []


async def test_what_there_is_grows_with_the_events() -> None:
    """The object of the end goes over that of the beginning."""
    whole, seen = Whole(RESPONSES), []
    assert whole.so_far() is None
    for frame in frames(answer("c", "m", TEXTS)):
        whole.take(frame)
        seen.append((whole.so_far() or {})["status"])
    assert seen == ["in_progress"] * (len(seen) - 1) + ["completed"]
    assert msgspec.json.encode(whole.so_far())


def test_a_response_that_was_lost_has_failed() -> None:
    """Whoever asks for it again and again has to hear of an end, though its stream has no object at its end."""
    speaker, whole = Speaker("c", "m"), Whole(RESPONSES)
    records = speaker.says({"open": {"format": "plain"}, "delta": "Hel"})
    for frame in frames([*records, *speaker.lost()]):
        whole.take(frame)
    response = whole.so_far()
    assert response is not None
    assert (response["id"], response["status"], response["output"]) == ("m", "failed", [])
    assert response["error"] == {"code": "server_error", "message": "the answer was lost; send the request again"}


def test_a_response_without_an_end_has_failed() -> None:
    """As where the object of the end was larger than a record may be, and left out."""
    whole = Whole(RESPONSES)
    for frame in frames(answer("c", "m", TEXTS, finish=False)):
        whole.take(frame)
    response = whole.so_far()
    assert response is not None
    error = {"code": "server_error", "message": "the answer did not end"}
    assert (response["status"], response["error"]) == ("failed", error)


def test_nothing_is_kept_of_an_answer_but_what_is_read_of_it() -> None:
    """Text in twenty thousand pieces would otherwise be fifty times as large."""
    every = frames(answer("c", "m", ["word"] * 5_000))
    tracemalloc.start()
    try:
        whole = Whole(RESPONSES)
        for frame in every:
            whole.take(frame)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert b"wordword" in whole.body()
    assert kept < 400_000


@pytest.mark.parametrize(("more_s", "late"), [(10.0, False), (0.0, True)])
async def test_the_end_of_an_answer_has_time_to_arrive(
    more_s: float, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its caller writes it when the answer's time is over; what does not come then is late."""
    monkeypatch.setattr(module, "MORE_S", more_s)

    async def slowly() -> AsyncIterator[Frame]:
        for frame in frames(answer("c", "m", TEXTS)):
            await asyncio.sleep(0)
            yield frame

    collecting = collected(Whole(RESPONSES), slowly(), 0)
    if late:
        with pytest.raises(Failed, match="not over in time"):
            await collecting
    else:
        assert b"completed" in await collecting
