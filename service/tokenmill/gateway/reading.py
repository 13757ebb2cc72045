"""A client's way from where it wants to begin to the log's head: from the past, then from the window, without a hole.

Where to begin is one of:

- `now`: what comes from here on;
- `start`: everything of the conversation, as far back as `gateway.lookback_s` and `lookback_records` allow;
- `message`: the message that is open, from its first event; without one, what comes;
- a position: what follows the frame of that id. The record that it names is read again, and has to be the one that it
  was: an id of another conversation, or of a log that is gone, is no position of this one.

However it begins, all of it is read that the view has to know: a record whose message began earlier leads there by its
`tm-opened`. What is read for that alone is not shown.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Literal, TypeAlias

import msgspec

from tokenmill.dialects import Dialect
from tokenmill.gateway.entry import Entry
from tokenmill.gateway.past import Past
from tokenmill.gateway.position import Position
from tokenmill.gateway.view import Frame, View
from tokenmill.gateway.window import Window

Start: TypeAlias = Literal["now", "start", "message"] | Position

REPEATS_BEHIND = 1_000
"""Records before a position that are read for what a worker may publish again: those of one commit, in 10 ms."""

REWINDS = 8
"""How often a reading begins again because a message began earlier. Each needs a message that was open across the
beginning of the one before."""

END_OF_RECORD = 1 << 30
"""A part behind all parts of a record."""


class Gone(Exception):
    """The log does not have the position: it is of another conversation, another log, or was deleted by retention."""


class Lookback(msgspec.Struct, frozen=True):
    """How far `start` and `message` look."""

    seconds: float
    records: int


class Reading:
    """One way to the head."""

    def __init__(self, past: Past, window: Window, key: bytes, dialect: Dialect, partition: int) -> None:
        self._past = past
        self._window = window
        self._key = key
        self._dialect = dialect
        self.partition = partition
        self.view = View(dialect, partition)
        self.place = (-1, 0)
        """Frames up to here are not shown: the client has them, or does not want them."""
        self.standing = Position(partition, 0, 0, 0)
        """Where the client stands before it is shown anything: what it resumes at if it is cut off at once."""
        self._offset = 0
        self._check: Position | None = None
        self._muted: frozenset[bytes] = frozenset()
        self._rewinds = 0
        self._whole = False
        """What comes is shown from the conversation's beginning: nothing of earlier can be shown any more."""
        self.gap = False
        """A message's beginning is not there any more: its frames, or some, can't be shown."""

    async def begin(self, start: Start, lookback: Lookback, now_ms: int) -> None:
        """Find where reading has to begin. Raises `Gone` and `Unavailable`."""
        self._whole = start == "start"
        if isinstance(start, Position):
            await self._behind(start)
            self.standing = start
            return
        await self._at_word(start, lookback, now_ms)
        offset, part = self.place
        self.standing = Position(self.partition, offset + 1 if part else self._offset, 0, 0)

    async def _at_word(self, start: Start, lookback: Lookback, now_ms: int) -> None:
        if start == "now":
            self._offset, self.place = self._window.first, (self._window.end - 1, END_OF_RECORD)
            return
        self._offset = await self._oldest(lookback, now_ms)
        if start == "message":
            await self._find_open()

    async def _behind(self, position: Position) -> None:
        if position.offset + bool(position.part) > self._window.end:
            raise Gone
        wanted = position.offset - max(position.back, REPEATS_BEHIND)
        self._offset = self._window.first if wanted >= self._window.first else await self._from(wanted)
        if position.offset < self._offset:
            raise Gone
        self.place, self._check = position.place, position if position.part else None

    async def _from(self, wanted: int) -> int:
        first, _ = await self._past.bounds(self.partition)
        return max(first, wanted)

    async def _oldest(self, lookback: Lookback, now_ms: int) -> int:
        since = await self._past.since(self.partition, now_ms - int(lookback.seconds * 1000))
        if since is None or since >= self._window.first:
            return self._window.first
        return await self._from(max(since, self._window.end - lookback.records))

    async def _find_open(self) -> None:
        """Read up to the head silently; then begin where the oldest message that is open began, and show only those."""
        self.place = (END_OF_RECORD << 30, 0)
        async for _ in self.frames():
            pass
        open_, head = self.view.open_since(), self._offset - 1
        if not open_:
            self.place = (head, END_OF_RECORD)
            return
        self._muted = self.view.messages() - open_.keys()
        self._offset = min(open_.values())
        self.place = (self._offset - 1, END_OF_RECORD)
        self.view = View(self._dialect, self.partition)

    @property
    def answered(self) -> bool:
        """Whether the client had the last frame there is: it came back behind the end of an answer."""
        return bool(self.standing.part) and self.view.idle

    async def go_back(self, place: tuple[int, int], opened: int) -> None:
        """Begin again, for a message that began at this time; what is up to `place` was shown."""
        self.place, self._muted, self._whole, self._rewinds = place, frozenset(), False, 0
        if not await self._rewind(opened, self._window.end):
            self.view = View(self._dialect, self.partition)
            self._go_on_without(self._window.first)

    async def frames(self) -> AsyncGenerator[list[Frame]]:
        """What is to be shown, batch by batch, empty ones too; ends at the head, in the same turn of the event loop.

        Raises `Gone` if the position it began at turns out not to be there, and `Unavailable`.
        """
        while True:
            if self._offset < self._window.first:
                async with aclosing(self._past.batches(self.partition, self._offset, self._key)) as batches:
                    async for came, after in batches:
                        yield await self._show(came, after)
                        if self._offset >= self._window.first:
                            break
            came, after = self._window.of(self._key, self._offset), self._window.end
            if not came:
                self._offset = after
                self._checked(after)
                return
            yield await self._show(came, after)

    async def _show(self, came: Sequence[Entry], after: int) -> list[Frame]:
        """The frames of records; where the view misses a beginning, reading begins there instead."""
        shown: list[Frame] = []
        for entry in came:
            self._checked(entry.offset)
            frames = self.view.take(entry)
            if self.view.missing is not None:
                self._shown(shown)
                if not await self._rewind(self.view.missing, entry.offset):
                    self._go_on_without(entry.offset)
                return shown
            self._confirm(entry, frames)
            shown += [frame for frame in frames if frame.place > self.place and frame.message not in self._muted]
        self._shown(shown)
        self._offset = max(self._offset, after)
        return shown

    def _shown(self, frames: Sequence[Frame]) -> None:
        if frames:
            self.place = frames[-1].place

    async def _rewind(self, opened: int, behind: int) -> bool:
        """Whether there is an earlier place to begin at, for a message of that time that goes on at an offset."""
        self._rewinds += 1
        hopeless = opened < 0 or self._rewinds > REWINDS or (self._whole and self.place[0] >= 0)
        since = None if hopeless else await self._past.since(self.partition, opened)
        if since is None or since >= min(self._offset, behind):
            return False
        self._offset, self.view = since, View(self._dialect, self.partition)
        return True

    def _go_on_without(self, offset: int) -> None:
        self._offset, self.gap = offset, True
        self.view.missing, self.view.lossy = None, True

    def _confirm(self, entry: Entry, frames: Sequence[Frame]) -> None:
        check = self._check
        if check is not None and entry.offset == check.offset and check.part <= len(frames):
            self._check = None

    def _checked(self, offset: int) -> None:
        """Behind its record a position has to be confirmed."""
        if self._check is not None and offset > self._check.offset:
            raise Gone
