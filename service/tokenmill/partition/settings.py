"""What of the configuration the pure core needs, and its fingerprint."""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from tokenmill.codecs import find_codec
from tokenmill.config import Config
from tokenmill.dialects import find_dialect
from tokenmill.errors import BadOpen, ConfigError, UnknownCodec
from tokenmill.formats import compile_grammar
from tokenmill.limits import ENDED_OFFSETS, Limits
from tokenmill.parser import Options
from tokenmill.partition.cloud_events import Mode

EVERY_ARGUMENT = "*"
"""Stands for all in the option `content_arguments`."""

_BARE = (Options(), Options(stream_tool_input=True))
"""Of a message that says nothing, and of one that streams by its own word, whatever the defaults: what `resolved` makes
of them tells all that dialects ask of any message."""

EVENTS_VERSION = 3
"""Raised whenever the same input gives other events or other state: a replay by a newer worker would not fit then."""


class OutputSpec(msgspec.Struct, frozen=True):
    """One output topic: who reads it decides the dialect and the events."""

    topic: str
    dialect: str = "native"
    events: frozenset[str] | None = None
    """Types of events that go there; None: all."""
    for_runners: bool = False
    """Only what a tool runner acts on: a `tool-call` without a `problem`, and the `finish` of a cancelled message."""
    key: Literal["conversation", "choice"] = "conversation"
    """What a record's key names: a compacted topic keeps the last record of each."""
    cloudevents: Mode | None = None
    """Its records are CloudEvents, too."""


class PartitionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything besides the log that decides what comes out of a partition."""

    defaults: Options = Options()
    """Options of messages whose `open` does not say them."""
    codec: str = "native"
    """Codec of records without the header `tm-codec`."""
    outputs: tuple[OutputSpec, ...] = (OutputSpec("events"),)
    rendered: tuple[str, ...] = ()
    """Dialects that readers make of the native events: these are then made with all that those dialects show."""
    limits: Limits = Limits()
    dlq: str = "tokens.dlq"
    traced: bool = False
    """The host is told the source of every call, for its log; events are the same."""
    ended_offsets: int = ENDED_OFFSETS
    """For how many records of the partition an ended message is remembered."""
    max_age_ms: int = 86_400_000
    """No message is open for longer, by the timestamps of the log."""

    def fingerprint(self) -> str:
        """A short hash of what changes events. Names of topics do not, nor does the order of an event filter, nor
        do the attributes of CloudEvents. Nor does the greatest age, which only says for how long messages are missing.

        Nor does the cap of an output record: `message-start` says it, and one event that is too large for it becomes
        another with the same `seq`. So a topic's `max.message.bytes` may change while messages are open.
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
        """The options of a message with what the outputs' dialects need for it switched on, and nothing for nobody.

        `stream_tool_input` stays None where a dialect streams although nobody said so: True is the message's own word.
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
        """The settings that a configuration asks for. Raises `ConfigError` for names that do not exist."""
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
        settings = cls(
            defaults=config.parser.options,
            codec=config.parser.codec,
            outputs=(OutputSpec(config.topics.events), calls, *answers, *extra),
            rendered=tuple(config.gateway.dialects),
            limits=config.limits,
            dlq=config.topics.dlq,
            traced=config.worker.log_level == "DEBUG",
            max_age_ms=int(config.worker.max_age_s * 1000),
        )
        if problems := list(settings.problems()):
            raise ConfigError(problems)
        return settings

    def problems(self) -> Iterator[str]:
        """A sentence for each name that does not exist."""
        try:
            find_codec(self.codec)
        except UnknownCodec as problem:
            yield f"parser.codec: {problem}"
        for spec in self.outputs:
            try:
                find_dialect(spec.dialect)
            except ConfigError as problem:
                yield str(problem)
        try:
            compile_grammar(self.defaults, self.limits)
        except BadOpen as problem:
            yield f"parser: {problem}"
