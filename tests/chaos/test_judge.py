"""The judge is known to judge: what is lost, repeated, reordered or wrong is found, and nothing else is."""

import random
from collections.abc import Callable
from itertools import islice

import pytest
from msgspec.json import encode

from tests.chaos.feed import without_format
from tests.chaos.judge import CALLS, COMPLETIONS, DEAD, EVENTS, Item, Verdict, formats_of, judge, oracle, with_formats
from tests.chaos.settle import settings
from tests.support.conversations import interleaved
from tokenmill.parser import MessageParser
from tokenmill.partition.message import Choice
from tokenmill.partition.opening import parser_of
from tokenmill.partition.tally import Tally
from tokenmill.records import InputRecord

TOPICS = (EVENTS, CALLS, COMPLETIONS, DEAD)
CHUNKS = 600

Found = dict[str, list[Item]]


def _records() -> list[InputRecord]:
    """Some conversations with formats, and some without."""
    plain = islice(interleaved(20, seed=1), CHUNKS)
    names = [f"default-{number}" for number in range(4)]
    default = [(name, chunk) for name in names for chunk in without_format(name, random.Random(name))]
    values = [each for pair in zip(plain, default, strict=False) for each in pair]
    return [
        InputRecord("tokens", 0, offset, offset, key.encode(), chunk if isinstance(chunk, bytes) else encode(chunk), [])
        for offset, (key, chunk) in enumerate(values)
    ]


RECORDS = _records()


def _found(format_: str = "hermes") -> Found:
    """What a worker whose configuration says this format publishes."""
    formats = dict.fromkeys(formats_of(oracle(RECORDS, settings(), TOPICS)[EVENTS]), format_)
    return oracle(with_formats(RECORDS, formats), settings(), TOPICS)


def _judge(found: Found, *, repeats_allowed: bool = False) -> Verdict:
    return judge(RECORDS, settings(), found, repeats_allowed=repeats_allowed)


