"""Applying a chunk to its message: first the rules of identity, then its fields in the contract's order."""

from collections.abc import Callable, Iterable

import msgspec
from msgspec import UNSET, UnsetType

from tokenmill.codecs import Chunk
from tokenmill.errors import BadKey, Orphan, Undecodable
from tokenmill.events import Error
from tokenmill.limits import CHOICES, DETAIL_BYTES
from tokenmill.parser import MessageParser
from tokenmill.partition.identity import Verdict, choice_index, has_content, judge, may_go_on, opens
from tokenmill.partition.idle import condition_of
from tokenmill.partition.low_water import LowWater, Root
from tokenmill.partition.message import Choice, Lost, Message, Open
from tokenmill.partition.messages import Messages
from tokenmill.partition.missing import NONE_MISSING
from tokenmill.partition.opening import Opened, Opener, conversation_of, parser_of
from tokenmill.partition.outputs import Outputs
from tokenmill.partition.recovery import announcement
from tokenmill.partition.tally import Tally
from tokenmill.records import Output, Record

_DROPPED = {
    Verdict.NO_MESSAGE: "no-message",
    Verdict.DUPLICATE: "duplicate",
    Verdict.LATE: "late",
    Verdict.LOST: "lost",
}


class Chunks:
    """Applies chunks to the messages of one partition."""

    def __init__(
        self,
        opener: Opener,
        messages: Messages,
        low_water: LowWater,
        outputs: Outputs,
        tally: Tally,
        max_age_ms: int,
    ) -> None:
        self._max_age_ms = max_age_ms
        self._opener = opener
        self._messages = messages
        self._low_water = low_water
        self._outputs = outputs
        self.tally = tally
        self.unseen_until = 0
        """Messages below this offset may have been opened by a record that the log no longer has."""
        self.missing = NONE_MISSING
        """Messages whose beginning is missing now; in a replay, those that were missing then."""
        self.parser_of: Callable[[Choice], MessageParser] = parser_of
        """Makes the parser of a choice that opens; an observer replaces it with one that reports what it does."""

    def apply(self, chunk: Chunk, record: Record, root: Root | None, out: list[Output]) -> None:
        """Apply one chunk; `root` is the root of its codec's state. Raises `RecordError` before changing anything."""
        key = record.key
        assert key is not None  # the intake refuses records without
        self._check(chunk, key)
        message = self._messages.find(key, chunk.message_id)
        if chunk.control is not None and not has_content(chunk):
            self._control(message, chunk, record, out)
            return
        if message is not None:
            self._see(message, record)
        choice = message.choice(choice_index(chunk)) if message is not None else None
        seq = chunk.seq
        if (
            message is None
            or choice is None
            or not isinstance(choice.state, Open)
            or chunk.open is not None
            or (seq is not None and seq != choice.position + 1)
        ):
            admitted = self._admit(message, choice, chunk, record, root, out)
            if admitted is None:
                return
            message, choice = admitted
        if seq is not None:
            choice.position = seq
        if seq is None and chunk.delta and chunk.open is None:
            choice.opener = record.offset if root is None else root.offset
        self._content(chunk, choice, record, out)
        if chunk.end is True or chunk.control is not None:
            self._end(message, choice, chunk, record, out)

    def _check(self, chunk: Chunk, key: bytes) -> None:
        """Raise for a fault of the chunk that does not depend on its message."""
        if chunk.conversation_id is not None and chunk.conversation_id.encode() != key:
            raise BadKey("the key and conversation_id are not the same")
        if chunk.open is not None:
            self._opener.check(chunk.open)

    def _see(self, message: Message, record: Record) -> None:
        """Note that a record was for this message, so the message is not idle, whatever becomes of the record."""
        message.last = record.offset
        if not message.touched:
            self._messages.touch(message)

    def _content(self, chunk: Chunk, choice: Choice, record: Record, out: list[Output]) -> None:
        going, outputs, time = choice.state, self._outputs, record.timestamp
        assert isinstance(going, Open)  # it was admitted
        parser = going.parser
        if chunk.reasoning:
            outputs.emit(parser.reasoning(chunk.reasoning), choice, time, out)
        if chunk.delta:
            outputs.emit(parser.feed(chunk.delta), choice, time, out)
        if chunk.tool_calls:
            outputs.emit(parser.tool_calls(chunk.tool_calls), choice, time, out)
        if chunk.part is not None:
            outputs.emit(parser.part(chunk.part.kind, chunk.part.value, chunk.part.id), choice, time, out)
        if chunk.usage is not None:
            self._usage(chunk, choice, going, record, out)
        if chunk.finish_reason is not None:
            going.reason = chunk.finish_reason[:DETAIL_BYTES]
            going.stop_sequence = chunk.stop_sequence and chunk.stop_sequence[:DETAIL_BYTES]
        if chunk.error is not None:
            outputs.emit(parser.fail(chunk.error, *_answer_of(chunk)), choice, time, out)

    def _usage(self, chunk: Chunk, choice: Choice, going: Open, record: Record, out: list[Output]) -> None:
        if len(str(chunk.usage)) <= DETAIL_BYTES:
            going.usage = chunk.usage
        else:
            error = Error(code="limit", message=f"usage is larger than {DETAIL_BYTES} bytes; it is left out")
            self._outputs.emit([error], choice, record.timestamp, out)

    # Which choice a chunk is for

    def _admit(
        self,
        message: Message | None,
        choice: Choice | None,
        chunk: Chunk,
        record: Record,
        root: Root | None,
        out: list[Output],
    ) -> Opened | None:
        """The open choice that the chunk goes to, opened if need be; None if the chunk has no effect."""
        unseen = self._unseen(message, choice, chunk, record)
        reserved = message is None and bool(chunk.message_id) and self._opener.reserved(chunk.message_id or "")
        verdict = judge(message, choice, chunk, unseen=unseen, reserved=reserved)
        if message is not None and choice is not None and verdict in (Verdict.APPLY, Verdict.GAP):
            if verdict is Verdict.GAP and not chunk.resumes:
                self._gap(choice, chunk, record, out)
            return message, choice
        if verdict in (Verdict.OPEN, Verdict.RENEW, Verdict.LOSE):
            return self._open(verdict, message, chunk, record, root, out)
        if message is None or verdict is Verdict.ORPHAN:
            self._reject(verdict, chunk, record)
        else:
            self._drop(verdict, message, choice, chunk, record, out)
        return None

    def _unseen(self, message: Message | None, choice: Choice | None, chunk: Chunk, record: Record) -> bool:
        """Whether the chunk may belong to a choice whose opening was not read."""
        if record.offset < self.unseen_until:
            return True
        if not self._missing(record):
            return False
        if message is None or not message.begun:
            return True
        if choice is None and may_go_on(chunk):  # without the message it would be taken for part of a missing one
            self._keep_whole(message, record.offset)
        return False

    def _missing(self, record: Record) -> bool:
        """Whether the record may belong to a missing message."""
        if self.missing.count:
            self.missing = self.missing.behind(record.offset, record.timestamp, self._max_age_ms)
        return self.missing.covers(record.offset)

    def _open(
        self,
        verdict: Verdict,
        message: Message | None,
        chunk: Chunk,
        record: Record,
        root: Root | None,
        out: list[Output],
    ) -> Opened | None:
        previous, message = (message, None) if verdict is Verdict.RENEW else (None, message)
        if message is not None and len(message.choices) >= CHOICES:
            self._check_room(message, chunk, record)
        grammar = self._opener.grammar(chunk, message, record)
        message, choice = self._opener.choice(message, grammar, chunk, record, root)
        if previous is not None:
            if len(previous.choices) > 1:
                self._keep_whole(previous, record.offset)
            self._finish(previous, previous.going_on(), "error", record, out)
        if not message.going_on():
            self.tally.opened.append(record.timestamp)
        message.closed = False
        message.last = record.offset
        if verdict is Verdict.LOSE:
            choice.state, choice.trace_context = Lost(), ()
            self._messages.add(message, choice)
            self._miss(choice, record, out)
            self._drop(Verdict.LOST, message, choice, chunk, record, out)
            return None
        parser = self.parser_of(choice)
        choice.state = Open(parser, self._outputs.states())
        self._messages.add(message, choice)
        self._outputs.emit(parser.start(), choice, record.timestamp, out)
        return message, choice

    def _miss(self, choice: Choice, record: Record, out: list[Output]) -> None:
        """Announce a message that was missing until now. A replay announces nothing before its end."""
        if not self._outputs.silent:
            assert isinstance(choice.state, Lost)
            choice.state.announced = True
            self.missing = self.missing.found(record.offset)
            self._outputs.announce(announcement("state-lost"), choice, record.timestamp, out)

    def _check_room(self, message: Message, chunk: Chunk, record: Record) -> None:
        """Raise `Undecodable` if the choice would be one too many: every chunk searches all known choices.

        A replay with fewer known choices would open it.
        """
        if message.choice(choice_index(chunk)) is None:
            self._keep_whole(message, record.offset)
            raise Undecodable(f"message {message.id!r} has {CHOICES} choices, and no message has more")

    def _gap(self, choice: Choice, chunk: Chunk, record: Record, out: list[Output]) -> None:
        assert chunk.seq is not None  # it jumped
        first, last = choice.position + 1, chunk.seq - 1
        missing = f"chunk {first} is missing" if first == last else f"chunks {first} to {last} are missing"
        self._outputs.emit([Error(code="gap", message=missing)], choice, record.timestamp, out)

    def _reject(self, verdict: Verdict, chunk: Chunk, record: Record) -> None:
        """Raise `Orphan` for a chunk that needs a message but has none; count any other."""
        conversation_of(record.key or b"")
        if verdict is Verdict.ORPHAN:
            which = f"message {chunk.message_id!r}" if chunk.message_id else "the unnamed message"
            raise Orphan(f"{which} is not open, and this chunk can't open it")
        self.tally.dropped[_DROPPED[verdict]] += 1

    def _drop(
        self,
        verdict: Verdict,
        message: Message,
        choice: Choice | None,
        chunk: Chunk,
        record: Record,
        out: list[Output],
    ) -> None:
        """Count a chunk of a known message that makes no events."""
        self.tally.dropped[_DROPPED[verdict]] += 1
        if verdict is Verdict.LATE:
            if opens(chunk) or (chunk.seq and (record.offset < self.unseen_until or self._missing(record))):
                self._keep_late(message, choice, record.offset)
            return
        if choice is not None and isinstance(choice.state, Lost) and (chunk.end is True or chunk.control is not None):
            self._end(message, choice, chunk, record, out)

    def _keep_late(self, message: Message, choice: Choice | None, offset: int) -> None:
        """Forbid replays that start between a message's opening and this late chunk, which would open it again."""
        if not message.named:
            self._keep_whole(message, offset)
        elif choice is not None:
            self._low_water.forbid(choice.opener, offset)
        else:
            self._low_water.forbid(max(choice.opener for choice in message.choices), offset)

    def _keep_whole(self, message: Message, offset: int) -> None:
        """Forbid replays that start in the middle of the message: this record would affect it differently.

        A chunk that ends an unnamed message by its id needs a message with this id; one that opens the next message
        ends all choices of this one.
        """
        self._low_water.forbid(min(choice.root.offset for choice in message.choices), offset)

    # Ends

    def _end(self, message: Message, choice: Choice, chunk: Chunk, record: Record, out: list[Output]) -> None:
        if chunk.control is None:
            reason = choice.state.reason if isinstance(choice.state, Open) else None
            self._finish(message, [choice], reason, record, out)
        else:
            self._finish_early(message, _controlled(message, chunk), chunk, record, out)
        if chunk.control is not None or (chunk.message_id and not message.named):
            self._keep_whole(message, record.offset)

    def _control(self, message: Message | None, chunk: Chunk, record: Record, out: list[Output]) -> None:
        """Apply a record that only ends a message."""
        if message is None:
            self._reject(Verdict.NO_MESSAGE, chunk, record)
            return
        condition = condition_of(record) if chunk.control == "timeout" else None
        last, other = message.last, message.last < record.offset
        stale = condition is not None and other and not condition.holds(message.opened, last)
        if not stale:  # one record may hold several; none may make the others stale
            self._see(message, record)
        choices = _controlled(message, chunk)
        if not choices:
            self.tally.dropped["no-message" if message.going_on() else "late"] += 1
        elif stale:
            self.tally.dropped["stale-timeout"] += 1
        else:
            self._finish_early(message, choices, chunk, record, out)
            cut = condition is not None and condition.cuts(last)
            if cut or (chunk.message_id and not message.named):
                self._keep_whole(message, record.offset)

    # Failures of our own

    def message_of(self, chunk: Chunk, record: Record) -> Message | None:
        """The message that a chunk is for, if there is one; a faulty codec may give an id that is not a string."""
        known = record.key and isinstance(chunk.message_id, str | None)
        return self._messages.find(record.key or b"", chunk.message_id) if known else None

    def end_lost(self, message: Message, chunks: Iterable[Chunk], record: Record) -> None:
        """End those choices of a lost message that these chunks end.

        Otherwise it would swallow the conversation's next one.
        """
        for chunk in chunks:
            if self.message_of(chunk, record) is not message:
                continue
            choice = message.choice(choice_index(chunk))
            if _renews(message, chunk, record):
                self._finish(message, message.going_on(), None, record, [])
            elif choice is not None and (chunk.end is True or chunk.control is not None):
                self._end(message, choice, chunk, record, [])

    def _finish_early(
        self, message: Message, choices: list[Choice], chunk: Chunk, record: Record, out: list[Output]
    ) -> None:
        message.closed = message.closed or not isinstance(chunk.choice, int)
        self._finish(message, choices, "timeout" if chunk.control == "timeout" else "cancelled", record, out)

    def _finish(
        self, message: Message, choices: list[Choice], reason: str | None, record: Record, out: list[Output]
    ) -> None:
        for choice in choices:
            if isinstance(choice.state, Open):
                going = choice.state
                events = going.parser.finish(reason, going.usage, going.stop_sequence)
                if left := len(message.going_on()) - 1:
                    events[-1] = msgspec.structs.replace(events[-1], choices_left=left)
                self._outputs.emit(events, choice, record.timestamp, out)
            self._messages.end(message, choice, record.offset)


def _renews(message: Message, chunk: Chunk, record: Record) -> bool:
    """Whether the chunk opens the next unnamed message, which ends this one: rule 3."""
    opens_next = chunk.open is not None and chunk.seq == 0 and not chunk.message_id
    return opens_next and message.opened < record.offset


def _answer_of(chunk: Chunk) -> tuple[int | UnsetType, str | UnsetType]:
    """Status and body of the provider's answer, where a chunk that reports a failure has them."""
    status, raw = chunk.error_status, chunk.error_raw
    return UNSET if status is None else status, UNSET if raw is None else raw


def _controlled(message: Message, chunk: Chunk) -> list[Choice]:
    """The choices that a `control` ends: the one that it names, or all."""
    return [
        choice for choice in message.going_on() if not isinstance(chunk.choice, int) or choice.index == chunk.choice
    ]
