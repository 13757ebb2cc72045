"""A conversation as it is on Kafka: its tokens, what a worker has to make of them, and what one has published.

1. A `Partition` with the worker's settings reads the tokens, so messages, numbers and events are those of a worker.
   Each record becomes a piece: its steps, with the events that they make.
2. An event is on its way until the log has it. The one with its number is compared byte by byte; another one is told,
   as is one that nothing of what was read here makes.
3. Records of different topics come in any order: an event that is here before its token waits for it, but not for ever.
4. What began before the reading did is read from its middle: a guess, until an event says so by `tm-opened`, which no
   event of a message does whose first record is of the same millisecond as what was read. Then its tokens stand for
   themselves, and its events alone. While such a message goes on, orphans are not told as put aside: the worker may
   have read what they follow.
"""

import re
from collections.abc import Iterator
from itertools import count
from typing import TypeAlias

import msgspec

from tokenmill.dialects.server_sent import on_one_line
from tokenmill.errors import NOT_JSON, Orphan
from tokenmill.events import decode_event, known_event
from tokenmill.inspector.lines import Line, Opened, Piece, Published, Rejected, Repeated, Unread
from tokenmill.inspector.ranges import Made
from tokenmill.inspector.watched import Step, WatchedParser
from tokenmill.parser import MessageParser
from tokenmill.partition import Partition, PartitionSettings
from tokenmill.partition.message import Choice
from tokenmill.partition.opening import identity_of
from tokenmill.records import Headers, Output, PlacedRecord, header, number_in

EARLY_S = 2.0
"""For a token to come whose event is here: both are in the log, and are read at once."""

EARLY_KEPT = 10_000
"""Events that wait so; more are told without what made them."""

GENERATED = re.compile(r"o\d+-\d")
"""Ids of messages that have none from their producers."""

Who: TypeAlias = tuple[str, int]
"""Message and choice."""

Number: TypeAlias = tuple[bytes, int]
"""When a choice began, and which of its events: once an id is forgotten, its next use is numbered from 0 again."""


class _Told:
    """What a page knows of a choice."""

    def __init__(self, of: int, began: int, parser: WatchedParser | None = None, published: int = -1) -> None:
        self.of = of
        self.began = began
        """When, in milliseconds since the epoch, as far as was read."""
        self.earliest = began
        """When the first choice of this name began."""
        self.parser = parser
        """None where none of its tokens were read."""
        self.unread = parser is None
        """It began before what was read."""
        self.finished = False
        """Its last event was told without its tokens."""
        self.count = 0
        """Events that the page was told."""
        self.published = published
        """The last sequence number that was published."""
        self.use = b""
        """When the use of its message's id began that this is of, as `tm-opened` says; empty before the first event."""
        self.alone = set[Number]()
        """Those that were told before their tokens came."""

    def note(self, number: Number) -> None:
        """Note that this event was published."""
        self.use, seq = number
        self.published = max(self.published, seq)

    def has(self, number: Number) -> bool:
        """Whether this event was published before: numbers of a later use of the id are not compared."""
        use, seq = number
        return seq <= self.published and self.use in (b"", use)


class WatchedPartition(Partition):
    """A partition whose parsers tell what they do."""

    def __init__(self, settings: PartitionSettings, topic: str, number: int) -> None:
        super().__init__(msgspec.structs.replace(settings, traced=True), topic, number)
        self._chunks.parser_of = self._parser_of
        self.opened = list[tuple[Choice, WatchedParser, int]]()
        """Choices that the record has opened, each with the sequence number of its first event."""
        self.steps = list[tuple[Choice, int, Step]]()
        """What it did, each with the sequence number of its first event."""

    def _parser_of(self, choice: Choice) -> MessageParser:
        def note(step: Step) -> None:
            self.steps.append((choice, choice.seq, step))

        parser = WatchedParser.of(choice.compiled(), identity_of(choice)).watch(note)
        self.opened.append((choice, parser, choice.seq))
        return parser

    def read(self, record: PlacedRecord) -> list[Output]:
        """What comes of one record; `opened` and `steps` say more."""
        self.opened.clear()
        self.steps.clear()
        out = list[Output]()
        self.process([record], out)
        self.drain()
        return out


