"""A client's way from where it wants to begin to the log's head: from the past, then from the window, without a hole.

Where to begin is one of:

- `now`: the records that come from here on;
- `start`: everything of the conversation, as far back as `gateway.lookback_s` and `lookback_records` allow;
- a time: the same from then on;
- `message`: the open message, from its first event; if there is none, the records to come;
- a position: what follows the frame of that id. The record that it names is read first, and has to be the same event:
  an id of another conversation, or of a log that is gone, is not a position in this one. The frame's number determines
  what is left of the record: nothing if another dialect makes fewer frames of it.

Wherever it begins, everything that the view needs is read: a record whose message began earlier leads back there by its
`tm-opened`, and so does one that a worker may have published again. Records that are read only for that are not shown.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from tokenmill.dialects import Dialect
from tokenmill.dialects.native import NATIVE
from tokenmill.gateway.event_log.conversation import Conversation
from tokenmill.gateway.event_log.entry import Entry
from tokenmill.gateway.event_log.log_readers import TURN_S, ClientLogReader, DeletedByRetention
from tokenmill.gateway.event_log.position import Position
from tokenmill.gateway.event_log.view import Frame, View
from tokenmill.gateway.event_log.window import Window


class Since(NamedTuple):
    """A time at or before the first record that is wanted, in milliseconds since the epoch."""

    time_ms: int


Start: TypeAlias = Literal["now", "start", "message"] | Position | Since

REPEATS_BEHIND = 1_000
"""Records before a position that are read because a worker may publish them again: those of one commit, in 10 ms. The
view notices repeats from further back."""

REWINDS = 8
"""Number of times that a reading begins again because a message began earlier. Each time takes a message that was open
where the one before began."""

RESTS = 4
"""Rest after a turn that found nothing, as a multiple of its time, on a way that is longer than that of `start` may be:
a position may be made up, and lead through everything that the log keeps."""

END_OF_RECORD = 1 << 30
"""A part after all parts of a record."""


class Gone(Exception):
    """The log does not have the position: it is of another conversation, another log, or was deleted by retention."""


class Lookback(msgspec.Struct, frozen=True):
    """How far back `start` and `message` look."""

    seconds: float
    records: int


class Reading:
    """Reads one client's way to the head, and makes frames of what it reads."""

    __slots__ = (
        "_began",
        "_check",
        "_dialect",
        "_from_now",
        "_message",
        "_muted",
        "_offset",
        "_records",
        "_rewinds",
        "_showing",
        "_unrested",
        "_whole",
        "found",
        "gap",
        "key",
        "partition",
        "place",
        "standing",
        "view",
    )

    def __init__(
        self,
        reader: ClientLogReader,
        window: Window,
        key: bytes,
        dialect: Dialect,
        partition: int,
        message: bytes = b"",
    ) -> None:
        """`message` is the only one that is wanted; empty: all."""
        self._message = message
        self._records = Conversation(reader, window, key, partition)
        self.key = key
        self._dialect = dialect
        self.partition = partition
        self.view = View(dialect, partition)
        self.place = (-1, 0)
        """Frames up to here are not shown: the client has them, or does not want them."""
        self.standing = Position(partition, 0, 0, 0)
        """The client's place: it resumes here if it is cut off now."""
        self.found: tuple[bytes, ...] = ()
        """With `message`: ids of the open messages, in the order of their beginnings."""
        self._offset = 0
        self._began = 0
        """The offset at which the view began to read."""
        self._unrested = 0
        """Records that are read without a rest."""
        self._showing = False
        """Whether any frame was shown."""
        self._check: Position | None = None
        """The position after which it began, until the record there was taken."""
        self._muted: frozenset[bytes] = frozenset()
        self._rewinds = 0
        self._from_now = False
        self._whole = False
        """Whether messages are to be shown from their beginning on."""
        self.gap = False
        """Whether part of a wanted message is gone from the log, so that some of its frames, or all, can't be shown."""

    async def begin(self, start: Start, lookback: Lookback, now_ms: int) -> None:
        """Find where reading has to begin. Raises `Gone` and `Unavailable`."""
        self._unrested = lookback.records
        self._from_now = start == "now"
        self._whole = start == "start" or isinstance(start, Since)
        if isinstance(start, Position):
            # A made-up distance may not cost more than `start`; a true one that is larger is found by `tm-opened`.
            await self._behind(start._replace(back=min(start.back, lookback.records)))
            self.standing = start
            return
        await self._at_word(start, lookback, now_ms)
        offset, part = self.place
        self.standing = Position(self.partition, offset + 1 if part else self._offset, 0, 0)

    def _begin_at(self, offset: int) -> None:
        self._offset = self._began = offset
        self.view = View(self._dialect, self.partition, self.view.given_up)

    async def _at_word(self, start: Start, lookback: Lookback, now_ms: int) -> None:
        if start == "now":
            self.place = (self._records.end - 1, END_OF_RECORD)
            self._begin_at(self._records.kept_from)
            return
        if isinstance(start, Since):
            since = await self._records.since(start.time_ms)
            self._begin_at(self._records.kept_from if since is None else await self._records.there(since))
            return
        self._begin_at(await self._oldest(lookback, now_ms))
        if start == "message":
            await self._find_open()

    async def _behind(self, position: Position) -> None:
        await self._is_there(position)
        self._begin_at(await self._records.there(position.offset - max(position.back, REPEATS_BEHIND)))
        if position.offset < self._offset:
            raise Gone
        self.place, self._check = position.place, position if position.part else None

    async def _is_there(self, position: Position) -> None:
        """Raise `Gone` unless the log has this conversation's record there. Our reader may not have come to it yet."""
        if await self._records.ends_before(position.offset + bool(position.part)):
            raise Gone
        if position.part:
            entry = await self._records.at(position.offset)
            if entry is None or position.mark not in (0, entry.mark):
                raise Gone

    async def _oldest(self, lookback: Lookback, now_ms: int) -> int:
        since = await self._records.since(now_ms - int(lookback.seconds * 1000))
        if since is None:
            return self._records.kept_from
        return await self._records.there(max(since, self._records.end - lookback.records))

    async def _find_open(self) -> None:
        """Read up to the head silently; then begin where the oldest open message began, and show only open ones."""
        self.place = (END_OF_RECORD << 30, 0)
        async for _ in self.frames():
            pass
        open_, head = self.view.open_since(), self._offset - 1
        if not open_:
            self.place = (head, END_OF_RECORD)
            return
        self.found = tuple(sorted(open_, key=open_.__getitem__))
        self._muted = self.view.messages() - open_.keys()
        start = min(open_.values())
        self.place = (start - 1, END_OF_RECORD)
        self._begin_at(max(self._began, start - REPEATS_BEHIND))

    def latest_open(self) -> tuple[bytes, Position] | None:
        """Return the open message that began last, and the place before it; None if none is open at the head."""
        open_ = self.view.open_since()
        if not open_:
            return None
        message = max(open_, key=open_.__getitem__)
        return message, Position(self.partition, open_[message], 0, 0)

    @property
    def from_window(self) -> bool:
        """Whether it began in the window, without reading the log."""
        return self._began >= self._records.kept_from

    @property
    def answered(self) -> bool:
        """Whether the client had the last frame there is: it came back after the end of an answer."""
        return self._had_an_end and self.view.idle

    @property
    def _had_an_end(self) -> bool:
        """Whether the client may stand after the end of an answer."""
        return bool(self.standing.part or self.standing.back)

    def has_all(self, message: bytes) -> bool:
        """Whether a client that was shown nothing up to the head has the end of this message; if empty, of the answer.

        If a client was led on, reading begins after that end.
        """
        if not message:
            return self.answered
        led_on = self._had_an_end and not self.standing.part
        return message in self.view.ended() or (led_on and not self.view.knows(message))

    def led_on(self) -> Position:
        """Return the head, for a client that has everything: from there, its next return needs no long search."""
        return Position(self.partition, self._offset, 0, 1)

    @property
    def reader(self) -> ClientLogReader:
        """The client's reader of the log."""
        return self._records.reader

    @property
    def lost(self) -> bool:
        """Whether the log has been replaced by another one."""
        return self._records.lost

    async def come_to_end(self) -> None:
        """Wait until everything that the log has of the conversation now can be read. Raises `Unavailable`."""
        await self._records.come_to_end()

    async def go_back(self, place: tuple[int, int], opened: int, message: bytes) -> None:
        """Begin again, for a message that began at this time; everything up to `place` was shown.

        `message` is the one that lacks its beginning, or empty.
        """
        self.place, self._muted, self._rewinds, self._began = place, frozenset(), 0, self._records.end
        self._lacks_beginning(message)
        if not await self._rewind(opened):
            self._begin_at(await self._records.there(place[0] - REPEATS_BEHIND))

    @property
    def _soon(self) -> int | None:
        """The offset after which the first frame to show lies; None once a frame was shown."""
        return None if self._showing else self.place[0]

    async def frames(self) -> AsyncGenerator[list[Frame]]:
        """Yield the frames to show, in batches that may be empty. Ends at the head, in the same turn of the loop.

        Raises `Unavailable`.
        """
        if self._from_now:  # a full window has moved on since; the records that it lost are not wanted
            self._from_now = False
            if self._offset < (kept := min(self._records.kept_from, self.place[0] + 1)):
                self._begin_at(kept)
        while True:
            while self._offset < self._records.kept_from:
                began = time.monotonic()
                shown = await self._before_window()
                took_s = time.monotonic() - began
                yield shown
                if not shown and self._offset - self._began > self._unrested:
                    await asyncio.sleep(RESTS * min(took_s, TURN_S))  # it may have waited for its turn
            came, after = self._records.in_window(self._offset, self._soon)
            if not came:
                self._offset = max(self._offset, after)
                return
            yield await self._show(came, after)
            if after < self._records.end:
                await asyncio.sleep(0)  # a client that takes much without waiting has to give others a turn

    async def _before_window(self) -> list[Frame]:
        """Return the frames to show of the next past records, unless retention has deleted them."""
        try:
            return await self._show(*await self._records.before_window(self._offset, self._soon))
        except DeletedByRetention as passed:
            ended = self._message and self._message in self.view.ended()
            self.gap |= passed.first > self.place[0] + 1 and not ended
            self._begin_at(passed.first)  # open messages may have lost their end
            return []

    async def _show(self, came: Sequence[Entry], after: int) -> list[Frame]:
        """Return the frames of records. Reading continues after them, or elsewhere if the view misses a beginning."""
        shown: list[Frame] = []
        view, before = self.view, self.place[0]
        for entry in came:
            if entry.offset < before:
                view.pass_by(entry)
            else:
                frames = view.take(entry)
                self.gap |= view.jumped and self._message in (b"", entry.message)
                if view.missing is None and not self._goes_on(entry):
                    return []
                shown += [frame for frame in frames if frame.place > self.place and frame.message not in self._muted]
            if view.missing is not None:
                self._shown(shown)
                await self._without_beginning(view.missing, entry.offset)
                return shown
        self._shown(shown)
        self._offset = max(self._offset, after)
        return shown

    def _shown(self, frames: Sequence[Frame]) -> None:
        if frames:
            self._showing, self.place = True, frames[-1].place

    async def _without_beginning(self, opened: int, offset: int) -> None:
        """Begin again earlier, or give up the beginning: a record came whose message began before the view did, or may
        have.
        """
        message = self.view.misses
        if await self._rewind(opened):
            self._lacks_beginning(message)
            return
        self.view.give_up()
        self._offset = offset
        needed = self._whole or self._dialect is not NATIVE  # which needs no state to continue
        self.gap |= needed and self._wants(message)

    def _wants(self, message: bytes) -> bool:
        """Whether a message is to be shown: two answers may be under way at the same time. False for none."""
        return bool(message) and self._message in (b"", message)

    def _lacks_beginning(self, message: bytes) -> None:
        """Note that a message began before the last shown frame: if it was to be shown whole, it no longer can be."""
        self.gap |= self._wants(message) and self._whole and self.place[0] >= 0

    async def _rewind(self, opened: int) -> bool:
        """Begin at an earlier place, for a message that began at that time; return whether there is one."""
        self._rewinds += 1
        hopeless = opened < 0 or self._rewinds > REWINDS
        since = None if hopeless else await self._records.since(opened)
        if since is None or since >= self._began:
            return False
        behind = since if self.place[0] < 0 else min(since, self.place[0] - REPEATS_BEHIND)
        self._begin_at(await self._records.there(behind))
        return True

    def _goes_on(self, entry: Entry) -> bool:
        """Whether to continue after a record. If the position names a repeat, reading begins again after the original.

        A client that has the id of a repeat did not get the original: it began to read between the two.
        """
        check = self._check
        if check is None or entry.offset != check.offset:
            return True
        if self.view.repeated and self._began < check.offset - check.back:
            self._begin_at(check.offset - check.back)
            return False
        self._check = None
        return True
