"""Messages in which everything happens that a dialect has to bear, and what each dialect makes of them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from tests.support.parsing import reasoning_of, text_of
from tokenmill.dialects import Envelope, find_dialect
from tokenmill.events import AnyEvent, Error, Finish, Part, TextDelta, TextStart, ToolCall, decode_event
from tokenmill.formats import compile_grammar
from tokenmill.limits import Limits
from tokenmill.parser import Options
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.records import InputRecord, Output

KEY = "conversation"
MESSAGE = "message"
STARTED_MS = 1_760_000_000_000

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
}

_CALL = '<tool_call>{"name": "get_weather", "arguments": {"city": "Zürich \\"🌧\\"", "days": 3}}</tool_call>'
_XML = (
    "<tool_call><function=get_weather><parameter=city>Paris\n</parameter>"
    "<parameter=days>3</parameter></function></tool_call>"
)
_STOP = {"finish_reason": "stop"}


class Scenario(NamedTuple):
    """Native chunks of one message, and the options it opens with."""

    chunks: Sequence[Mapping[str, Any]]
    open: Mapping[str, Any] = {"format": "hermes", "tools": [WEATHER]}
    limits: Limits = Limits()


def _text(*pieces: str) -> list[dict[str, Any]]:
    return [{"delta": piece} for piece in pieces]


def _native(index: int, **function: str) -> dict[str, Any]:
    name = {"id": f"call_{index}", "type": "function"} if "name" in function else {}
    return {"tool_calls": [{"index": index, **name, "function": function}]}


_QWEN = {"format": "qwen3_xml", "tools": [WEATHER]}
_USAGE = {"usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}}

SCENARIOS: dict[str, Scenario] = {
    "text": Scenario([*_text("Hel", "lo"), _USAGE, _STOP]),
    "nothing": Scenario([{"open": {}}, _STOP]),
    "reasoning, text and a call": Scenario([*_text("<think>Hm", "m.</think>", "It is: ", *_CALL), _USAGE, _STOP]),
    "a call alone": Scenario([*_text(_CALL), _STOP]),
    "two calls with text around": Scenario([*_text("a", _CALL, "b", _CALL, "c"), _STOP]),
    "a call in another notation": Scenario([*_text("So: ", *_XML), _STOP], _QWEN),
    "a call without arguments": Scenario(
        [*_text('<tool_call>{"name": "now", "arguments": {}}</tool_call>'), _STOP], {"format": "hermes"}
    ),
    "a long argument": Scenario([*_text(_CALL.replace("Zürich", "é\\n\\u0001" * 20_000)), _STOP]),
    "an unknown tool": Scenario([*_text('<tool_call>{"name": "rm", "arguments": {"path": "/"}}</tool_call>'), _STOP]),
    "arguments of another type": Scenario([*_text(_CALL.replace("3", '"three"')), _STOP]),
    "a broken call": Scenario([*_text("a ", *_CALL.replace("3}}", "3, oops}}"), " b"), _STOP]),
    "a broken call and a good one": Scenario([*_text(*_CALL.replace("3}}", "3, oops}}"), _CALL), _STOP]),
    "an unfinished call": Scenario([*_text("a ", *_CALL[:80]), {"finish_reason": "length"}]),
    "cancelled inside a call": Scenario([*_text("a ", *_CALL[:80]), {"control": "cancel"}]),
    "cancelled inside reasoning": Scenario([*_text("<think>Hm"), {"control": "cancel"}]),
    "timed out inside a call": Scenario([*_text("a ", *_CALL[:80]), {"control": "timeout"}]),
    "a gap": Scenario([{"delta": "a", "seq": 0}, {"delta": "b", "seq": 4}, {"finish_reason": "stop", "seq": 5}]),
    "the limit of a message": Scenario([*_text("a", "b" * 200, _CALL), _STOP], limits=Limits(message_chars=100)),
    "the limit of a call": Scenario([*_text("a ", *_CALL, " b"), _STOP], limits=Limits(call_chars=60)),
    "the provider fails": Scenario(
        [
            *_text("Hel"),
            _native(0, name="get_weather", arguments="{"),
            {"error": "out of memory", "finish_reason": "error"},
        ]
    ),
    "calls side by side": Scenario(
        [
            *_text("Both:"),
            _native(0, name="get_weather", arguments='{"city"'),
            _native(1, name="get_weather", arguments='{"ci'),
            *_text(" now"),
            _native(0, arguments=': "Oslo"}'),
            _native(1, arguments='ty": "Rome"}'),
            {"finish_reason": "tool_calls"},
        ]
    ),
    "a provider's broken call": Scenario(
        [_native(0, name="get_weather", arguments='{"city": "P", oops}'), {"finish_reason": "tool_calls"}]
    ),
    "content filtered": Scenario([*_text("No"), {"finish_reason": "content_filter"}]),
    "parts of a provider": Scenario(
        [
            {"reasoning": "Hm"},
            {"part": {"kind": "signature", "value": "c2ln"}},
            {"part": {"kind": "redacted_thinking", "value": "b3BhcXVl"}},
            {"part": {"kind": "refusal", "value": "I can't."}},
            {"part": {"kind": "unheard_of", "value": {"a": [1, None]}}},
            _STOP,
        ]
    ),
}  # fmt: skip


class Rendered(NamedTuple):
    """What came of a scenario."""

    events: list[AnyEvent]
    payloads: list[bytes]

    @property
    def text(self) -> str:
        """Visible text."""
        return text_of(self.events)

    @property
    def shown(self) -> str:
        """What of it a client of a chat is shown: nothing of a call that was cut off with the answer."""
        cut = {event.id for event in self.events if isinstance(event, TextStart) and event.cut is True}
        return text_of(event for event in self.events if not (isinstance(event, TextDelta) and event.id in cut))

    @property
    def reasoning(self) -> str:
        """Reasoning."""
        return reasoning_of(self.events)

    @property
    def calls(self) -> list[tuple[str, str, Any]]:
        """Id, name and arguments of the complete calls."""
        calls = [event for event in self.events if isinstance(event, ToolCall)]
        return [(call.id, call.name, call.arguments) for call in calls]

    def parts(self, kind: str) -> list[Any]:
        """Values of the provider's other content of that kind."""
        return [event.value for event in self.events if isinstance(event, Part) and event.kind == kind]

    @property
    def finish(self) -> Finish:
        """How it ended."""
        (finish,) = (event for event in self.events if isinstance(event, Finish))
        return finish


