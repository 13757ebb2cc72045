"""Messages and streams that get no more records, or have got them for too long."""

import msgspec
import pytest

from tests.partition.logs import SETTINGS, log, partition, record, run, types
from tokenmill.errors import Undecodable
from tokenmill.partition import Partition, TimeoutControl
from tokenmill.partition.idle import Condition, IdleWatch, condition_of
from tokenmill.records import InputRecord

TIMEOUT = 1_000


class Thing:
    """What may become idle."""

    last, watched, ended = 0, False, False

    def going_on(self) -> bool:
        """Whether it has not ended."""
        return not self.ended


def ends(state: Partition, now: int) -> list[dict[str, object]]:
    """The chunks of the records that `idle` asks for."""
    return [msgspec.json.decode(control.value or b"") for control in state.idle(now, TIMEOUT)]


def test_a_message_without_chunks_for_the_time_is_named() -> None:
    """Not before, and at most a quarter of the time later."""
    state = partition({"message_id": "m", "delta": "a"})
    assert [ends(state, now) for now in range(0, TIMEOUT, 50)] == [[]] * 20
    assert ends(state, TIMEOUT + TIMEOUT // 4) == [{"message_id": "m", "control": "timeout"}]


def test_the_control_ends_the_message_when_it_comes_round() -> None:
    """As a record of the input topic it is read like any other."""
    state = partition({"message_id": "m", "delta": "a"}, {"delta": "b"})
    state.idle(0, TIMEOUT)
    controls = state.idle(TIMEOUT, TIMEOUT)
    assert [control.key for control in controls] == [b"c", b"c"]
    for offset, control in enumerate(controls, 2):
        headers = {name.replace("-", "_"): value.decode() for name, value in control.headers}
        out = run(state, [record(offset, control.value, control.key, **headers)])
        assert b'"reason":"timeout"' in (out[-1].value or b"")
    assert state.open_messages == 0


def test_chunks_that_come_in_between_make_it_stale() -> None:
    """The control names the last record."""
    state = partition({"message_id": "m", "delta": "a"})
    state.idle(0, TIMEOUT)
    (control,) = state.idle(TIMEOUT, TIMEOUT)
    assert dict(control.headers) == {"tm-codec": b"native", "tm-last-offset": b"0"}
    headers = {name.replace("-", "_"): value.decode() for name, value in control.headers}
    run(state, [record(1, {"message_id": "m", "delta": "b"}), record(2, control.value, control.key, **headers)])
    assert (state.open_messages, state.tally.dropped) == (1, {"stale-timeout": 1})


def test_a_stale_timeout_is_no_chunk() -> None:
    """Two streams feed one message: the end of the one that lags must not keep the message open."""
    state = partition()
    bedrock = {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Let me"}}}
    parts = {"type": "text-delta", "id": "t", "delta": " look."}
    run(state, [record(0, bedrock, tm_codec="bedrock"), record(1, parts, tm_codec="ai_sdk_parts")])
    state.idle(0, TIMEOUT)
    for offset, control in enumerate(state.idle(TIMEOUT, TIMEOUT), 2):
        come_round(state, offset, control)
    assert (state.open_messages, state.tally.dropped["stale-timeout"]) == (0, 1)


def test_an_unnamed_message_is_addressed_as_such() -> None:
    """A replay that did not see its first record knows it by another id."""
    state = partition({"delta": "a"})
    state.idle(0, TIMEOUT)
    assert ends(state, TIMEOUT) == [{"control": "timeout"}]


def test_a_message_that_gets_chunks_is_left_alone() -> None:
    """However long it takes altogether."""
    state = partition({"message_id": "m", "delta": "a"})
    for step in range(20):
        assert ends(state, step * TIMEOUT // 2) == []
        run(state, log({"message_id": "m", "delta": "b"}, start=step + 1))


def test_a_control_that_got_lost_is_asked_for_again() -> None:
    """Once in the time, not at every look."""
    state = partition({"message_id": "m", "delta": "a"})
    asked = [now for now in range(0, 5 * TIMEOUT, 10) if state.idle(now, TIMEOUT)]
    assert asked == [TIMEOUT, 2 * TIMEOUT, 3 * TIMEOUT, 4 * TIMEOUT]


def test_a_stream_without_an_end_holds_nothing_for_ever() -> None:
    """Its message was cancelled, and the producer stopped: what the codec remembers is ended by the log, too."""
    state = partition()
    said = {"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {"content": "Hi"}}]}
    run(state, [record(0, said, tm_codec="openai"), record(1, {"message_id": "chatcmpl-1", "control": "cancel"})])
    run(state, [record(200, {"usage": {}}, b"d")])
    assert (state.open_messages, state.mark().low_water) == (0, 0)
    state.idle(0, TIMEOUT)
    (control,) = state.idle(TIMEOUT, TIMEOUT)
    headers = {name.replace("-", "_"): value.decode() for name, value in control.headers}
    assert headers == {"tm_codec": "openai", "tm_last_offset": "0"}
    assert run(state, [record(201, control.value, control.key, **headers)]) == []
    assert state.mark().low_water == 202
    assert state.idle(3 * TIMEOUT, TIMEOUT) == []


def test_a_message_and_its_stream_end_once() -> None:
    """Whichever record comes first; the other has no effect, and the reason is the same."""
    said = {"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {"content": "Hi"}}]}
    for order in (1, -1):
        state = partition()
        run(state, [record(0, said, tm_codec="openai")])
        state.idle(0, TIMEOUT)
        controls = state.idle(TIMEOUT, TIMEOUT)
        assert len(controls) == 2
        out = []
        for offset, control in enumerate(controls[::order], 1):
            headers = {name.replace("-", "_"): value.decode() for name, value in control.headers}
            out += run(state, [record(offset, control.value, control.key, **headers)])
        assert types(out) == ["text-end", "finish"]
        assert b'"reason":"timeout"' in (out[-1].value or b"")
        assert state.tally.dropped == {"late": 1}
        assert all(not name.startswith(b"k") for name in state.changes(full=True).changed)


def test_half_an_event_opens_nothing_when_its_stream_ends() -> None:
    """The producer died in the middle of it: the message ends by the time-out, and that is all."""
    state = partition()
    torn = b'data: {"contentBlockDelta":{"delta":{"text":"a"}}}\n\ndata: {"contentBl'
    run(state, [record(0, torn, tm_codec="sse+bedrock")])
    state.idle(0, TIMEOUT)
    out = []
    for offset, control in enumerate(state.idle(TIMEOUT, TIMEOUT), 1):
        headers = {name.replace("-", "_"): value.decode() for name, value in control.headers}
        out += run(state, [record(offset, control.value, control.key, **headers)])
    assert types(out) == ["text-end", "finish"]
    assert state.open_messages == 0


def test_messages_that_ended_are_not_named() -> None:
    """Neither those nor their memory stay in the watch."""
    state = partition({"message_id": "m", "delta": "a"})
    state.idle(0, TIMEOUT)
    run(state, log({"message_id": "m", "end": True}, start=1))
    assert [ends(state, now) for now in (TIMEOUT, 2 * TIMEOUT)] == [[], []]
    assert state._watch is not None
    assert len(state._watch._looks) == 0


def test_messages_that_came_and_went_take_no_memory_until_their_look() -> None:
    """A worker sees a thousand a second, and a look is due after minutes: only open ones may fill the watch."""
    state = partition({"message_id": "open", "delta": "a"})
    for now in range(50):
        names = [f"m{now}-{number}" for number in range(100)]
        run(state, log(*({"message_id": name, "delta": "a"} for name in names), start=state.offset))
        state.idle(now, 1_000_000)
        run(state, log(*({"message_id": name, "end": True} for name in names), start=state.offset))
        state.idle(now, 1_000_000)
    assert state._watch is not None
    assert len(state._watch._looks) < 1_500
    assert [ends(state, now) for now in (TIMEOUT, 2 * TIMEOUT)] == [[], []]
    assert [msgspec.json.decode(control.value or b"") for control in state.idle(2_000_000, 1_000_000)] == [
        {"message_id": "open", "control": "timeout"}
    ]


def test_a_time_with_many_open_ones_is_over_when_they_have_ended() -> None:
    """Those that come and go later are not kept, although there are fewer of them than there were open ones."""
    watch, things = IdleWatch[Thing](), [Thing() for _ in range(20_000)]
    for now in range(0, 4 * TIMEOUT, 10):
        watch.add(things)
        watch.overdue(now, 4 * TIMEOUT)
        for thing in things:
            thing.ended = True
        things = [Thing() for _ in range(100)]
    assert len(watch._looks) < 1_500


def test_an_id_that_is_used_again_is_watched_again() -> None:
    """The message is the same object to the index."""
    state = partition({"message_id": "m", "delta": "a"}, {"message_id": "m", "end": True})
    state.idle(0, TIMEOUT)
    run(state, log({"message_id": "m", "open": {}}, start=2))
    assert ends(state, 1) == []
    assert ends(state, 1 + TIMEOUT) == [{"message_id": "m", "control": "timeout"}]


@pytest.mark.parametrize("others", [0, 2_000])
def test_what_goes_on_after_its_end_was_seen_is_watched_again(others: int) -> None:
    """Also where the looks at what has ended were dropped, as there were so many."""
    watch, thing = IdleWatch[Thing](), Thing()
    watch.add([thing])
    watch.overdue(0, TIMEOUT)
    thing.ended = True
    watch.add([Thing() for _ in range(others)])
    watch.overdue(1 if others else TIMEOUT, TIMEOUT)
    thing.ended = False
    watch.add([thing])
    watch.overdue(TIMEOUT, TIMEOUT)
    assert thing in watch.overdue(2 * TIMEOUT + 1, TIMEOUT)


def test_the_longest_idle_come_first() -> None:
    """When memory runs short, those go whose last chunk is the oldest."""
    state = partition(
        {"message_id": "a", "delta": "x"},
        {"message_id": "b", "delta": "x"},
        {"message_id": "d", "delta": "x"},
        {"message_id": "a", "delta": "x"},
    )
    named = [msgspec.json.decode(control.value or b"")["message_id"] for control in state.longest_idle(2)]
    assert named == ["b", "d"]


def test_streams_are_idle_like_messages() -> None:
    """What a codec remembers takes memory, too, and may be of no message yet."""
    state = partition({"message_id": "a", "delta": "x"}, {"message_id": "b", "delta": "x"})
    run(state, [record(2, b'data: {"message_id": "m", "del', b"k", tm_codec="sse+native")])
    run(state, log({"message_id": "a", "delta": "x"}, start=3))
    assert state.open_streams == 1
    kinds = [dict(control.headers)["tm-codec"] for control in state.longest_idle(2)]
    assert kinds == [b"native", b"sse+native"]
    run(
        state,
        [
            record(4, None, b"k", **{name.replace("-", "_"): value.decode() for name, value in control.headers})
            for control in state.longest_idle(2)[1:]
        ],
    )
    assert state.open_streams == 0


def come_round(state: Partition, offset: int, control: TimeoutControl) -> list[str]:
    """The types of the events when the record is read at that offset."""
    headers = {name.replace("-", "_"): value.decode() for name, value in control.headers}
    return types(run(state, [record(offset, control.value, control.key, **headers)]))


def test_what_is_too_old_ends_though_it_still_gets_chunks() -> None:
    """The control holds the offset up to which its writer had read; the message was open there, so it is meant."""
    state = partition({"message_id": "old", "delta": "a"}, {"message_id": "new", "delta": "a"})
    run(state, log({"message_id": "old", "delta": "b"}, start=2))
    (control,) = state.opened_before(1)
    assert dict(control.headers) == {"tm-codec": b"native", "tm-opened-before": b"3"}
    run(state, log({"message_id": "old", "delta": "c"}, start=3))
    assert come_round(state, 4, control) == ["text-end", "finish"]
    assert [message.id for message in state._messages if message.going_on()] == ["new"]
    assert state.opened_before(1) == []


def test_a_young_stream_outlives_the_old_ones() -> None:
    """The control of each would end it, as it was open when that was written."""
    state = partition()
    said: dict[str, object] = {"choices": [{"index": 0, "delta": {"content": "Hi"}}]}
    run(state, [record(offset, said | {"id": f"m{offset}"}, b"%d" % offset, tm_codec="openai") for offset in range(3)])
    assert [control.key for control in state.opened_before(2)] == [b"0", b"1"] * 2


def test_age_means_what_was_open_then() -> None:
    """Its name may be another message's by the time the record comes round."""
    for again in ({"message_id": "m", "open": {}, "delta": "b"}, {"delta": "b"}):
        named = {"message_id": "m"} if "message_id" in again else {}
        state = partition(named | {"delta": "a"})
        (control,) = state.opened_before(1)
        run(state, log(named | {"end": True}, again, start=1))
        assert come_round(state, 3, control) == []
        assert (state.open_messages, state.tally.dropped) == (1, {"stale-timeout": 1})


def test_the_end_of_an_old_message_lets_the_low_water_mark_go() -> None:
    """Once its end is forgotten; before, and where a replay would take a late chunk for an opening, it stays."""
    state = partition({"message_id": "old", "delta": "a"}, *[{"message_id": "m", "delta": "b"}] * 9)
    (control,) = state.opened_before(1)
    run(state, log({"message_id": "old", "delta": "c"}, start=10))
    assert come_round(state, 11, control) == ["text-end", "finish"]
    run(state, log({"message_id": "m", "end": True}, start=12))
    assert state.mark().low_water == 0
    run(state, log({"message_id": "n", "delta": "x"}, start=11 + SETTINGS.ended_offsets + 5))
    assert state.mark().low_water == 11 + SETTINGS.ended_offsets + 5


@pytest.mark.parametrize("codec", ["native", "openai"])
def test_no_replay_begins_among_the_last_chunks_of_what_was_too_old(codec: str) -> None:
    """They came after the writer had looked: a replay would take one for an opening, and the record for another's."""
    said: dict[str, object] = {"message_id": "m", "delta": "a"}
    if codec == "openai":
        said = {"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {"content": "Hi"}}]}
    state = partition()
    run(state, [record(0, said, tm_codec=codec)])
    controls = state.opened_before(1)
    records = [record(1, {"message_id": "n", "delta": "a"}, b"d"), record(2, said, tm_codec=codec)]
    for offset, control in enumerate(controls, 3):
        headers = {name.replace("-", "_"): value.decode() for name, value in control.headers}
        records.append(record(offset, control.value, control.key, **headers))
    records.append(record(3 + len(controls) + SETTINGS.ended_offsets, {"message_id": "n", "delta": "b"}, b"d"))
    run(state, records)
    mark = state.mark()
    again = Partition(SETTINGS, "tokens", 0, mark.low_water)
    again.begin_replay(mark, lossy=False)
    run(again, [each for each in [record(0, said, tm_codec=codec), *records] if each.offset >= mark.low_water])
    assert again.end_replay([]).agrees
    assert again.changes(full=True).changed == state.changes(full=True).changed


def test_an_old_stream_ends_with_what_is_open_in_it() -> None:
    """Nobody ever ends it, and records keep coming."""
    state = partition()
    said = {"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {"content": "Hi"}}]}
    run(state, [record(offset, said, tm_codec="openai") for offset in range(3)])
    stream, message = state.opened_before(1)
    assert dict(stream.headers) == {"tm-codec": b"openai", "tm-opened-before": b"3"}
    assert come_round(state, 3, stream) == ["text-end", "finish"]
    assert come_round(state, 4, message) == []
    assert state.open_messages == 0
    assert not any(name.startswith(b"k") for name in state.changes(full=True).changed)


def test_a_stream_ends_though_its_codec_knows_no_end() -> None:
    """As native chunks do: half an event that nobody completes must not be kept for ever."""
    state = partition()
    run(state, [record(0, b'data: {"message_id": "m", "del', tm_codec="sse+native")])
    state.idle(0, TIMEOUT)
    (control,) = state.idle(TIMEOUT, TIMEOUT)
    assert come_round(state, 1, control) == []
    assert (state.mark().low_water, state.tally.dead_letters) == (2, {})


def test_conditions_hold_or_not() -> None:
    """Idle: no record after the one that was seen. Too old: opened before what was read then."""
    assert [Condition(last=5).holds(0, last) for last in (5, 6)] == [True, False]
    assert [Condition(opened_before=5).holds(opened, 9) for opened in (4, 5)] == [True, False]
    assert [Condition(opened_before=5).cuts(last) for last in (4, 5)] == [False, True]
    assert not Condition(last=5).cuts(9)
    for condition in (Condition(last=5), Condition(opened_before=7)):
        assert condition_of(InputRecord("tokens", 0, 0, 0, b"c", b"", [condition.header()])) == condition
    assert condition_of(record(0, b"")) is None
    with pytest.raises(Undecodable, match="tm-last-offset is not a number"):
        condition_of(record(0, b"", tm_last_offset="soon"))


def test_an_idle_stream_is_known_by_its_last_record() -> None:
    """An earlier one is that of another writer to the same message; one that is too old may get any."""
    assert [Condition(last=5).holds_of_stream(0, last) for last in (4, 5, 6)] == [False, True, False]
    assert [Condition(opened_before=3).holds_of_stream(opened, 9) for opened in (2, 3)] == [True, False]
