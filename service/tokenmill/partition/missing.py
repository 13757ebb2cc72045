"""`Missing`: open messages of which a replay that began too late has read nothing.

The commit states how many there are, but not which. When one continues, its next chunk looks like one that opens a
message. So a chunk of an unknown message that would open it, but has neither `open` nor `seq` 0, is taken for part of
a missing one: that message is announced as lost, and the count goes down by one. At most that many other messages are
lost by mistake, and none once no earlier message can still be open. A call whose beginning was not seen is never
published.
"""

import msgspec


class Missing(msgspec.Struct, array_like=True, frozen=True):
    """Number of missing messages, and which records may be theirs. Commits hold it, so later replays do the same."""

    count: int = 0
    time: int = 0
    """Latest timestamp, in milliseconds, of a record that may be theirs. 0: set by the next record that may be."""
    until: int = 0
    """Messages below this offset whose opening was not seen were taken for one of them."""

    def more(self, count: int, time: int) -> "Missing":
        """Add `count` missing messages with the latest time of their records, 0 if unknown."""
        known = self.time if self.count else 0
        return msgspec.structs.replace(self, count=self.count + count, time=max(known, time)) if count else self

    def behind(self, offset: int, timestamp: int, max_age_ms: int) -> "Missing":
        """What is still missing when a record arrives that may belong to one; no message is older than `max_age_ms`."""
        time = self.time or timestamp + max_age_ms
        return Missing(self.count, time, self.until) if timestamp <= time else Missing(0, time, offset)

    def found(self, offset: int) -> "Missing":
        """Count one less: the record at `offset` was taken for one of them, even if none was left."""
        return Missing(max(0, self.count - 1), self.time, offset + 1)

    def covers(self, offset: int) -> bool:
        """Whether the record at `offset` may belong to one, or might have when it was first read."""
        return self.count > 0 or offset < self.until

    def at(self, offset: int, low_water: int) -> "Missing":
        """What a commit of that offset holds; nothing once no replay reaches what was taken for one of them."""
        if self.count:
            return msgspec.structs.replace(self, until=offset)
        return self if low_water < self.until else NONE_MISSING


NONE_MISSING = Missing()
