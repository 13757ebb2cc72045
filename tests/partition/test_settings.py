"""What of the configuration reaches the pure core."""

import msgspec
import pytest

from tests.support.processes import printed
from tokenmill.config import Config, Gateway, Topics
from tokenmill.dialects import Dialect
from tokenmill.limits import Limits
from tokenmill.parser import Options
from tokenmill.partition import OutputSpec, PartitionSettings


def test_the_defaults_make_two_outputs() -> None:
    """All events to `events`, what concerns runners to `tool-calls`."""
    settings = PartitionSettings.from_config(Config())
    assert settings.outputs == (
        OutputSpec("events"),
        OutputSpec("tool-calls", events=frozenset({"tool-call", "finish"}), for_runners=True),
    )
    assert (settings.codec, settings.dlq, settings.defaults) == ("native", "tokens.dlq", Options())


def test_tool_input_is_streamed_where_an_output_asks_for_it() -> None:
    """The native dialect does unless the message opts out; without a reader they are not made."""
    native, nobody = PartitionSettings(), PartitionSettings(outputs=())
    assert native.resolved(Options()) == Options()
    assert nobody.resolved(Options()) == Options(stream_tool_input=False)
    for said in (True, False):
        assert native.resolved(Options(stream_tool_input=said)).stream_tool_input is said
        assert nobody.resolved(Options(stream_tool_input=said)).stream_tool_input is said


class _Growing(Dialect):
    """A dialect that streams arguments where it streams tool input."""

    name = "growing"
    summary = "nothing"
    streams_arguments = True
    describes_tools = True

    def __init__(self, *, streams_tool_input: bool) -> None:
        self.streams_tool_input = streams_tool_input

    def encode(self, *_: object) -> tuple[bytes, ...]:
        """Nothing."""
        return ()


@pytest.mark.parametrize(
    ("by_default", "said", "every"),
    [
        (True, None, True),
        (True, True, True),
        (True, False, False),
        (False, None, False),
        (False, True, True),
        (False, False, False),
    ],
)
def test_a_dialect_that_streams_arguments_gets_their_deltas(
    monkeypatch: pytest.MonkeyPatch, *, by_default: bool, said: bool | None, every: bool
) -> None:
    """For every argument, but only in messages that stream; a dialect without it adds nothing."""
    dialect = _Growing(streams_tool_input=by_default)
    monkeypatch.setattr("tokenmill.partition.settings.find_dialect", lambda _: dialect)
    resolved = PartitionSettings().resolved(Options(stream_tool_input=said, content_arguments=["f.a"]))
    assert resolved.content_arguments == (["*"] if every else ["f.a"])


def test_what_a_gateway_renders_is_asked_for() -> None:
    """A dialect of `gateway.dialects` gets the events that an output in it would get; no topic is written for it."""
    settings = PartitionSettings.from_config(Config(gateway=Gateway(dialects=["openai", "agent"])))
    with_outputs = PartitionSettings(
        outputs=(OutputSpec("events"), OutputSpec("o", "openai"), OutputSpec("a", "agent"))
    )
    for said in (None, True, False):
        options = Options(stream_tool_input=said)
        assert settings.resolved(options) == with_outputs.resolved(options) != options
    assert len(settings.outputs) == len(PartitionSettings.from_config(Config()).outputs)


@pytest.mark.parametrize(
    "changed",
    [
        {"defaults": Options(format="hermes")},
        {"codec": "text"},
        {"outputs": ()},
        {"outputs": (OutputSpec("events", events=frozenset({"finish"})),)},
        {"outputs": (OutputSpec("events", key="choice"),)},
        {"rendered": ("agent",)},
        {"limits": Limits(call_chars=5)},
        {"ended_offsets": 5},
    ],
    ids=str,
)
def test_the_fingerprint_covers_what_changes_events(changed: dict[str, object]) -> None:
    """Each of these makes other events of the same log."""
    settings = PartitionSettings()
    assert msgspec.structs.replace(settings, **changed).fingerprint() != settings.fingerprint()


@pytest.mark.parametrize(
    ("defaults", "rendered"),
    [
        (Options(stream_tool_input=False), ("ai_sdk_ui",)),
        (Options(stream_tool_input=False, describe_tools=True), ("agent",)),
    ],
    ids=["streams", "describes"],
)
def test_the_fingerprint_covers_what_dialects_ask_of_messages_with_words_of_their_own(
    defaults: Options, rendered: tuple[str, ...]
) -> None:
    """Where the defaults give the same for both, a message may still differ."""
    settings = PartitionSettings(defaults=defaults)
    other = msgspec.structs.replace(settings, rendered=rendered)
    own = Options(stream_tool_input=True)
    assert settings.resolved(defaults) == other.resolved(defaults)
    assert settings.resolved(own) != other.resolved(own)
    assert settings.fingerprint() != other.fingerprint()


def test_the_fingerprint_leaves_out_what_does_not() -> None:
    """Names of topics, the order in which a filter lists its types, and how long a record of an output may be."""
    settings = PartitionSettings(outputs=(OutputSpec("a", events=frozenset(("finish", "error", "text-delta"))),))
    renamed = PartitionSettings(
        outputs=(OutputSpec("b", events=frozenset(("text-delta", "finish", "error"))),), dlq="x"
    )
    assert renamed.fingerprint() == settings.fingerprint()
    shorter = msgspec.structs.replace(settings, limits=Limits(output_bytes=500_000))
    assert shorter.fingerprint() == settings.fingerprint()


@pytest.mark.integration
def test_the_fingerprint_is_the_same_in_every_process() -> None:
    """It is compared with that of another worker, so it must not depend on Python's hash seed."""
    types = ["error", "finish", "text-delta", "tool-call", "tool-input-start"]
    script = (
        "from tokenmill.partition import OutputSpec, PartitionSettings\n"
        f"settings = PartitionSettings(outputs=(OutputSpec('events', events=frozenset({types})),))\n"
        "print(settings.fingerprint())"
    )
    one, other = (printed(["-c", script], seed) for seed in ("1", "2"))
    assert one == other
    assert len(one.strip()) == 16


def test_what_is_kept_of_answers_has_outputs_where_it_has_topics() -> None:
    """Off by default: it costs memory for every open message."""
    config = Config(topics=Topics(completions="completions", sessions="sessions"))
    assert PartitionSettings.from_config(config).outputs[2:] == (
        OutputSpec("completions", "openai_completion", key="choice"),
        OutputSpec("sessions", "session", key="choice"),
    )
