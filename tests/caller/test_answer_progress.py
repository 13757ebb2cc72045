"""What the records of an answer say: who writes it, whether it goes on, and what has come."""

from typing import Any

import msgspec
import pytest

from tokenmill.caller import answer_progress
from tokenmill.caller.answer import TAKEOVER_PART
from tokenmill.caller.answer_progress import AnswerProgress
from tokenmill.caller.writing import RANGE, RANGES, SIGN_RANGE
from tokenmill.partition.idle import LAST_OFFSET
from tokenmill.records import InputRecord

MESSAGE = "msg-1"


class Log:
    """Records of one conversation, and what is seen in them; each a second after the one before."""

    def __init__(self) -> None:
        self.progress = AnswerProgress(0.0)
        self._next = 0

    def add(self, value: bytes | None = None, *headers: tuple[str, bytes], **chunk: Any) -> int | None:
        """One record: a native chunk, or other bytes."""
        content = msgspec.json.encode({"message_id": MESSAGE, **chunk}) if value is None else value
        record = InputRecord("tokens", 0, self._next, 0, b"c", content, list(headers))
        self._next += 1
        return self.progress.take(record, MESSAGE, float(self._next))


def test_the_first_record_of_each_writer_is_told() -> None:
    """By the number of its range; nobody who has the answer no more is heard."""
    log = Log()
    assert log.progress.range == -1
    assert log.add(seq=0, open={}) == 0
    assert log.add(seq=1, delta="a") is None
    assert log.add(seq=RANGE, open={}, resumes=True) == 1
    assert log.add(seq=2, delta="b") is None
    assert (log.progress.range, log.progress.text, log.progress.at) == (1, ["a"], 3.0)
    assert log.add(seq=5 * RANGE + 7, delta="c") == 5


def test_a_sign_of_life_changes_nothing_but_the_time() -> None:
    """It has no number, and brings nothing."""
    log = Log()
    log.add(seq=0, open={})
    assert log.add() is None
    assert (log.progress.at, log.progress.content, log.progress.text, log.progress.ended) == (2.0, False, [], False)


def test_what_callers_say_of_takeovers_is_none_of_the_answer() -> None:
    """One that was called again before it brought anything can be gone on with when that caller is lost, too."""
    log = Log()
    log.add(seq=RANGE, open={}, resumes=True)
    log.add(seq=RANGE + 1, part={"kind": TAKEOVER_PART, "value": {"how": "called-again"}})
    log.add(seq=RANGE + 2, delta="text")
    assert (log.progress.content, log.progress.text) == (True, ["text"])


def sign(range_: bytes) -> tuple[str, bytes]:
    """The header of one."""
    return SIGN_RANGE, range_


def test_who_was_overtaken_gives_signs_of_nobody_s_life() -> None:
    """It may not know it yet, and go on for minutes; who has the answer may be lost meanwhile."""
    log = Log()
    log.add(seq=0, open={})
    log.add(None, sign(b"0"))
    log.add(seq=RANGE, open={}, resumes=True)
    assert [log.add(None, sign(b"0")), log.progress.at] == [None, 3.0]
    log.add(None, sign(b"1"))
    assert (log.progress.at, log.progress.taken_at, log.progress.range) == (5.0, 3.0, 1)
    log.add(seq=RANGE + 1, delta="a")
    assert (log.progress.at, log.progress.taken_at) == (6.0, 3.0)


def test_a_sign_of_life_may_come_before_the_record_that_takes_over() -> None:
    """That was refused, and is written again: it is the first of its range all the same."""
    log = Log()
    log.add(seq=0, open={})
    assert (log.add(None, sign(b"1")), log.progress.range) == (None, 0)
    assert log.add(seq=RANGE, open={}, resumes=True) == 1