class Watch:
    """Follows one conversation on one partition."""

    def __init__(self, settings: PartitionSettings, topics: tuple[str, str], number: int) -> None:
        self._partition = WatchedPartition(settings, topics[0], number)
        self._events = topics[1]
        self._dlq = settings.dlq
        self._told = dict[Who, _Told]()
        self._expected = dict[tuple[Who, Number], tuple[_Told, int, bytes]]()
        """Events that are not published yet: which of its choice's it is, and its payload."""
        self._early = dict[tuple[Who, Number], tuple[PlacedRecord, float | None, float]]()
        self._first: Who | None = None
        """The first choice that was opened."""
        self._orphans = list[tuple[Rejected, float | None]]()
        """Not told yet, each with when it came."""
        self._numbers = count()

    def token(self, record: PlacedRecord, seen: float | None) -> Iterator[Line]:
        """Take a record of tokens."""
        out, partition = self._partition.read(record), self._partition
        for rejected in (_rejected(record, output) for output in out if output.topic == self._dlq):
            if rejected.code == Orphan.code and len(self._orphans) < EARLY_KEPT:
                self._orphans.append((rejected, seen))
            else:
                yield rejected
        for choice, parser, seq in partition.opened:
            yield self._opened(choice, parser, seq)
        events = [output for output in out if output.topic == self._events]
        touched = [*(_who(choice) for choice, _, _ in partition.steps), *(_named(output.headers) for output in events)]
        for who in dict.fromkeys(touched):
            steps = [(seq, step) for choice, seq, step in partition.steps if _who(choice) == who]
            told = self._told[who]
            if told.unread:
                yield Piece(told.of, record.timestamp, seen, [_bare(step) for _, step in steps])
                continue
            own = [output for output in events if _named(output.headers) == who]
            yield Piece(told.of, record.timestamp, seen, list(self._stepped(told, steps, own)))
            yield from self._caught_up(who, [_number(output.headers) for output in own])

    def _opened(self, choice: Choice, parser: WatchedParser, seq: int) -> Opened:
        who, grammar = _who(choice), parser.grammar
        told, before = _Told(next(self._numbers), choice.envelope.created, parser, seq - 1), self._told.get(who)
        if before is not None:
            told.alone, told.earliest = before.alone, min(before.earliest, told.began)
        self._told[who] = told
        self._first = self._first or who
        return Opened(told.of, *who, list(grammar.format_names), len(grammar.prompt))

    def _stepped(self, told: _Told, steps: list[tuple[int, Step]], outputs: list[Output]) -> Iterator[Step]:
        """The steps of a record, with its events in them: those that no step made stand in front of the next one."""
        at = 0
        for seq, step in steps:
            ranges, step.made = step.made, []
            while at < len(outputs) and (place := _seq(outputs[at].headers) - seq) < len(ranges):
                start, end = (step.start, step.start) if place < 0 else (ranges[place].start, ranges[place].end)
                step.made.append(self._expect(told, outputs[at], start, end))
                at += 1
            yield step
        if at < len(outputs) and told.parser is not None:
            here = told.parser.here
            made = [self._expect(told, output, here, here) for output in outputs[at:]]
            yield told.parser.idle_step("record", made)

    def _expect(self, told: _Told, output: Output, start: int, end: int) -> Made:
        """An event that is to be published, and the characters that made it."""
        payload = output.value or b"null"
        self._expected[_named(output.headers), _number(output.headers)] = told, told.count, payload
        told.count += 1
        return Made(decode_event(payload), start, end)

    def _caught_up(self, who: Who, numbers: list[Number]) -> Iterator[Line]:
        """Events that came before their tokens, or were told without them."""
        told = self._told[who]
        for place in numbers if self._early or told.alone else ():
            early = self._early.pop((who, place), None)
            if early is not None:
                yield self._published(who, early[0], early[1])
            elif place in told.alone:
                told.alone.remove(place)
                _, number, _ = self._expected.pop((who, place))
                yield Published(told.of, number, None)

    def event(self, record: PlacedRecord, seen: float | None, now: float) -> Iterator[Line]:
        """Take a record of events; `now` in seconds."""
        who, seq, number = _named(record.headers), _seq(record.headers), _number(record.headers)
        yield from self._from_the_middle(who, record)
        told = self._told.get(who)
        if seq < 0:
            yield from self._alone(who, record, seen)
        elif (who, number) in self._expected:
            yield self._published(who, record, seen)
        elif told is not None and told.has(number):
            yield Repeated(told.of)
        elif len(self._early) < EARLY_KEPT and not (told is not None and told.unread):
            self._early[who, number] = record, seen, now
        else:
            yield from self._alone(who, record, seen)

    def _from_the_middle(self, who: Who, record: PlacedRecord) -> Iterator[Line]:
        """What an event says of the beginning of its choice: where that was not read, nothing is expected any more.

        The guess at a message without an id has the id of another record: it is the first that was opened.
        """
        opened = number_in(record.headers, "tm-opened", -1)
        guess = who if who in self._told else self._first
        if guess is None or opened < 0:
            return
        told = self._told[guess]
        if told.unread or opened >= told.earliest or record.timestamp < told.began:
            return
        if guess != who and (told.published >= 0 or not (GENERATED.match(who[0]) and GENERATED.match(guess[0]))):
            return
        self._expected = {place: each for place, each in self._expected.items() if each[0] is not told}
        told.unread, told.count, told.published = True, 0, -1
        self._told[who] = told
        yield Unread(told.of, who[0])

    def settle(self, now: float) -> Iterator[Line]:
        """Tell of events that have waited for their tokens for too long, and of orphans that nothing came before."""
        late = [place for place, (_, _, came) in self._early.items() if came < now - EARLY_S]
        for place in late:
            record, seen, _ = self._early.pop(place)
            yield from self._from_the_middle(place[0], record)
            yield from self._alone(place[0], record, seen)
        orphans, self._orphans = self._orphans, []
        if orphans and any(told.unread and not told.finished for told in self._told.values()):
            return
        for rejected, came in orphans:
            if came is None or came >= now - EARLY_S:
                self._orphans.append((rejected, now if came is None else came))
            else:
                yield rejected

    def _published(self, who: Who, record: PlacedRecord, seen: float | None) -> Published:
        told, number, payload = self._expected.pop((who, _number(record.headers)))
        told.note(_number(record.headers))
        value = record.value or b"null"
        return Published(told.of, number, seen, None if value == payload else readable(value))

    def _alone(self, who: Who, record: PlacedRecord, seen: float | None) -> Iterator[Line]:
        """An event that nothing of what was read here made."""
        event = known_event(record.value or b"")
        if event is None:
            yield Rejected(record.offset, "event", "this version knows no such event")
            return
        told = self._told.get(who)
        if told is None:
            told = self._told[who] = _Told(next(self._numbers), record.timestamp)
            yield Opened(told.of, *who)
        told.finished = event.type == "finish"
        if _seq(record.headers) >= 0:
            told.note(_number(record.headers))
            told.alone.add(_number(record.headers))
        here = told.parser.here if told.parser else 0
        made = [Made(event, here, here)]
        step = (
            told.parser.idle_step("alone", made) if told.parser else Step("alone", here, here, "", made, "", "", "", 0)
        )
        yield Piece(told.of, record.timestamp, seen, [step])
        yield Published(told.of, told.count, seen)
        told.count += 1


