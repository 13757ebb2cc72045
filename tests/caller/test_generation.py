"""One call of a model server, from the bytes that it answers to chunks."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import pairwise
from typing import Any

import aiohttp
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.calling import TOOL, chat, plan_of, text_of
from tests.support.model_servers.anthropic import Anthropic
from tests.support.model_servers.llama_cpp import LlamaCpp
from tests.support.model_servers.ollama import Ollama
from tests.support.model_servers.openai_like import OpenAiLike
from tests.support.model_servers.serving import FakeModelServer
from tests.support.model_servers.sglang import Sglang
from tests.support.model_servers.speech import Call as Spoken
from tests.support.model_servers.speech import Script
from tests.support.model_servers.vllm import Vllm
from tokenmill.caller.failure import UpstreamFailed
from tokenmill.caller.generation import BROKEN_OFF, Generation
from tokenmill.caller.kinds import find_kind
from tokenmill.codecs import Chunk

DONE = b"data: [DONE]\n\n"
SHORT_S = 0.05


def event(**fields: Any) -> bytes:
    return b"data: " + msgspec.json.encode({"id": "a", **fields}) + b"\n\n"


def said(text: str, index: int = 0) -> bytes:
    return event(choices=[{"index": index, "delta": {"content": text}}])


def finish(reason: str = "stop", index: int = 0) -> bytes:
    return event(choices=[{"index": index, "delta": {}, "finish_reason": reason}])


USAGE = event(choices=[], usage={"completion_tokens": 2})
ROLE = event(choices=[{"index": 0, "delta": {"role": "assistant", "content": ""}}])
ERROR = b'data: {"error":{"message":"Out of memory","code":500}}\n\n'


class Taken:
    """Who takes chunks, and keeps them."""

    pause_s = 0

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []

    async def put(self, chunk: Chunk) -> None:
        self.chunks.append(chunk)

    def text(self, choice: int = 0) -> str:
        return text_of([chunk for chunk in self.chunks if (chunk.choice or 0) == choice])

    @property
    def ends(self) -> list[int]:
        return [int(chunk.choice or 0) for chunk in self.chunks if chunk.end is True]


class Server:
    """Bytes as they come, and what comes then: the end, or silence."""

    def __init__(self, pieces: Iterable[bytes], *, silent: bool = False, fails: bool = False) -> None:
        self._pieces = pieces
        self._silent = silent
        self._fails = fails

    async def stream(self) -> AsyncGenerator[bytes]:
        for piece in self._pieces:
            yield piece
        if self._silent:
            await asyncio.Event().wait()
        if self._fails:
            raise UpstreamFailed("the connection was lost", "broken-off")


async def read(
    *pieces: bytes, choices: int = 1, begins: str = "", codec: str = "sse+openai", **ends: bool
) -> tuple[Taken, Generation]:
    taken = Taken()
    generation = Generation(codec, choices, begins, taken, usage_s=SHORT_S)
    async with asyncio.timeout(5):
        await generation.read(Server(pieces, **ends).stream())
    return taken, generation


async def failed(*pieces: bytes, choices: int = 1, **ends: bool) -> tuple[Taken, Generation, UpstreamFailed]:
    taken = Taken()
    generation = Generation("sse+openai", choices, "", taken, usage_s=SHORT_S)
    with pytest.raises(UpstreamFailed) as problem:
        async with asyncio.timeout(5):
            await generation.read(Server(pieces, **ends).stream())
    return taken, generation, problem.value


@pytest.mark.parametrize(("pieces", "told"), [([ROLE], []), ([ROLE, said("Hel"), said("lo"), finish(), DONE], [0])])
async def test_that_something_has_come_is_told_once(pieces: Sequence[bytes], told: list[int]) -> None:
    """Before it is taken; a chunk that only names a role is nothing."""
    heard, taken = list[int](), Taken()
    generation = Generation("sse+openai", 1, "", taken, on_begin=lambda: heard.append(len(taken.chunks)))
    with suppress(UpstreamFailed):
        await generation.read(Server(pieces).stream())
    assert (heard, generation.begun) == (told, bool(told))


async def test_a_complete_answer() -> None:
    """Text, why it ended, counts, and one end; no control, and nothing that ends it early."""
    taken, generation = await read(ROLE, said("Hel"), said("lo"), finish(), USAGE, DONE)
    assert taken.text() == "Hello"
    assert [chunk.finish_reason for chunk in taken.chunks if chunk.finish_reason] == ["stop"]
    assert [chunk.usage for chunk in taken.chunks if chunk.usage] == [{"completion_tokens": 2}]
    assert [chunk.end for chunk in taken.chunks if chunk.finish_reason] == [False]
    assert (taken.ends, taken.chunks[-1].end, generation.begun) == ([0], True, True)


@pytest.mark.parametrize("tail", [[], [DONE], [USAGE], [USAGE, DONE]])
async def test_an_answer_is_whole_when_it_has_said_why_it_ended(tail: Sequence[bytes]) -> None:
    """Whatever comes behind."""
    taken, _ = await read(said("Hi"), finish(), *tail)
    assert (taken.text(), taken.ends) == ("Hi", [0])


@pytest.mark.parametrize(
    ("tail", "ends"),
    [
        ([], {"silent": True}),
        ([], {"fails": True}),
        ([ERROR], {"silent": True}),
        ([b"data: {\n\n"], {"silent": True}),
        ([said("", 5)], {"silent": True}),
    ],
)
async def test_counts_that_do_not_come_hold_nobody_up(tail: Sequence[bytes], ends: dict[str, Any]) -> None:
    """Nor does what goes wrong in their place: the answer is there."""
    taken, _ = await read(said("Hi"), finish(), *tail, **ends)
    assert (taken.text(), taken.ends) == ("Hi", [0])
    assert all(chunk.error is None for chunk in taken.chunks)


async def test_a_server_that_goes_on_without_counts_does_not_hold_the_answer_open() -> None:
    """As with comments that keep the connection open."""

    async def endless() -> AsyncGenerator[bytes]:
        yield said("Hi") + finish()
        while True:
            await asyncio.sleep(SHORT_S / 10)
            yield b": keep-alive\n\n"

    taken = Taken()
    async with asyncio.timeout(5):
        await Generation("sse+openai", 1, "", taken, usage_s=SHORT_S).read(endless())
    assert taken.ends == [0]


@pytest.mark.parametrize("tail", [[], [DONE], [USAGE], [USAGE, DONE]])
async def test_an_answer_that_does_not_say_why_it_ends_was_broken_off(tail: Sequence[bytes]) -> None:
    """Nobody may take half an answer for all of it, so it gets no end here."""
    taken, generation, problem = await failed(said("Hel"), *tail)
    assert (problem.kind, problem.status, generation.begun) == ("broken-off", 502, True)
    assert (taken.text(), taken.ends) == ("Hel", [])


async def test_an_answer_of_nothing_was_not_begun() -> None:
    """Not by a role, a comment, a page of HTML or an end: it can be asked for again."""
    page = b"<html><body>502 Bad Gateway</body></html>\n\n"
    for pieces in ((), (ROLE,), (b": hm\n\n",), (page,), (ROLE, DONE), (b"\xff\xfe\x00",)):
        taken, generation, problem = await failed(*pieces)
        assert (taken.chunks, generation.begun, problem.kind, problem.again) == ([], False, "broken-off", True)


@pytest.mark.parametrize("before", [[], [ROLE], [said("Hel")]])
async def test_an_error_in_the_stream_fails_the_answer(before: Sequence[bytes]) -> None:
    """With the server's words; it is no chunk, so before the first token it can be tried again."""
    taken, generation, problem = await failed(*before, ERROR, DONE)
    assert (str(problem), problem.kind, problem.status, problem.again) == ("Out of memory", "refused", 500, True)
    assert problem.logged == "status 500"
    assert generation.begun is bool(taken.chunks) is (before == [said("Hel")])
    assert all(chunk.error is None and chunk.end is not True for chunk in taken.chunks)


