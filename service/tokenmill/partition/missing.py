"""`Missing`: messages that are open, and of which a replay that began too late has read nothing.

How many there are is known from the commit, which are not. When one goes on, its next chunk looks like one that opens a
message. So a chunk of a message of which nothing was seen, that opens by itself alone, with neither `open` nor `seq` 0,
is taken for one of them: that message is announced as lost, and there is one less to come. At most so many of others
are lost with them, and none once no message from before can be open any more. A call of which nobody has seen the
beginning is never published.
"""

import msgspec


class Missing(msgspec.Struct, array_like=True, frozen=True):
    """How many messages, and which records may be of them. A commit says it, so that a later replay does the same."""

    count: int = 0
    time: int = 0
    """No record with a later timestamp, in milliseconds, is of one. 0: that follows from the next that may be."""
    until: int = 0
    """Below this offset a message whose opening was not seen was taken for one of them."""

    def more(self, count: int, time: int) -> "Missing":
        """So many are missing besides, with the time of those; 0 if nobody knows it."""
        known = self.time if self.count else 0
        return msgspec.structs.replace(self, count=self.count + count, time=max(known, time)) if count else self

    def behind(self, offset: int, timestamp: int, max_age_ms: int) -> "Missing":
        """What is missing yet when a record comes that may be of one; no message is older than `max_age_ms`."""
        time = self.time or timestamp + max_age_ms
        return Missing(self.count, time, self.until) if timestamp <= time else Missing(0, time, offset)

    def found(self, offset: int) -> "Missing":
        """One less: the record there was of it, or of more than were known of."""
        return Missing(max(0, self.count - 1), self.time, offset + 1)

    def covers(self, offset: int) -> bool:
        """Whether the record there may be of one, or might have been of one when it was read first."""
        return self.count > 0 or offset < self.until

    def at(self, offset: int, low_water: int) -> "Missing":
        """What a commit of that offset says; nothing once no replay reaches what was taken for one of them."""
        if self.count:
            return msgspec.structs.replace(self, until=offset)
        return self if low_water < self.until else NONE_MISSING


NONE_MISSING = Missing()
