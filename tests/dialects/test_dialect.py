"""What every dialect keeps to, and the envelope that they share."""

import msgspec
import pytest

from tests.support.scenarios import SCENARIOS, rendered
from tokenmill.dialects import DIALECTS, Dialect, Envelope, find_dialect
from tokenmill.dialects.dialect import Handlers, failure_text, handled, voids, warns
from tokenmill.errors import ConfigError
from tokenmill.events import (
    Error,
    Finish,
    MessageStart,
    ReasoningDelta,
    ReasoningStart,
    Request,
    TextDelta,
    TextStart,
)

EACH = pytest.mark.parametrize("dialect", DIALECTS, ids=[dialect.name for dialect in DIALECTS])
EVENTS = [MessageStart("", "plain"), TextDelta(id="t0", delta="a"), Finish(reason="stop")]


@EACH
def test_it_renders_a_message(dialect: Dialect) -> None:
    """Something comes out, the same for equal states."""
    envelope = Envelope("c", "m", 0, 1_000)
    rendered = []
    for _ in range(2):
        state = dialect.state_type() if dialect.state_type else None
        rendered.append([dialect.encode(state, envelope, event, seq, 1_000) for seq, event in enumerate(EVENTS)])
    assert rendered[0] == rendered[1]
    assert any(rendered[0])


@EACH
def test_it_says_what_it_is(dialect: Dialect) -> None:
    """For the list of dialects and the reference."""
    assert dialect.summary
    assert find_dialect(dialect.name) is dialect


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    """Dialects are named in the configuration only."""
    with pytest.raises(ConfigError, match="'nonsense'; known are native"):
        find_dialect("nonsense")


@pytest.mark.parametrize(
    ("choice", "native"),
    [(0, b',"conversation_id":"c\\"","message_id":"m"'), (2, b',"conversation_id":"c\\"","message_id":"m","choice":2')],
)
def test_the_envelope_is_encoded_once(choice: int, native: bytes) -> None:
    """As it stands in JSON, the choice only where it is not 0."""
    envelope = Envelope('c"', "m", choice, 1_000)
    assert envelope.native == native
    assert msgspec.json.decode(b"{" + envelope.native[1:] + b"}")["conversation_id"] == 'c"'


@pytest.mark.parametrize(("choice", "choice_id"), [(0, "m"), (2, "m-2")])
def test_a_choice_may_be_an_answer_of_its_own(choice: int, choice_id: str) -> None:
    """Its id is that of the message, with its number where it is not the first."""
    assert Envelope("c", "m", choice, 1_000).choice_id == choice_id


def test_a_warning_voids_no_call() -> None:
    """Behind it the `tool-call` follows; behind other errors of its id none does, and other ids are not meant."""
    warning, failure = Error("unknown-tool", "?", id="k"), Error("malformed-call", "?", id="k")
    assert warns(warning)
    assert not voids(warning, "k")
    assert not warns(failure)
    assert voids(failure, "k")
    assert not voids(failure, "other")


def test_what_has_no_handler_says_nothing() -> None:
    """A handler gets the state, the envelope and the event, and adds payloads."""

    def says(state: list[str], envelope: Envelope, event: TextDelta, out: list[bytes]) -> None:
        out.append(f"{state[0]} {envelope.choice_id} {event.delta}".encode())

    envelope = Envelope("c", "m", 0, 1_000)
    handlers: Handlers[list[str]] = {TextDelta: says}
    assert handled(handlers, ["s"], envelope, TextDelta("t", "a")) == [b"s m a"]
    assert handled(handlers, ["s"], envelope, Finish("stop")) == []


def test_a_failure_without_words_is_told_by_its_reason() -> None:
    """A provider may fail without saying why."""
    assert failure_text("timeout", "") == "the answer ended early: timeout"
    assert failure_text("error", "overloaded") == "overloaded"


@pytest.mark.parametrize(
    ("asked", "by_itself", "expected"),
    [(None, True, True), (None, False, False), (True, False, True), (False, True, False)],
)
def test_the_message_says_whether_tool_input_streams(asked: bool | None, by_itself: bool, expected: bool) -> None:
    """And where it says nothing, the dialect."""
    envelope = Envelope("c", "m", 0, 0, MessageStart("", "plain", Request(stream_tool_input=asked)))
    assert envelope.streams_input(by_itself=by_itself) is expected


@pytest.mark.parametrize("piece", [TextDelta(id="t0", delta="b"), ReasoningDelta(id="t0", delta="b")])
@pytest.mark.parametrize("dialect", [each for each in DIALECTS if each.ignores_pieces], ids=lambda each: each.name)
def test_a_further_piece_of_a_text_leaves_the_state(dialect: Dialect, piece: TextDelta | ReasoningDelta) -> None:
    """Readers of the past may leave it out, if the dialect says so."""
    envelope = Envelope("c", "m", 0, 1_000)
    state = dialect.state_type() if dialect.state_type else None
    start = TextStart("t0") if isinstance(piece, TextDelta) else ReasoningStart("t0")
    for seq, event in enumerate((MessageStart("", "plain"), start, piece)):
        dialect.encode(state, envelope, event, seq, 1_000)
    before = msgspec.msgpack.encode(state)
    dialect.encode(state, envelope, piece, 3, 1_000)
    assert msgspec.msgpack.encode(state) == before


@pytest.mark.parametrize("dialect", ["openai", "openai_completion", "anthropic", "anthropic_message"])
def test_calls_are_not_the_reason_of_an_answer_that_shows_none(dialect: str) -> None:
    """A provider ended with a call that could not be read: a client that looks for calls to run would find none."""
    said = b"".join(rendered(SCENARIOS["a provider's broken call"], dialect).payloads)
    assert b'"end_turn"' in said or b'"finish_reason":"stop"' in said
    assert b"tool_" not in said
    shown = b"".join(rendered(SCENARIOS["calls side by side"], dialect).payloads)
    assert b'"stop_reason":"tool_use"' in shown or b'"finish_reason":"tool_calls"' in shown
