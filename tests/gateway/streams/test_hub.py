"""Channels: rendered once for all who share one, and nobody gets another's frames, or half of one's own."""

from functools import partial

from tests.support.event_log import EventLog, frames_of, of, spoken, woven
from tests.support.pipes import FakePipe, stream_of
from tokenmill.dialects import Dialect, find_dialect
from tokenmill.dialects.native import NATIVE
from tokenmill.gateway.counts import Counts
from tokenmill.gateway.event_log.entry import Entry
from tokenmill.gateway.event_log.view import View
from tokenmill.gateway.streams.framing import LINES, SSE, Framing
from tokenmill.gateway.streams.hub import Hub, Subject
from tokenmill.gateway.streams.stream import Stream

OPENAI = find_dialect("openai")


def subject(key: bytes = b"c", dialect: Dialect = NATIVE, framing: Framing = SSE) -> Subject:
    return Subject(0, key, dialect, framing)


def attached(hub: Hub, to: Subject, read: list[Entry] | None = None, **view: frozenset[object]) -> Stream:
    """A client that has read this, at the head."""
    seen = View(to.dialect, 0, **view)  # type: ignore[arg-type] # sets of attempts
    for entry in read or ():
        seen.take(entry)
    stream = stream_of(FakePipe(), cap=1 << 20)
    hub.attach(to, seen, stream)
    return stream


def written(stream: Stream) -> bytes:
    stream.outbox.flush(0)
    assert isinstance(stream.outbox._pipe, FakePipe)
    return stream.outbox._pipe.taken


async def test_clients_of_a_channel_get_the_same_bytes() -> None:
    """Those of their conversation, dialect and framing, and of no other."""
    log = EventLog([*of("c", spoken("m", "Hello")), *of("d", spoken("m", "No."))])
    hub = Hub()
    subjects = [subject(), subject(), subject(dialect=OPENAI), subject(framing=LINES), subject(b"d")]
    streams = [attached(hub, each) for each in subjects]
    hub.dispatch(log.entries())
    for each, stream in zip(subjects, streams, strict=True):
        frames = frames_of(log.entries(), each.dialect, each.key)
        assert written(stream) == b"".join(each.framing.frame(each.dialect, 0, frame) for frame in frames)
    assert set(hub.clients(0)) == set(streams)
    assert hub.clients(1) == []


async def test_what_is_sent_is_counted_for_each_client() -> None:
    """By dialect and transport."""
    log, counts = EventLog(of("c", spoken("m", "Hello"))), Counts()
    hub = Hub(counts)
    streams = [attached(hub, subject()) for _ in range(2)]
    hub.dispatch(log.entries())
    sent = counts.sent("native", "sse")
    assert (sent.frames, sent.size) == (2 * len(log.entries()), sum(len(written(each)) for each in streams))


async def test_who_leaves_is_told_nothing_more() -> None:
    """It may leave twice; a channel without clients is gone."""
    log, hub = EventLog(of("c", spoken("m", "Hello"))), Hub()
    first, second = attached(hub, subject()), attached(hub, subject())
    hub.detach(subject(), first)
    hub.detach(subject(), first)
    hub.dispatch(log.entries()[:2])
    assert (written(first), written(second) != b"") == (b"", True)
    hub.detach(subject(), second)
    assert (hub.clients(0), hub.dispatch(log.entries()[2:])) == ([], set())


async def test_all_clients_are_sent_back_where_a_beginning_is_missing() -> None:
    """To its time; the channel is over, and a new one begins with who comes back."""
    came, hub = EventLog(of("c", spoken("m", "Hello"))).entries(), Hub()
    streams = [attached(hub, subject(dialect=OPENAI)) for _ in range(2)]
    hub.dispatch(came[2:])
    assert [(await each.over, each.opened, each.missing) for each in streams] == [("back", came[0].opened, b"m")] * 2
    assert hub.clients(0) == []
    again = attached(hub, subject(dialect=OPENAI), came[:2])
    hub.dispatch(came[2:])
    assert written(again) != b""


