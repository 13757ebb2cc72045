"""The part of the configuration that the pure core needs, and its fingerprint."""

from hashlib import blake2b
from typing import Any, Literal

import msgspec

from tokenmill.config import Config
from tokenmill.dialects import find_dialect
from tokenmill.limits import ENDED_OFFSETS, Limits
from tokenmill.parser import Options
from tokenmill.partition.cloud_events import Mode

EVERY_ARGUMENT = "*"
"""Entry of the option `content_arguments` that stands for all."""

_BARE = (Options(), Options(stream_tool_input=True))
"""Options of a message that gives none, and of one that asks for streaming, whatever the defaults: what `resolved`
makes of them shows all that dialects ask of any message."""

EVENTS_VERSION = 5
"""Version of events, raised when the same input gives other events or state: a newer worker's replay would differ."""


class OutputSpec(msgspec.Struct, frozen=True):
    """One output topic: its readers decide the dialect and the events."""

    topic: str
    dialect: str = "native"
    events: frozenset[str] | None = None
    """Types of events that the topic gets; None: all."""
    for_runners: bool = False
    """Whether it gets only what runners act on: `tool-call` without `problem`, `finish` of a cancelled message."""
    key: Literal["conversation", "choice"] = "conversation"
    """What a record's key names: a compacted topic keeps the last record of each key."""
    cloudevents: Mode | None = None
    """How its records are made CloudEvents; None: they are not."""


class PartitionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything besides the log that determines a partition's output."""

    defaults: Options = Options()
    """Options of messages whose `open` does not set them."""
    codec: str = "native"
    """Codec of records without the header `tm-codec`."""
    outputs: tuple[OutputSpec, ...] = (OutputSpec("events"),)
    rendered: tuple[str, ...] = ()
    """Dialects that readers derive from the native events, which then hold all that those dialects show."""
    limits: Limits = Limits()
    dlq: str = "tokens.dlq"
    traced: bool = False
    """Whether the host gets the source of every call, for its log; events are the same."""
    ended_offsets: int = ENDED_OFFSETS
    """Number of the partition's records for which an ended message is remembered."""
    max_age_ms: int = 86_400_000
    """Milliseconds that a message may be open, by the timestamps of the log."""

    def fingerprint(self) -> str:
        """A short hash of all settings that change events.

        Not part of it are the names of topics, the order of an event filter, the attributes of CloudEvents, and the
        greatest age, which only limits how long messages are missing. Nor is the cap of an output record:
        `message-start` states it, and an event that is too large for it is replaced by another with the same `seq`. So
        a topic's `max.message.bytes` may change while messages are open.
        """
        limits = msgspec.structs.replace(self.limits, output_bytes=0)
        outputs = [
            (spec.dialect, sorted(spec.events) if spec.events is not None else None, spec.for_runners, spec.key)
            for spec in self.outputs
        ]
        asked = [self.resolved(options) for options in (self.defaults, *_BARE)]
        content = (EVENTS_VERSION, asked, self.codec, outputs, limits, self.ended_offsets)
        return blake2b(msgspec.msgpack.encode(content), digest_size=8).hexdigest()

    def resolved(self, options: Options) -> Options:
        """A message's options with those switched on that the outputs' dialects need, and no others.

        `stream_tool_input` stays None if a dialect streams without being asked: True is only the message's own choice.
        """
        wanted, changes = options.stream_tool_input, dict[str, Any]()
        dialects = [find_dialect(name) for name in (*(spec.dialect for spec in self.outputs), *self.rendered)]
        streaming = [dialect for dialect in dialects if wanted or (wanted is None and dialect.streams_tool_input)]
        if wanted is None and not streaming:
            changes["stream_tool_input"] = False
        if any(dialect.describes_tools for dialect in dialects) and not options.describe_tools:
            changes["describe_tools"] = True
        if any(dialect.streams_arguments for dialect in streaming) and EVERY_ARGUMENT not in options.content_arguments:
            changes["content_arguments"] = [EVERY_ARGUMENT]
        return msgspec.structs.replace(options, **changes) if changes else options

    @classmethod
    def from_config(cls, config: Config) -> "PartitionSettings":
        """The settings of a configuration, whose reader has refused names that do not exist."""
        calls = OutputSpec(config.topics.tool_calls, events=frozenset({"tool-call", "finish"}), for_runners=True)
        extra = [
            OutputSpec(
                output.topic,
                output.dialect,
                frozenset(output.events) if output.events else None,
                cloudevents=output.cloudevents or None,
            )
            for output in config.outputs
        ]
        whole = {config.topics.completions: "openai_completion", config.topics.sessions: "session"}
        answers = [OutputSpec(topic, dialect, key="choice") for topic, dialect in whole.items() if topic]
        return cls(
            defaults=config.parser.options,
            codec=config.parser.codec,
            outputs=(OutputSpec(config.topics.events), calls, *answers, *extra),
            rendered=tuple(config.gateway.dialects),
            limits=config.limits,
            dlq=config.topics.dlq,
            traced=config.worker.log_level == "DEBUG",
            max_age_ms=int(config.worker.max_age_s * 1000),
        )