def readable(value: bytes) -> msgspec.Raw:
    """A payload as a line can hold it: on one, or as a string where it is no JSON."""
    try:
        msgspec.json.decode(value)
    except NOT_JSON:
        return msgspec.Raw(msgspec.json.encode(value.decode(errors="replace")))
    return msgspec.Raw(on_one_line(value))


def _rejected(record: PlacedRecord, output: Output) -> Rejected:
    code, problem = (header(output.headers, name) or b"" for name in ("tm-error-code", "tm-error"))
    return Rejected(record.offset, code.decode(errors="replace"), problem.decode(errors="replace"))


def _bare(step: Step) -> Step:
    """What came, and nothing of what was made of it."""
    return Step(step.kind, step.start, step.end, step.source, [], "", "", "", 0)


def _who(choice: Choice) -> Who:
    return choice.envelope.message_id, choice.index


def _named(headers: Headers) -> Who:
    """The message and choice of an event's record."""
    name = header(headers, "tm-message-id") or b""
    return name.decode(errors="replace"), number_in(headers, "tm-choice", 0)


def _seq(headers: Headers) -> int:
    """The sequence number of an event's record; -1 for one that has none."""
    return number_in(headers, "tm-seq", -1)


def _number(headers: Headers) -> Number:
    """Which event of which use of its message's id a record has."""
    return header(headers, "tm-opened") or b"", _seq(headers)