def rendered(scenario: Scenario, dialect: str, **options: Any) -> Rendered:
    """The native events of a scenario, and its payloads in a dialect; further options go over its own."""
    settings = PartitionSettings(
        outputs=(OutputSpec("events"), OutputSpec("wire", dialect)), dlq="dlq", limits=scenario.limits
    )
    partition, out = Partition(settings, "tokens", 0), list[Output]()
    opening = {**scenario.open, "model": "some-model", **options}
    for offset, chunk in enumerate(scenario.chunks):
        fields = {"message_id": MESSAGE, **chunk} | ({"open": opening} if offset == 0 else {})
        value = msgspec.json.encode(fields)
        partition.process([InputRecord("tokens", 0, offset, STARTED_MS + offset, KEY.encode(), value)], out)
    assert all(output.topic != "dlq" for output in out)
    events = [decode_event(output.value or b"") for output in out if output.topic == "events"]
    return Rendered(events, [output.value or b"" for output in out if output.topic == "wire"])


def lost(dialect: str) -> Rendered:
    """A message that began, and whose state was lost."""
    begun = rendered(Scenario(_text("Hel")), dialect)
    last: list[AnyEvent] = [Error("state-lost", "the log no longer holds its beginning"), Finish("error")]
    grammar = compile_grammar(Options())
    envelope = Envelope(KEY, MESSAGE, 0, STARTED_MS, grammar.message_start)
    payloads = [payload for event in last for payload in find_dialect(dialect).encode(None, envelope, event, None, 0)]
    return Rendered(begun.events + last, begun.payloads + payloads)
