"""Messages that get no more chunks, and the records that end them.

Time enters through the log: the owner of a partition writes a `control` `timeout`, and it takes effect when it comes
round, unless chunks have come in between. Which messages are idle is found by looking at each a few times in a period,
by the host's clock: records carry their producers' clocks, and those may be wrong or from another year.
"""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from tokenmill.records import Headers
from tokenmill.session.message import Message

LOOKS = 4
"""How often a message is looked at in one period: it is found idle at most a quarter of the period too late."""


class TimeoutControl(NamedTuple):
    """A record for the input topic, for the partition that the message is on."""

    key: bytes
    value: bytes
    headers: Headers


def timeout_control(message: Message) -> TimeoutControl:
    """What ends `message`, if it gets no chunk before.

    An unnamed message is addressed as such: the last offset says which it was, and a replay that did not see its first
    record knows it by another id.
    """
    who = {"message_id": message.id} if message.named else {}
    headers = [("tm-codec", b"native"), ("tm-last-offset", b"%d" % message.last)]
    return TimeoutControl(message.key, msgspec.json.encode(who | {"control": "timeout"}), headers)


class _Look(NamedTuple):
    due: int
    message: Message
    last: int
    """The message's last offset when it was looked at."""
    since: int
    """When that offset was first seen."""


class IdleWatch:
    """Looks at open messages in turn. Times are in milliseconds of one clock that does not go back."""

    def __init__(self) -> None:
        self._new: list[Message] = []
        self._looks: deque[_Look] = deque()

    def add(self, messages: Iterable[Message]) -> None:
        """Watch these from the next call of `overdue` on, those that are open and not watched yet."""
        for message in messages:
            if not message.watched and message.going_on():
                message.watched = True
                self._new.append(message)

    def overdue(self, now: int, timeout: int) -> list[Message]:
        """The messages that got nothing for `timeout`; one that stays idle is named again after another."""
        idle = []
        while self._looks and self._looks[0].due <= now:
            _, message, last, since = self._looks.popleft()
            if not message.going_on():
                message.watched = False
                continue
            if message.last != last:
                since = now
            elif now - since >= timeout:
                idle.append(message)
                since = now
            self._look_again(message, since, now, timeout)
        for message in self._new:
            self._look_again(message, now, now, timeout)
        self._new.clear()
        return idle

    def _look_again(self, message: Message, since: int, now: int, timeout: int) -> None:
        self._looks.append(_Look(now + max(1, timeout // LOOKS), message, message.last, since))