def _middle(found: Found, topic: str = EVENTS) -> int:
    """The place of a text in the middle, whose neighbours are other conversations'."""
    items = found[topic]
    return next(n for n in range(len(items) // 2, len(items)) if b"text-delta" in (items[n].value or b"x"))


def test_what_is_right_is_right() -> None:
    """Under either configuration; all messages were looked at."""
    for format_ in ("hermes", "qwen3_xml"):
        verdict = _judge(_found(format_))
        assert verdict.wrong == {}
        assert len(verdict.units) > 20
    assert _found("hermes") != _found("qwen3_xml")


def _lose(items: list[Item], at: int) -> None:
    del items[at]


def _repeat(items: list[Item], at: int) -> None:
    items.insert(at + 1, items[at])


def _reorder(items: list[Item], at: int) -> None:
    later = next(n for n in range(at + 1, len(items)) if items[n].unit == items[at].unit)
    items[at], items[later] = items[later], items[at]


def _spoil(items: list[Item], at: int) -> None:
    items[at] = items[at]._replace(value=(items[at].value or b"").replace(b'"delta":"', b'"delta":"x'))


def _delay(items: list[Item], at: int) -> None:
    items[at] = items[at]._replace(timestamp=items[at].timestamp + 1)


@pytest.mark.parametrize("tamper", [_lose, _repeat, _reorder, _spoil, _delay], ids=lambda tamper: tamper.__name__[1:])
def test_one_token_is_enough(tamper: Callable[[list[Item], int], None]) -> None:
    """One record of thousands, and exactly its conversation is named."""
    found = _found()
    at = _middle(found)
    conversation = found[EVENTS][at].unit[0].decode()
    tamper(found[EVENTS], at)
    assert [name.partition("/")[0] for name in _judge(found).wrong] == [conversation]


def test_the_order_of_messages_counts() -> None:
    """Records of two conversations that change places are each in order for themselves."""
    found = _found()
    items = found[EVENTS]
    at = next(n for n in range(len(items) // 2, len(items)) if items[n].unit != items[n + 1].unit)
    items[at], items[at + 1] = items[at + 1], items[at]
    assert _judge(found).wrong == {EVENTS: "the order of messages"}


@pytest.mark.parametrize("topic", [CALLS, COMPLETIONS, DEAD])
def test_every_topic_is_looked_at(topic: str) -> None:
    """A call, an answer or a dead letter that is missing."""
    found = _found()
    del found[topic][0]
    assert _judge(found).wrong


def test_repeats_are_allowed_if_they_are_the_same() -> None:
    """A tail that comes again is no fault at least once; a byte that differs is."""
    found = _found()
    at = _middle(found)
    found[EVENTS][at:at] = found[EVENTS][at - 20 : at]
    assert (_judge(found, repeats_allowed=True).wrong, _judge(found, repeats_allowed=True).repeats) == ({}, 20)
    assert _judge(found).wrong
    found[EVENTS][at] = found[EVENTS][at]._replace(timestamp=0)
    assert _judge(found, repeats_allowed=True).wrong


def test_what_the_program_fails_on_is_wrong_though_both_sides_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oracle is the same program: what it says of its own failures counts."""

    def broken(choice: Choice) -> MessageParser:
        if choice.key == b"default-1":
            raise ZeroDivisionError
        return parser_of(choice)

    monkeypatch.setattr("tokenmill.partition.chunks.parser_of", broken)
    monkeypatch.setattr(Tally, "fail", lambda *_: None)
    wrong = _judge(_found()).wrong
    assert {name.partition("/")[0] for name in wrong} == {"default-1"}
    assert set(wrong.values()) == {"tokenmill itself failed on it"}


def test_a_message_keeps_the_format_that_it_began_with() -> None:
    """Half of it under one configuration, half of it under the other, is wrong."""
    found, other = _found("hermes"), _found("qwen3_xml")
    unit = next(item.unit for item in found[EVENTS] if item.unit[0] == b"default-1")
    mine = [item for item in found[EVENTS] if item.unit == unit]
    theirs = [item for item in other[EVENTS] if item.unit == unit]
    mixed = [*mine[: len(mine) // 2], *theirs[len(mine) // 2 :]]
    found[EVENTS] = [item for item in found[EVENTS] if item.unit != unit] + mixed
    assert {name.partition("/")[0] for name in _judge(found).wrong} == {"default-1"}


def _ends(item: Item) -> list[Item]:
    """What is announced of a message whose configuration is gone."""
    headers = tuple(pair for pair in item.headers if pair[0] not in ("tm-seq", "tm-part"))
    error, finish = b'{"type":"error","code":"reconfigured"}', b'{"type":"finish","reason":"error"}'
    return [item._replace(value=value, headers=headers) for value in (error, finish)]


def _reconfigured(found: Found, keep: int) -> tuple[Found, bytes]:
    """One message ends early, after so many of its events."""
    unit = found[EVENTS][0].unit
    mine = [item for item in found[EVENTS] if item.unit == unit]
    rest = {topic: [item for item in items if item.unit != unit] for topic, items in found.items()}
    rest[EVENTS] += [*mine[:keep], *_ends(mine[0])]
    return rest, unit[0]


def test_a_reconfigured_message_is_a_beginning_and_an_announcement() -> None:
    """It is counted, and the others are judged as ever."""
    found, _ = _reconfigured(_found(), keep=3)
    verdict = _judge(found)
    assert (verdict.wrong, len(verdict.reconfigured)) == ({}, 1)


def test_a_reconfigured_message_may_not_lose_anything_before_its_end() -> None:
    """A beginning has no gap in it; nothing comes after the announcement."""
    found, conversation = _reconfigured(_found(), keep=3)
    place = next(n for n, item in enumerate(found[EVENTS]) if item.unit[0] == conversation)
    gap = {**found, EVENTS: found[EVENTS][:place] + found[EVENTS][place + 1 :]}
    more = {
        **found,
        EVENTS: [*found[EVENTS], next(item for item in _found()[EVENTS][9:] if item.unit[0] == conversation)],
    }
    for wrong in (gap, more):
        assert [name.partition("/")[0] for name in _judge(wrong).wrong] == [conversation.decode()]