@pytest.mark.parametrize(
    ("code", "status", "again"), [(400, 400, False), (422, 422, False), (429, 429, True), (None, 502, True)]
)
async def test_a_refusal_in_the_stream_is_as_good_as_one_by_its_status(
    code: int | None, status: int, again: bool
) -> None:
    """A request that can't be answered is not made again: vLLM says so behind a head with 200."""
    _, _, problem = await failed(event(error={"message": "too long", "type": "BadRequestError", "code": code}))
    assert (problem.status, problem.server_status, problem.again) == (status, status, again)


@pytest.mark.parametrize(
    "junk",
    [
        b'data: {"choices":\n\n',
        b'data: {"choices":{}}\n\n',
        b'data: {"choices":[{"index":-1,"delta":{"content":"x"}}]}\n\n',
        b'data: {"choices":[7]}\n\n',
        b"data: " + b"[" * 50_000 + b"\n\n",
        b"data: " + b"x" * 300_000 + b"\n\n",
    ],
)
async def test_what_can_t_be_read_fails_the_answer(junk: bytes) -> None:
    """Text that is missing in the middle would not be noticed."""
    taken, _, problem = await failed(said("Hel"), junk, said("lo"), finish(), DONE)
    assert (taken.text(), taken.ends, problem.status) == ("Hel", [], 502)
    assert problem.logged in ("status 502", "the response of the model's server can't be read")


