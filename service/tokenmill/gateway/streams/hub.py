"""Passes records to clients, by channels: each is a view of a conversation at the log's head and its clients.

1. A frame is rendered and written as bytes once for all clients of a channel: conversation, dialect and framing.
2. A channel lives as long as it has clients. A client that joins brings its own view, which has read what is needed.
   The channel's view has read the same log up to the same place, so the channel keeps the one that remembers more. A
   view that lacks a message's beginning is not shared.
3. Nothing here waits. A client takes bytes into its own bounded buffer, and leaves by itself if it can't.
4. A caller that only wants to know when a message is over watches for that, and costs nothing for each event.
5. A record that can't be rendered ends the streams of its conversation, and of no other.
"""

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from tokenmill.dialects import Dialect
from tokenmill.events import Finish, known_event
from tokenmill.gateway.counts import Counts, SentTotals
from tokenmill.gateway.event_log.entry import Entry
from tokenmill.gateway.event_log.view import Frame, View
from tokenmill.gateway.streams.framing import Framing

log = logging.getLogger(__name__)


class Subject(NamedTuple):
    """What the clients of a channel share."""

    partition: int
    key: bytes
    dialect: Dialect
    framing: Framing
    alone: int = 0
    """A unique number, for a channel of one client's own."""


class Client(Protocol):
    """A client at the head, as its channel uses it."""

    def tell(self, frames: Sequence[Frame], data: bytes) -> None:
        """Take new frames, as bytes of the channel's framing."""

    def send_back(self, opened: int, message: bytes) -> None:
        """Read again from this time, when a message began whose beginning the view may not have read.

        `message` is the one that lacks its beginning, or empty: see `View.misses`.
        """

    def lose(self) -> None:
        """End the stream, as the log lost records or was replaced."""

    def send_home(self) -> None:
        """End the stream, as the process ends."""


class Channel:
    """A view at the head that renders each record once, and the clients that share its frames."""

    __slots__ = ("_sent", "_subject", "_view", "clients")

    def __init__(self, subject: Subject, view: View, sent: SentTotals) -> None:
        self._subject = subject
        self._view = view
        self._sent = sent
        self.clients: set[Client] = set()

    def join(self, view: View, client: Client) -> None:
        """Add a client, which has read up to here with a view of its own."""
        self.clients.add(client)
        if view.knows_more_than(self._view):
            self._view = view

    def open_messages(self) -> list[bytes] | None:
        """Return the open messages whose first event the view has read; None if it has read no message at all."""
        return list(self._view.open_since()) if self._view.messages() else None

    def take(self, entry: Entry) -> bool:
        """Pass a record to all clients; return False if they were sent back, and the channel is over."""
        frames = self._view.take(entry)
        if frames:
            dialect, framing = self._subject.dialect, self._subject.framing
            data = b"".join(framing.frame(dialect, entry.partition, frame) for frame in frames)
            self._sent.add(len(frames), len(data), len(self.clients))
            for client in tuple(self.clients):
                client.tell(frames, data)
        if self._view.missing is None:
            return True
        for client in tuple(self.clients):
            client.send_back(self._view.missing, self._view.misses)
        return False


class Hub:
    """The channels of all conversations that are read; passes new records to them."""

    def __init__(self, counts: Counts | None = None) -> None:
        self._counts = counts or Counts()
        self._channels: dict[tuple[int, bytes], dict[Subject, Channel]] = {}
        self._watched: dict[tuple[bytes, bytes], list[Callable[[], None]]] = {}
        self.closing = False
        """Whether the process ends: no client that comes to the head stays."""

    def watch(self, key: bytes, message: bytes, over: Callable[[], None]) -> None:
        """Call `over` when a message of a conversation is over, with all its choices."""
        self._watched.setdefault((key, message), []).append(over)

    def unwatch(self, key: bytes, message: bytes, over: Callable[[], None]) -> None:
        """Undo a `watch`."""
        watchers = self._watched.get((key, message), [])
        if over in watchers:
            watchers.remove(over)
            if not watchers:
                del self._watched[key, message]

    def close(self) -> int:
        """Send all clients home, and all that come from now on. Returns how many were there."""
        self.closing = True
        clients = self.clients()
        for client in clients:
            client.send_home()
        return len(clients)

    def attach(self, subject: Subject, view: View, client: Client) -> None:
        """Attach a client whose view has reached the head; from now on it gets the new frames."""
        if not view.whole:
            subject = _alone(subject, client)
        channels = self._channels.setdefault((subject.partition, subject.key), {})
        channel = channels.get(subject)
        if channel is None:
            sent = self._counts.sent(subject.dialect.name, subject.framing.name)
            channel = channels[subject] = Channel(subject, view, sent)
        channel.join(view, client)
        if self.closing:
            client.send_home()

    def detach(self, subject: Subject, client: Client) -> None:
        """Detach a client, which may have been detached already."""
        channels = self._channels.get((subject.partition, subject.key), {})
        for place in (subject, _alone(subject, client)):
            channel = channels.get(place)
            if channel is not None and client in channel.clients:
                channel.clients.remove(client)
                if not channel.clients:
                    self._drop(place)

    def _drop(self, subject: Subject) -> None:
        place = subject.partition, subject.key
        self._channels[place].pop(subject, None)
        if not self._channels[place]:
            del self._channels[place]

    def dispatch(self, entries: Sequence[Entry]) -> set[int]:
        """Pass on records that are new at the head of their partition; return the offsets of those with a client."""
        told = set()
        for entry in entries:
            if self._watched and entry.finishes:
                self._finished(entry)
            channels = self._channels.get((entry.partition, entry.key))
            if channels is None:
                continue
            told.add(entry.offset)
            for subject, channel in tuple(channels.items()):
                if not self._taken(channel, entry):
                    self._drop(subject)
        return told

    def _finished(self, entry: Entry) -> None:
        watchers = self._watched.get((entry.key, entry.message))
        if watchers is None:
            return
        event = known_event(entry.value)
        if isinstance(event, Finish) and not event.choices_left:
            for over in tuple(watchers):
                over()

    @staticmethod
    def _taken(channel: Channel, entry: Entry) -> bool:
        try:
            return channel.take(entry)
        except Exception:
            log.exception(
                "the event at partition %d, offset %d can't be rendered; its streams end", entry.partition, entry.offset
            )
            for client in tuple(channel.clients):
                client.lose()
            return False

    def open_messages(self, partition: int, key: bytes) -> list[str] | None:
        """Return the ids of a conversation's open messages; None if they are not known here.

        They are not if no client reads it, or all clients came after its last event: a silent message may be open.
        """
        channels = self._channels.get((partition, key), {}).values()
        known = [found for each in channels if (found := each.open_messages()) is not None]
        open_ = dict.fromkeys(message.decode(errors="replace") for each in known for message in each)
        return list(open_) if known else None

    def clients(self, partition: int | None = None) -> list[Client]:
        """Return all clients that read a partition, or any."""
        found = (channels for (number, _), channels in self._channels.items() if partition in (None, number))
        return [client for channels in found for channel in channels.values() for client in channel.clients]


def _alone(subject: Subject, client: Client) -> Subject:
    return subject._replace(alone=id(client))
