"""How a choice opens."""

import pytest

from tests.session.logs import SETTINGS, events, log, partition, record, run
from tokenmill.codecs import Chunk
from tokenmill.errors import BadKey, BadOpen, Undecodable
from tokenmill.events import ToolCall
from tokenmill.limits import KEY_BYTES
from tokenmill.records import InputRecord
from tokenmill.session.low_water import LowWater
from tokenmill.session.opening import Opened, Opener


def opened(chunk: Chunk, source: InputRecord, low_water: LowWater | None = None) -> Opened:
    """What a chunk without a message opens."""
    opener = Opener(SETTINGS, 0, low_water or LowWater())
    return opener.choice(None, opener.grammar(chunk, None), chunk, source, None)


def test_a_message_is_named_by_its_producer_or_by_its_first_record() -> None:
    """The generated id has the partition and the offset."""
    message, choice = opened(Chunk(message_id="m", delta="a"), record(7))
    assert (message.id, message.named, choice.envelope.message_id) == ("m", True, "m")
    message, choice = opened(Chunk(delta="a", choice=2), record(7))
    assert (message.id, message.named, choice.envelope.message_id, choice.index) == ("o0-7", False, "o0-7", 2)
    assert choice.envelope.created == 1_007


@pytest.mark.parametrize(
    ("message_id", "reserved"), [("o0-7", True), ("o0-", False), ("o0-x", False), ("o1-7", False), ("m", False)]
)
def test_generated_ids_are_known_by_their_form(message_id: str, *, reserved: bool) -> None:
    """Only those of this partition: it gives no others."""
    assert Opener(SETTINGS, 0, LowWater()).reserved(message_id) is reserved


@pytest.mark.parametrize(
    ("chunk", "key", "error"),
    [
        (Chunk(delta="a"), b"\xff", BadKey),
        (Chunk(delta="a", message_id="m" * (KEY_BYTES + 1)), b"c", Undecodable),
        (Chunk(open={"colour": 1, "format": 5}), b"c", BadOpen),
    ],
)
def test_what_cannot_open_is_refused(chunk: Chunk, key: bytes, error: type[Exception]) -> None:
    """The id and the key come back in every output, so they are capped."""
    with pytest.raises(error):
        opened(chunk, record(7, key=key))


def test_a_second_choice_depends_on_the_log_from_where_its_options_are() -> None:
    """Replayed from its own first record, it would have the defaults, and another id if the message is unnamed."""
    for who in ({"message_id": "m"}, {}):
        state = partition(
            {**who, "choice": 0, "open": {"format": "hermes"}, "delta": "a"},
            {**who, "choice": 1, "delta": "A"},
            {**who, "choice": 0, "end": True},
        )
        run(state, log({"message_id": "x", "usage": {}}, start=500))
        assert state.mark().low_water == 0


def test_a_choice_with_options_of_its_own_does_not() -> None:
    """It can be replayed without the others."""
    state = partition(
        {"message_id": "m", "choice": 0, "delta": "a"},
        {"message_id": "m", "choice": 1, "open": {}, "delta": "A"},
        {"message_id": "m", "choice": 0, "end": True},
    )
    run(state, log({"message_id": "x", "usage": {}}, start=500))
    assert state.mark().low_water == 1


def test_a_message_depends_on_what_its_codec_kept() -> None:
    """Half of its first character stands in the record before."""
    state = partition()
    run(state, [record(3, b"\xe2\x82", tm_codec="text"), record(4, b"\xac", tm_codec="text")])
    assert (state.open_messages, state.mark().low_water) == (1, 3)


def test_a_message_comes_to_depend_on_what_its_codec_kept() -> None:
    """Where a later record of it is read with state from before it opened: another stream of the conversation."""
    state = partition()
    run(
        state,
        [record(3, b"\xe2\x82", tm_codec="text", tm_message_id="m"), record(4, {"message_id": "m", "delta": "a"})],
    )
    run(state, [record(5, b"\xac", tm_codec="text", tm_message_id="m")])
    assert (state.open_messages, state.mark().low_water) == (1, 3)


def test_an_id_in_use_again_goes_on_counting_its_events() -> None:
    """Who drops repeats by `seq` must not drop the second use; its calls have ids of their own."""
    call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    use = {"message_id": "m", "open": {"format": "hermes"}, "delta": call, "end": True}
    out = events(run(partition(), log(use, use, use)))
    assert [event.seq for event in out] == list(range(len(out)))
    assert len({event.id for event in out if isinstance(event, ToolCall)}) == 3


def test_it_depends_on_the_log_of_the_uses_before() -> None:
    """Only that says where the count stands; forgotten, the id is new again."""
    use = {"message_id": "m", "open": {}, "end": True}
    state = partition(use, use, {"message_id": "m", "open": {}})
    run(state, [record(90, {"message_id": "x", "usage": {}})])
    assert state.mark().low_water == 0
    run(state, [record(91, {"message_id": "m", "end": True}), record(250, use)])
    assert state.mark().low_water == 250