async def test_choices_come_in_turns_and_each_ends() -> None:
    """Under their own numbers, with the counts."""
    taken, _ = await read(said("a", 1), said("x"), said("b", 1), finish(index=1), said("y"), finish(), USAGE, choices=2)
    assert (taken.text(0), taken.text(1), sorted(taken.ends)) == ("xy", "ab", [0, 1])


@pytest.mark.parametrize("tail", [[], [DONE], [USAGE, DONE], [ERROR]])
async def test_one_choice_that_never_ends_fails_them(tail: Sequence[bytes]) -> None:
    """The other one may have had its end."""
    taken, _, problem = await failed(said("a"), said("b", 1), finish(), *tail, choices=2)
    assert problem.status == (500 if tail == [ERROR] else 502)
    assert 1 not in taken.ends


async def test_an_error_fails_what_is_open_behind_the_end_of_another_choice() -> None:
    """It names none, or the first one, which is over."""
    ended = b'data: {"content":"a","stop":true,"stop_type":"eos"}\n\n'
    taken = Taken()
    with pytest.raises(UpstreamFailed, match="Out of memory"):
        await Generation("sse+llama_cpp", 2, "", taken).read(Server([ended, ERROR]).stream())
    assert taken.ends == [0]


async def test_a_choice_that_nobody_asked_for_is_left_out() -> None:
    """Also if it never ends, or ends alone."""
    taken, _ = await read(said("Hi"), said("?", 1), finish(index=7), finish(), DONE)
    assert {chunk.choice for chunk in taken.chunks} == {0}
    assert (taken.text(), taken.ends) == ("Hi", [0])


async def test_what_the_prompt_has_said_already_comes_first_in_each_choice() -> None:
    """Once, in front of the first content; not where there is none."""
    taken, _ = await read(ROLE, said("b", 1), said("a"), said("c"), finish(), finish(index=1), choices=2, begins="<x>")
    assert (taken.text(0), taken.text(1)) == ("<x>ac", "<x>b")
    empty, _ = await read(ROLE, finish(), DONE, begins="<x>")
    assert (empty.text(), empty.ends) == ("", [0])


@pytest.mark.parametrize("indent", [0, 2])
@pytest.mark.parametrize("end", [b"", b"\n"])
async def test_an_answer_that_is_no_stream_is_read_as_well(indent: int, end: bytes) -> None:
    """Some proxies answer whole whatever they are asked for; few of them end their JSON with a line end."""
    whole: dict[str, Any] = {"id": "a", "object": "chat.completion"}
    whole |= {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]}
    taken, _ = await read(msgspec.json.format(msgspec.json.encode(whole), indent=indent) + end)
    assert (taken.text(), taken.ends) == ("Hi", [0])


@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n"])
async def test_the_last_line_of_a_stream_needs_no_end(end: bytes) -> None:
    """Neither the one that says why the answer ends, nor that of its counts."""
    taken, _ = await read(said("Hi"), finish().rstrip() + end)
    assert (taken.text(), taken.ends) == ("Hi", [0])
    counted, _ = await read(said("Hi"), finish(), USAGE.rstrip() + end)
    assert [chunk.usage for chunk in counted.chunks if chunk.usage] == [{"completion_tokens": 2}]
    assert counted.ends == [0]


@pytest.mark.parametrize("end", [b"", b"\n"])
async def test_an_error_in_place_of_a_stream_keeps_its_words_and_its_status(end: bytes) -> None:
    """Behind a head with 200, too: it is not asked again for what it refuses."""
    _, _, problem = await failed(b'{"error":{"message":"Insufficient credits","code":402}}' + end)
    assert (str(problem), problem.kind, problem.status) == ("Insufficient credits", "refused", 402)
    assert problem.again is False


@pytest.mark.parametrize("before", [[], [said("Hel")]])
async def test_an_error_beside_a_choice_that_ends_for_it_fails_the_answer(before: Sequence[bytes]) -> None:
    """As OpenRouter tells it: the choice's own word for it has neither words nor a status."""
    choices = [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]
    last = event(error={"code": 429, "message": "Rate limited"}, choices=choices)
    taken, generation, problem = await failed(*before, last, DONE)
    assert (str(problem), problem.status, problem.again) == ("Rate limited", 429, True)
    assert (generation.begun, taken.ends) == (bool(before), [])