async def test_the_view_that_remembers_more_is_the_channel_s() -> None:
    """Else a message that a worker publishes again would come twice to those who have it."""
    log, hub = EventLog(of("c", spoken("m", "Hello"))), Hub()
    came = log.entries()
    new, knowing = attached(hub, subject()), attached(hub, subject(), came)
    log.repeat(0)
    hub.dispatch(log.entries(len(came) * 2))
    assert written(knowing) == b""
    assert written(new) == b""


async def test_a_view_without_a_message_s_beginning_is_nobody_else_s() -> None:
    """Who has read the beginning gets the rest of it, whoever was there first."""
    came, hub = EventLog(of("c", spoken("m", "Hello"))).entries(), Hub()
    to = subject(dialect=OPENAI)
    lossy = attached(hub, to, came[1:2], given_up=frozenset({(b"m", b"0", came[0].opened)}))
    whole = attached(hub, to, came[:2])
    hub.dispatch(came[2:])
    frames = [frame for frame in frames_of(came, OPENAI) if frame.offset >= came[2].offset]
    assert written(whole) == b"".join(SSE.frame(OPENAI, 0, frame) for frame in frames)
    assert b"data:" not in written(lossy)
    hub.detach(to, lossy)
    hub.detach(to, whole)
    assert hub.clients(0) == []


async def test_a_record_that_can_not_be_rendered_ends_its_channel_alone() -> None:
    """What nobody foresaw is a matter of one conversation."""
    log = EventLog([*of("c", spoken("m", "Hello")), *of("d", spoken("m", "Hello"))])
    hub, streams = Hub(), list[Stream]()
    for key in (b"c", b"d"):
        streams.append(attached(hub, subject(key, OPENAI)))
    (broken,) = hub._channels[0, b"c"].values()
    broken._view._renderer = None
    broken._view._known = None  # type: ignore[assignment] # broken on purpose
    hub.dispatch(log.entries())
    assert await streams[0].over == "lost"
    assert written(streams[1]).count(b"data:") > 1


async def test_who_is_at_the_head_is_sent_home_when_the_process_ends() -> None:
    """And who comes there later, with its place."""
    hub = Hub()
    streams = [attached(hub, subject()), attached(hub, subject(b"d")), attached(hub, subject(dialect=OPENAI))]
    assert hub.close() == 3
    streams.append(attached(hub, subject()))
    assert [stream.over.result() for stream in streams] == ["drained"] * 4


async def test_what_is_open_is_known_once_something_was_read() -> None:
    """Who came behind the last event can't tell a silent message from none."""
    log, hub = EventLog(of("c", spoken("m", "Hello"))), Hub()
    assert hub.open_messages(0, b"c") is None
    attached(hub, subject())
    assert hub.open_messages(0, b"c") is None
    hub.dispatch(log.entries()[:2])
    assert hub.open_messages(0, b"c") == ["m"]
    hub.dispatch(log.entries()[2:])
    assert hub.open_messages(0, b"c") == []


async def test_what_any_channel_knows_to_be_open_is_open() -> None:
    """One that began after a silent message's events knows others alone."""
    came = EventLog([*of("c", spoken("silent", "Hello")[:-1]), *of("c", spoken("over", "Hi."))]).entries()
    over = [entry for entry in came if entry.message == b"over"]
    hub = Hub()
    for dialect, read in ((NATIVE, over), (OPENAI, came)):
        attached(hub, subject(dialect=dialect), read)
    assert hub.open_messages(0, b"c") == ["silent"]


async def test_who_watches_a_message_is_told_of_its_end() -> None:
    """Once all its choices are over; of no other message, and no more once it looks away."""
    hub, told = Hub(), list[str]()

    def left() -> None:
        told.append("left")

    for key, message in ((b"c", b"m"), (b"c", b"n"), (b"d", b"m")):
        hub.watch(key, message, partial(told.append, f"{key.decode()}/{message.decode()}"))
    hub.watch(b"c", b"m", left)
    hub.unwatch(b"c", b"m", left)
    hub.unwatch(b"c", b"m", left)
    came = EventLog(woven(of("c", spoken("m", "Hi.", choice=1)), of("c", spoken("m", "Hello")))).entries()
    hub.dispatch(came[:-1])
    assert told == []
    hub.dispatch(came[-1:])
    assert told == ["c/m"]
