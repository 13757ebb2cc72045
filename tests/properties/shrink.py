"""The smallest input that still fails, for the reader of a failure."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar

import msgspec

from tests.properties.settings_soup import Document
from tests.properties.soup import Step, Stream
from tokenmill.records import InputRecord

Input = TypeVar("Input")
Log: TypeAlias = list[InputRecord]


def shrunk(
    whole: Input, smaller: Callable[[Input], Iterable[Input]], fails: Callable[[Input], object], tries: int = 3_000
) -> Input:
    """An input of which none of the smaller ones fails, as far as `tries` allow."""
    going = True
    while going:
        going = False
        for candidate in smaller(whole):
            tries -= 1
            if tries < 0:
                return whole
            if fails(candidate):
                whole, going = candidate, True
                break
    return whole


def smaller_streams(stream: Stream) -> Iterator[Stream]:
    """The stream without a step, or without a part of its text, larger parts first."""
    steps = stream.steps
    for number in range(len(steps) if len(steps) > 1 else 0):
        yield stream._replace(steps=steps[:number] + steps[number + 1 :])
    longest = max((len(step.value) for step in steps if step.kind == "feed"), default=0)
    for number, at, size in _parts([len(step.value) if step.kind == "feed" else 0 for step in steps], longest):
        value = steps[number].value
        less = Step("feed", value[:at] + value[at + size :])
        yield stream._replace(steps=(*steps[:number], less, *steps[number + 1 :]))


def smaller_logs(log: Log) -> Iterator[Log]:
    """The log without a record, without a header, or without a part of a value, larger parts first."""
    for number in range(len(log) if len(log) > 1 else 0):
        yield log[:number] + log[number + 1 :]
    for number, record in enumerate(log):
        for at in range(len(record.headers)):
            less = msgspec.structs.replace(record, headers=record.headers[:at] + record.headers[at + 1 :])
            yield [*log[:number], less, *log[number + 1 :]]
    values = [record.value or b"" for record in log]
    for number, at, size in _parts([len(value) for value in values], max(map(len, values), default=0)):
        less = msgspec.structs.replace(log[number], value=values[number][:at] + values[number][at + size :])
        yield [*log[:number], less, *log[number + 1 :]]


def smaller_documents(document: Document) -> Iterator[Document]:
    """The configuration without a line or a variable."""
    for name in ("lines", "variables"):
        several = getattr(document, name)
        for number in range(len(several)):
            less = document._replace(**{name: several[:number] + several[number + 1 :]})
            yield less._replace(unknown=frozenset(key for key in less.unknown if less.names(key)))


def _parts(sizes: list[int], longest: int) -> Iterator[tuple[int, int, int]]:
    """What can be cut out: number, place and size, larger parts first."""
    size = longest // 2 or 1
    while size and longest:
        for number, length in enumerate(sizes):
            for at in range(0, length, size):
                yield number, at, size
        size //= 2