@pytest.mark.parametrize("before", [[], [said("Hel")]])
@pytest.mark.parametrize("reason", ["error", "network_error", "abort", "timeout"])
async def test_an_answer_that_ends_for_a_failure_was_broken_off(reason: str, before: Sequence[bytes]) -> None:
    """Half an answer is not all of it, whatever the server calls that."""
    taken, generation, problem = await failed(*before, finish(reason), USAGE, DONE)
    assert (problem.kind, problem.status, problem.again) == ("broken-off", 502, True)
    assert (generation.begun, taken.ends) == (bool(before), [])


@pytest.mark.parametrize("before", [[], [said("Hel")]])
async def test_a_body_that_ends_inside_of_an_event_was_broken_off(before: Sequence[bytes]) -> None:
    """Half an event is nobody's refusal."""
    taken, _, problem = await failed(*before, said("lo").rstrip()[:-20])
    assert (str(problem), problem.kind, problem.again) == (BROKEN_OFF, "broken-off", True)
    assert taken.ends == []


async def test_text_that_comes_with_the_failure_is_told() -> None:
    """Behind the first token; before it, the answer may be tried again."""
    last = event(choices=[{"index": 0, "delta": {"content": "lo"}, "finish_reason": "abort"}])
    taken, _, problem = await failed(said("Hel"), last)
    assert (taken.text(), taken.ends, problem.kind) == ("Hello", [], "broken-off")
    first, generation, _ = await failed(last)
    assert (first.chunks, generation.begun) == ([], False)


@pytest.mark.parametrize("reason", ["length", "content_filter", "sensitive", "novel"])
async def test_an_answer_that_is_cut_short_is_whole(reason: str) -> None:
    """By its length or its content: another try would end the same."""
    taken, _ = await read(said("Hel"), finish(reason), DONE)
    assert (taken.text(), taken.ends) == ("Hel", [0])


SERVERS: Mapping[str, Callable[[Script], FakeModelServer]] = {
    "vllm": lambda script: Vllm(lambda _: script),
    "sglang": lambda script: Sglang(lambda _: script),
    "llama.cpp": lambda script: LlamaCpp(lambda _: script),
    "ollama": lambda script: Ollama(lambda _: script),
    "openai": lambda script: OpenAiLike(lambda _: script, reasons="reasoning", padded=True),
    "anthropic": lambda script: Anthropic(lambda _: script),
}
SPOKEN = Script("Grüezi 🙂 <tool_call>\n", reasoning="hm", calls=[Spoken("now", '{"zone":"Zürich"}')])


@cache
def stream_of(kind: str) -> bytes:
    """What the server of a kind answers."""

    async def asked() -> bytes:
        call = find_kind(kind).call(plan_of(kind, chat(tools=[TOOL])))
        headers = {"content-type": "application/json", **find_kind(kind).headers("")}
        async with (
            SERVERS[kind](SPOKEN) as server,
            aiohttp.ClientSession() as session,
            session.post(server.url + call.path, data=msgspec.json.encode(call.body), headers=headers) as answer,
        ):
            return await answer.read()

    return asyncio.run(asked())


def story(taken: Taken) -> tuple[str, str, str, list[str], list[Any], list[int]]:
    """All that was taken, whichever pieces it came in."""
    calls = [call for chunk in taken.chunks for call in chunk.tool_calls or ()]
    return (
        taken.text(),
        "".join(chunk.reasoning or "" for chunk in taken.chunks),
        "".join(call["function"].get("arguments") or "" for call in calls),
        [chunk.finish_reason for chunk in taken.chunks if chunk.finish_reason],
        [chunk.usage for chunk in taken.chunks if chunk.usage],
        taken.ends,
    )


@pytest.mark.parametrize("kind", SERVERS)
@given(cuts=st.sets(st.integers(0, 9_000), max_size=40))
def test_it_does_not_matter_where_a_stream_is_cut(kind: str, cuts: set[int]) -> None:
    """Inside a line, a character or a line end: the same is taken."""
    stream = stream_of(kind)
    codec = find_kind(kind).call(plan_of(kind, chat())).codec
    places = [0, *sorted(cut for cut in cuts if 0 < cut < len(stream)), len(stream)]
    pieces = [stream[start:end] for start, end in pairwise(places)]
    whole, _ = asyncio.run(read(stream, codec=codec))
    cut, _ = asyncio.run(read(*pieces, codec=codec))
    assert story(cut) == story(whole)
    assert (whole.text().endswith(SPOKEN.text), whole.ends) == (True, [0])
    assert story(whole)[2] == (SPOKEN.calls[0].arguments if kind in ("openai", "anthropic") else "")
