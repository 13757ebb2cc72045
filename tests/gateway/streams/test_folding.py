"""Neighbouring deltas as one: `gateway/streams/folding.py`."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.every import every
from tests.support.scenarios import MESSAGE, SCENARIOS, rendered
from tokenmill.dialects import DIALECTS, Dialect, find_dialect
from tokenmill.dialects.native import NATIVE
from tokenmill.gateway.event_log.view import Frame
from tokenmill.gateway.streams.folding import FOLDED_CHARACTERS, LATEST, at, folded, put

STREAMING = "reasoning, text and a call"
MERGED = [dialect for dialect in DIALECTS if dialect.pieces]
APART = [dialect for dialect in DIALECTS if not dialect.pieces]
AI_SDK_UI = find_dialect("ai_sdk_ui")


def name_of(dialect: Dialect) -> str:
    return dialect.name


def frames_of(payloads: Sequence[bytes], message: bytes = MESSAGE.encode()) -> list[Frame]:
    """One frame a record."""
    last = len(payloads) - 1
    return [
        Frame(number, 1, number, payload, message, first=number == 0, last=number == last, ends=number == last)
        for number, payload in enumerate(payloads)
    ]


def said(dialect: Dialect, frames: Sequence[Frame]) -> list[Any]:
    """What frames say, whatever their cuts: texts of neighbours joined by a rule of this test's own."""
    out: list[Any] = []
    for frame in frames:
        try:
            payload = json.loads(frame.payload)
        except ValueError:
            out.append(frame.payload)
            continue
        rest = {name: value for name, value in payload.items() if name not in LATEST}
        path = next((path for path in dialect.pieces if isinstance(at(rest, path), str)), None)
        text = at(rest, path) if path else None
        if path:
            put(rest, path, "")
        if path and out and out[-1][:2] == [path, rest]:
            out[-1][2] += text
        else:
            out.append([path, rest, text])
    return out


@pytest.mark.parametrize("dialect", DIALECTS, ids=name_of)
def test_folding_says_the_same(dialect: Dialect) -> None:
    """In every dialect: the same texts of the same blocks, in the same order."""

    def check(scenario: str) -> None:
        frames = frames_of(rendered(SCENARIOS[scenario], dialect.name, stream_tool_input=True).payloads)
        assert said(dialect, folded(dialect, frames)) == said(dialect, frames)

    every(SCENARIOS, check, str)


@pytest.mark.parametrize("dialect", MERGED, ids=name_of)
def test_deltas_are_merged(dialect: Dialect) -> None:
    """A call of forty letters is a handful of frames."""
    frames = frames_of(rendered(SCENARIOS[STREAMING], dialect.name, stream_tool_input=True).payloads)
    assert len(folded(dialect, frames)) < len(frames) / 2


@pytest.mark.parametrize("dialect", APART, ids=name_of)
def test_numbered_payloads_stay_as_they_are(dialect: Dialect) -> None:
    """After a resume their numbers would not fit."""
    frames = frames_of(rendered(SCENARIOS[STREAMING], dialect.name, stream_tool_input=True).payloads)
    assert folded(dialect, frames) == frames


def test_a_merged_frame_stands_where_its_last_one_stood() -> None:
    """So its id goes on behind all that is in it, and the native `seq` is that of the last."""
    payloads = [b'{"type":"text-delta","id":"t","delta":"%d","seq":%d,"time":%d}' % (n, n, n) for n in range(5)]
    (frame,) = folded(NATIVE, frames_of(payloads, b"m")[1:4])
    assert frame.place == (3, 1)
    assert json.loads(frame.payload) == {"type": "text-delta", "id": "t", "delta": "123", "seq": 3, "time": 3}


def test_single_frames_keep_their_bytes() -> None:
    """Nothing is written anew that is not merged."""
    payload = b'{ "type": "text-delta", "id": "t", "delta": "a\\u0062" }'
    frames = frames_of([b"{}", payload, b"{}"])
    assert [frame.payload for frame in folded(NATIVE, frames)] == [b"{}", payload, b"{}"]


def test_texts_of_two_messages_or_two_blocks_are_two() -> None:
    """They are different texts, however alike."""
    delta = b'{"type":"text-delta","id":"%b","delta":"a"}'
    frames = [Frame(n, 1, 0, delta % b"t", message) for n, message in enumerate([b"m", b"n", b"m"])]
    assert folded(AI_SDK_UI, frames) == frames
    frames = [Frame(n, 1, 0, delta % block, b"m") for n, block in enumerate([b"t", b"u", b"t"])]
    assert folded(AI_SDK_UI, frames) == frames


def test_an_answer_of_four_thousand_tokens_is_small() -> None:
    """At most 32 kB, as the budget says."""
    payloads = [b'{"type":"text-delta","id":"t","delta":" tok%02d"}' % (n % 100) for n in range(4_000)]
    merged = folded(AI_SDK_UI, frames_of([b"{}", *payloads, b"[DONE]"]))
    assert sum(len(frame.payload) + 60 for frame in merged) <= 32_000
    assert max(len(frame.payload) for frame in merged) <= FOLDED_CHARACTERS + 100


@given(st.lists(st.tuples(st.sampled_from("tu"), st.text(max_size=3)), max_size=30))
def test_any_deltas_say_the_same(deltas: list[tuple[str, str]]) -> None:
    """Whatever is in them."""
    payloads = [json.dumps({"type": "text-delta", "id": block, "delta": text}).encode() for block, text in deltas]
    frames = frames_of([b"{}", *payloads, b"{}"])
    merged = folded(AI_SDK_UI, frames)
    assert said(AI_SDK_UI, merged) == said(AI_SDK_UI, frames)
    assert [frame.place for frame in merged] == sorted(frame.place for frame in merged)


@pytest.mark.parametrize(
    "payload", [b"", b"[DONE]", b"[]", b"3", b'{"delta":3}', b'{"delta":{"text":3}}', b"\xff", b'{"delta":"\xff"}']
)
@pytest.mark.parametrize("dialect", MERGED, ids=name_of)
def test_payloads_without_a_text_are_left_alone(dialect: Dialect, payload: bytes) -> None:
    """Whatever they are."""
    frames = [Frame(n, 1, 0, payload, b"m") for n in range(3)]
    assert folded(dialect, frames) == frames