@pytest.mark.parametrize("number", [RANGES * RANGE, 2**53 - 1])
def test_what_comes_behind_all_ranges_is_no_caller_s(number: int) -> None:
    """To go on behind it would need numbers that no record can have."""
    log = Log()
    log.add(seq=RANGE, open={})
    assert log.add(seq=number, delta="x", resumes=True) is None
    log.add(None, sign(b"%d" % (number // RANGE)))
    assert (log.progress.range, log.progress.at, log.progress.text) == (1, 1.0, [])
    assert log.add(seq=RANGES * RANGE - 1, delta="y") == RANGES - 1


@pytest.mark.parametrize("value", [b"", b"-1", b"one", b"9" * 5_000])
def test_a_sign_that_does_not_say_whose_it_is_counts(value: bytes) -> None:
    """As those of older versions do."""
    log = Log()
    log.add(seq=RANGE, open={})
    log.add(None, sign(value))
    assert (log.progress.at, log.progress.range) == (2.0, 1)


@pytest.mark.parametrize(
    "chunk",
    [
        {"delta": "a"},
        {"reasoning": "a"},
        {"tool_calls": [{"index": 0, "id": "1", "name": "f", "arguments": ""}]},
        {"part": {"kind": "refusal", "value": "no"}},
        {"error": "gone"},
        {"finish_reason": "stop", "end": False},
    ],
    ids=lambda chunk: next(iter(chunk)),
)
def test_whatever_a_model_says_is_content(chunk: dict[str, Any]) -> None:
    """Behind it nothing can be asked for again; what opens the message is none."""
    log = Log()
    log.add(seq=0, open={"format": "plain"})
    assert not log.progress.content
    log.add(seq=1, **chunk)
    assert log.progress.content


def test_it_has_ended_when_all_choices_have() -> None:
    """Of two one is not enough; what comes behind the end is not heard."""
    log = Log()
    log.add(seq=0, open={})
    log.add(seq=0, open={}, choice=1)
    log.add(seq=1, finish_reason="stop", end=True)
    assert not log.progress.ended
    log.add(seq=1, choice=1, finish_reason="stop", end=True)
    assert (log.progress.ended, log.add(seq=RANGE, open={}, resumes=True)) == (True, None)


def test_an_answer_is_all_there_when_each_choice_has_said_why_it_ends() -> None:
    """Or has ended; whoever takes it over opens a choice again, and changes nothing of that."""
    log = Log()
    found = []
    for chunk in (
        {"seq": 0, "open": {}},
        {"seq": 0, "open": {}, "choice": 1},
        {"seq": 1, "finish_reason": "length", "end": False},
        {"seq": 1, "choice": 1, "end": True},
        {"seq": RANGE, "open": {}, "resumes": True},
    ):
        log.add(**chunk)
        found.append((log.progress.all_there(1), log.progress.all_there(2), log.progress.all_there(3)))
    nothing, all_of_two = (False, False, False), (True, True, False)
    assert found == [nothing, nothing, nothing, all_of_two, all_of_two]
    assert not log.progress.ended


def test_a_stop_ends_it() -> None:
    """Whoever asked for it: the worker ends the message at this record."""
    log = Log()
    log.add(seq=0, open={})
    log.add(control="cancel")
    assert log.progress.ended


def test_a_stop_of_what_has_not_begun_ends_nothing() -> None:
    """A worker knows no message to end, so a caller has to end it; a time-out is none of a client's."""
    log = Log()
    log.add(None, (LAST_OFFSET, b"0"), control="timeout")
    assert (log.progress.ended, log.progress.stopped) == (False, False)
    log.add(control="cancel")
    assert (log.progress.ended, log.progress.stopped) == (False, True)
    assert log.add(seq=0, open={}) == 0


def test_a_time_out_ends_it_unless_something_came_meanwhile() -> None:
    """As a worker sees it: its record names the last offset that its writer saw."""
    log = Log()
    log.add(seq=0, open={})
    log.add(seq=1, delta="a")
    log.add(None, (LAST_OFFSET, b"0"), control="timeout")
    assert not log.progress.ended
    log.add(None, (LAST_OFFSET, b"1"), control="timeout")
    assert log.progress.ended


@pytest.mark.parametrize("late", [{"seq": 1, "delta": "late"}, {}], ids=["chunk", "sign"])
def test_what_the_one_before_still_writes_makes_a_time_out_stale(late: dict[str, Any]) -> None:
    """As a worker sees it, the message was not idle; to think that it is over would leave it to nobody."""
    log = Log()
    log.add(seq=0, open={})
    log.add(seq=RANGE, open={}, resumes=True)
    log.add(None, *([] if late else [sign(b"0")]), **late)
    log.add(None, (LAST_OFFSET, b"1"), control="timeout")
    assert not log.progress.ended


@pytest.mark.parametrize(
    "chunk",
    [
        {"reasoning": "r"},
        {"delta": "b", "choice": 1},
        {"tool_calls": [{"index": 0, "id": "1", "name": "f", "arguments": ""}]},
        {"part": {"kind": "refusal", "value": "no"}},
    ],
    ids=lambda chunk: next(iter(chunk)),
)
def test_only_text_of_one_choice_can_be_gone_on_with(chunk: dict[str, Any]) -> None:
    """What a model said beside it can't be put in front of it."""
    log = Log()
    log.add(seq=0, open={})
    log.add(seq=1, delta="a")
    log.add(seq=2, delta="b")
    assert log.progress.text == ["a", "b"]
    log.add(seq=3, **chunk)
    assert log.progress.text is None


def test_a_long_text_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be thousands of answers."""
    monkeypatch.setattr(answer_progress, "TEXT_CHARS", 3)
    log = Log()
    log.add(seq=0, delta="abc")
    texts = [log.progress.text]
    log.add(seq=1, delta="d")
    assert [*texts, log.progress.text] == [["abc"], None]
    assert log.progress.content


@pytest.mark.parametrize(
    ("value", "headers"),
    [
        (b"no JSON", ()),
        (b'{"message_id":"another","seq":0,"open":{}}', ()),
        (b'{"message_id":"msg-1","seq":0,"open":{}}', (("tm-codec", b"openai"),)),
    ],
    ids=["junk", "another message", "another codec"],
)
def test_what_is_none_of_its_records_says_nothing(value: bytes, headers: tuple[tuple[str, bytes], ...]) -> None:
    """A conversation has records of others, too."""
    log = Log()
    assert log.add(value, *headers) is None
    assert (log.progress.range, log.progress.at) == (-1, 0.0)
