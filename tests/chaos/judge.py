"""What a partition's outputs have to be, and in what they differ from it (I1, I2, I10).

The oracle is `replay_records`, what `parse --records` runs, over the input as it is in the end. Per partition and topic
the records must be the oracle's: timestamp, key, value and headers, in this order. So a token that is lost, repeated,
reordered or wrong is seen, even where only its number in the message would tell.

Two things are not in the input and are read from the output:

1. *Repeats.* With at-least-once delivery a record may come again, byte for byte the same; then its first place counts.
2. *The configuration of the moment.* A message that leaves its format to the configuration says in `message-start`
   which one it got. The oracle is told so; everything that follows has to fit. A message whose state was lost together
   with its configuration ends with `reconfigured`: what came before must be the beginning of what the oracle has.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from tokenmill.partition import PartitionSettings
from tokenmill.records import InputRecord
from tokenmill.replay import replay_records
from tokenmill.replay.records import to_bytes

EVENTS, CALLS, COMPLETIONS, DEAD = "events", "tool_calls", "completions", "dlq"

Unit = tuple[bytes, bytes, bytes]
"""Conversation, message, choice."""


class Item(NamedTuple):
    """One output record as its readers see it."""

    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]

    @property
    def unit(self) -> Unit:
        """Whose it is; nobody's for dead letters."""
        headers = dict(self.headers)
        conversation = (self.key or b"").partition(b"/")[0]
        message = headers.get("tm-message-id", b"")
        return conversation, message, headers.get("tm-choice", b"0" if message else b"")

    @property
    def identity(self) -> tuple[object, ...]:
        """What tells readers that a record is a repeat. Announcements have no number: they are what they say."""
        headers = dict(self.headers)
        if "tm-error-code" in headers:
            return headers["tm-source-partition"], headers["tm-source-offset"]
        seq = headers.get("tm-seq")
        return *self.unit, seq, headers.get("tm-part"), None if seq else self.value


class Sound(NamedTuple):
    """A topic's items without repeats, and what was wrong with those."""

    items: list[Item]
    repeated: list[Unit]
    """Whose each repeat is that is the same as what came first."""
    different: list[Unit]
    """The same of those that differ."""


Outputs = Mapping[str, Sequence[Item]]
"""By kind of topic: `EVENTS`, `CALLS`, `COMPLETIONS`, `DEAD`."""


class Verdict(NamedTuple):
    """On one partition."""

    wrong: dict[str, str]
    """By conversation, or other place: what is wrong there first."""
    repeats: int
    units: set[Unit]
    """Every (conversation, message, choice)."""
    reconfigured: set[Unit]
    """Those whose state was lost with their configuration."""
    expected: Mapping[str, Sequence[Item]]


def judge(
    records: Sequence[InputRecord], settings: PartitionSettings, found: Outputs, *, repeats_allowed: bool
) -> Verdict:
    """Compare a partition's outputs with the oracle's."""
    sound = {topic: without_repeats(items) for topic, items in found.items()}
    wrong: dict[str, str] = {}
    for topic, each in sound.items():
        wrong |= {_name(unit): f"{topic}: a repeat that differs" for unit in each.different}
        if not repeats_allowed:
            wrong |= {_name(unit): f"{topic}: a record that is repeated" for unit in each.repeated}
    expected = oracle(with_formats(records, formats_of(found[EVENTS])), settings, found)
    reconfigured = {item.unit for item in sound[EVENTS].items if _says(item, "reconfigured")}
    failed = (item for items in expected.values() for item in items if _failed(item))
    wrong |= {_name(item.unit): "tokenmill itself failed on it" for item in failed}
    for topic, each in sound.items():
        wrong = _differences(topic, expected[topic], each.items, reconfigured) | wrong
    wrong = _broken_ends(expected, sound, reconfigured) | wrong
    repeats = sum(len(each.repeated) for each in sound.values())
    return Verdict(wrong, repeats, {item.unit for item in expected[EVENTS]}, reconfigured, expected)


def without_repeats(items: Iterable[Item]) -> Sound:
    """First occurrences, in order."""
    seen: dict[tuple[object, ...], Item] = {}
    repeated, different = [], []
    for item in items:
        if (identity := item.identity) not in seen:
            seen[identity] = item
        elif seen[identity] == item:
            repeated.append(item.unit)
        else:
            different.append(item.unit)
    return Sound(list(seen.values()), repeated, different)


