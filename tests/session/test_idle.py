"""Messages that get no more chunks."""

import msgspec

from tests.session.logs import log, partition, record, run, types
from tokenmill.session import Partition

TIMEOUT = 1_000


def ends(state: Partition, now: int) -> list[dict[str, object]]:
    """The chunks of the records that `idle` asks for."""
    return [msgspec.json.decode(control.value) for control in state.idle(now, TIMEOUT)]


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
    """The control says which record was the last."""
    state = partition({"message_id": "m", "delta": "a"})
    state.idle(0, TIMEOUT)
    (control,) = state.idle(TIMEOUT, TIMEOUT)
    assert dict(control.headers) == {"tm-codec": b"native", "tm-last-offset": b"0"}
    headers = {name.replace("-", "_"): value.decode() for name, value in control.headers}
    run(state, [record(1, {"message_id": "m", "delta": "b"}), record(2, control.value, control.key, **headers)])
    assert (state.open_messages, state.tally.dropped) == (1, {"stale-timeout": 1})


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


def test_an_id_that_is_used_again_is_watched_again() -> None:
    """The message is the same object to the index."""
    state = partition({"message_id": "m", "delta": "a"}, {"message_id": "m", "end": True})
    state.idle(0, TIMEOUT)
    run(state, log({"message_id": "m", "open": {}}, start=2))
    assert ends(state, 1) == []
    assert ends(state, 1 + TIMEOUT) == [{"message_id": "m", "control": "timeout"}]


def test_the_longest_idle_come_first() -> None:
    """When memory runs short, those go whose last chunk is the oldest."""
    state = partition(
        {"message_id": "a", "delta": "x"},
        {"message_id": "b", "delta": "x"},
        {"message_id": "d", "delta": "x"},
        {"message_id": "a", "delta": "x"},
    )
    named = [msgspec.json.decode(control.value)["message_id"] for control in state.longest_idle(2)]
    assert named == ["b", "d"]
