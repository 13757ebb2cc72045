"""What holds for every dialect in the list."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from msgspec import UNSET
from msgspec.structs import replace

from tests.support.every import every
from tests.support.scenarios import KEY, MESSAGE, SCENARIOS, STARTED_MS, Scenario, rendered
from tokenmill.dialects import DIALECTS, Dialect, Envelope, find_dialect
from tokenmill.errors import ConfigError
from tokenmill.events import AnyEvent
from tokenmill.formats import compile_grammar
from tokenmill.limits import Limits
from tokenmill.parser import read_options

DONE = b"[DONE]"

EVERY = [pytest.param(dialect, id=dialect.name) for dialect in DIALECTS]
GROWING = [pytest.param({}, id="default"), pytest.param({"stream_tool_input": True}, id="growing")]


def encoded(dialect: Dialect, scenario: Scenario, events: Sequence[AnyEvent], **options: Any) -> list[bytes]:
    """The payloads of events; the state is encoded and decoded at each, as a snapshot does."""
    described = {"describe_tools": dialect.describes_tools}
    grammar = compile_grammar(read_options({**scenario.open, "model": "some-model", **described, **options}))
    envelope = Envelope(KEY, MESSAGE, 0, STARTED_MS, grammar.message_start)
    kind = dialect.state_type
    state = kind() if kind else None
    payloads: list[bytes] = []
    for seq, event in enumerate(events):
        assert isinstance(event.time, int)
        bare = replace(event, conversation_id="", message_id="", seq=UNSET, time=UNSET)
        payloads += dialect.encode(state, envelope, bare, seq, event.time)
        if kind:
            state = msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=kind)
    return payloads


@pytest.mark.parametrize("options", GROWING)
@pytest.mark.parametrize("dialect", EVERY)
def test_a_state_may_be_written_and_read_at_every_event(dialect: Dialect, options: dict[str, Any]) -> None:
    """The payloads are those of a worker that was never stopped."""

    def check(name: str) -> None:
        done = rendered(SCENARIOS[name], dialect.name, **options)
        assert encoded(dialect, SCENARIOS[name], done.events, **options) == done.payloads

    every(SCENARIOS, check, str)


@pytest.mark.parametrize("options", GROWING)
@pytest.mark.parametrize("dialect", EVERY)
def test_payloads_are_json_on_one_line_that_fits(dialect: Dialect, options: dict[str, Any]) -> None:
    """Or the word that ends a stream; so a gateway frames them without a look inside."""

    def check(name: str) -> None:
        for payload in rendered(SCENARIOS[name], dialect.name, **options).payloads:
            assert len(payload) < Limits().output_bytes
            assert b"\n" not in payload
            assert payload == DONE or isinstance(json.loads(payload), dict)

    every(SCENARIOS, check, str)


@pytest.mark.parametrize("dialect", EVERY)
def test_a_lost_message_raises_nothing(dialect: Dialect) -> None:
    """Where the state is gone, an error and the end still come through as far as the shape can say them."""
    grammar = compile_grammar(read_options({}))
    envelope = Envelope(KEY, MESSAGE, 0, STARTED_MS, grammar.message_start)
    events = msgspec.json.decode(
        b'[{"type":"error","code":"state-lost","message":"m"},{"type":"finish","reason":"error"}]',
        type=list[AnyEvent],
    )
    payloads = [payload for event in events for payload in dialect.encode(None, envelope, event, None, 0)]
    assert all(payload == DONE or json.loads(payload) for payload in payloads)


def test_names_are_found_and_others_refused() -> None:
    """The refusal says what there is."""
    assert [find_dialect(dialect.name) for dialect in DIALECTS] == list(DIALECTS)
    with pytest.raises(ConfigError, match="unknown dialect 'morse'; known are native, "):
        find_dialect("morse")