def oracle(records: Iterable[InputRecord], settings: PartitionSettings, topics: Iterable[str]) -> dict[str, list[Item]]:
    """What comes out of these records, by kind of topic. `settings` name the topics by their kinds."""
    result: dict[str, list[Item]] = {topic: [] for topic in topics}
    for output in replay_records(records, settings):
        headers = tuple((name, to_bytes(value) or b"") for name, value in output["headers"])
        item = Item(output["timestamp"], to_bytes(output["key"]), to_bytes(output["value"]), headers)
        result[output["topic"]].append(item)
    return result


# The configuration of the moment


def formats_of(events: Iterable[Item]) -> dict[Unit, Any]:
    """The format that each message began with."""
    starts = (item for item in events if b'"message-start"' in (item.value or b""))
    told = ((item.unit, json.loads(item.value or b"null")) for item in starts)
    return {unit: event["format"] for unit, event in told if event["type"] == "message-start"}


def with_formats(records: Iterable[InputRecord], formats: Mapping[Unit, Any]) -> list[InputRecord]:
    """Records that open a message say its format."""
    return [_with_format(record, formats) for record in records]


def _with_format(record: InputRecord, formats: Mapping[Unit, Any]) -> InputRecord:
    if b'"open"' not in (record.value or b""):
        return record
    chunk = json.loads(record.value or b"null")
    message = chunk.get("message_id", f"o{record.partition}-{record.offset}").encode()
    unit = record.key or b"", message, str(chunk.get("choice", 0)).encode()
    if "format" in chunk["open"] or unit not in formats:
        return record
    chunk["open"]["format"] = formats[unit]
    return msgspec.structs.replace(record, value=json.dumps(chunk).encode())


# Differences


def _differences(topic: str, expected: Sequence[Item], found: Sequence[Item], apart: set[Unit]) -> dict[str, str]:
    """By conversation; `apart` are judged by other rules."""
    expected = [item for item in expected if item.unit not in apart]
    found = [item for item in found if item.unit not in apart]
    if expected == found:
        return {}
    ours, theirs = _by_unit(found), _by_unit(expected)
    wrong = {
        _name(unit): f"{topic}: {_first_difference(theirs.get(unit, []), ours.get(unit, []))}"
        for unit in ours.keys() | theirs.keys()
        if ours.get(unit) != theirs.get(unit)
    }
    return wrong or {topic: "the order of messages"}


def _first_difference(expected: Sequence[Item], found: Sequence[Item]) -> str:
    place = next((n for n, (a, b) in enumerate(zip(expected, found, strict=False)) if a != b), None)
    if place is None:
        return f"{len(found)} records instead of {len(expected)}"
    return f"record {place} of {len(found)} is {found[place]}, not {expected[place]} of {len(expected)}"


def _broken_ends(expected: Outputs, found: Mapping[str, Sound], units: set[Unit]) -> dict[str, str]:
    """Messages that end with `reconfigured`: a beginning of what was expected, then the two events that say so."""
    wrong: dict[str, str] = {}
    events, theirs = _by_unit(found[EVENTS].items), _by_unit(expected[EVENTS])
    calls, their_calls = _by_unit(found[CALLS].items), _by_unit(expected[CALLS])
    for unit in units:
        *begun, error, finish = [*events[unit], *[None] * 2][: max(2, len(events[unit]))]
        told = error and finish and _says(error, "reconfigured") and _says(finish, "finish")
        if not told or begun != theirs.get(unit, [])[: len(begun)]:
            wrong[_name(unit)] = "the end of a message that was reconfigured"
        if calls.get(unit, []) != their_calls.get(unit, [])[: len(calls.get(unit, []))]:
            wrong[_name(unit)] = "the calls of a message that was reconfigured"
    return wrong


def _says(item: Item, what: str) -> bool:
    """Whether this is an announcement of that kind: it has no number."""
    if any(name == "tm-seq" for name, _ in item.headers) or not item.value:
        return False
    event = json.loads(item.value)
    return what in (event.get("code"), event.get("type"))


def _failed(item: Item) -> bool:
    """Whether tokenmill says of itself that it failed."""
    return ("tm-error-code", b"internal") in item.headers or b'"code":"internal"' in (item.value or b"")


def _by_unit(items: Iterable[Item]) -> dict[Unit, list[Item]]:
    result: dict[Unit, list[Item]] = {}
    for item in items:
        result.setdefault(item.unit, []).append(item)
    return result


def _name(unit: Unit) -> str:
    return "/".join(part.decode(errors="replace") for part in unit)
