"""Every setting: its meaning, its unit, its default and the reason for that.

Times are in seconds (`_s`), but in milliseconds (`_ms`) where Kafka's own settings are.
"""

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from tokenmill.config.base import Positive, PositiveInt, Section
from tokenmill.config.front import Caller, Front
from tokenmill.config.gateway import Gateway
from tokenmill.config.inspect import Inspect
from tokenmill.config.telemetry import TelemetrySection
from tokenmill.config.tools import Tools
from tokenmill.config.upstreams import Upstream
from tokenmill.limits import Limits
from tokenmill.parser.options import Options

Delivery: TypeAlias = Literal["at-least-once", "exactly-once"]


class Kafka(Section, frozen=True, kw_only=True):
    """The connection to the broker, and this process's place in the consumer group."""

    bootstrap_servers: str = "localhost:9092"
    """Comma-separated `host:port`."""
    group_id: str = "tokenmill"
    """Workers of one group share the partitions."""
    group_instance_id: str | None = None
    """Static membership: a name that outlives a restart, such as the pod's. A rolling restart then moves no partition.
    Of two processes with the same name, the later one ends with exit code 1."""
    client_id: str = "tokenmill"
    """Name of this client in the broker's logs and quotas."""
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """Whether to use TLS (SSL) and a login (SASL)."""
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] = "PLAIN"
    """How the login is made. PLAIN sends the password, OAUTHBEARER the token: with SASL_SSL only."""
    sasl_username: str = ""
    """Needed for PLAIN and SCRAM."""
    sasl_password: str = ""
    """Needed for PLAIN and SCRAM; better in `TOKENMILL_KAFKA__SASL_PASSWORD` or `sasl_password_file`."""
    sasl_password_file: str = ""
    """A file that holds the password, such as a mounted secret; instead of `sasl_password`. Read at start."""
    sasl_token_provider: str = ""
    """Needed for OAUTHBEARER: `module:function`, an `async` function without arguments that returns a token. It is
    called for every login, so it can renew tokens that expire. If it raises, the login is tried again, and the log
    names the kind of error and the line of code, not the error's text."""
    ssl_cafile: str = ""
    """Empty: the system's certificate authorities."""
    ssl_certfile: str = ""
    """Certificate of this client, if the broker asks for one."""
    ssl_keyfile: str = ""
    """Private key of the certificate."""
    ssl_password: str = ""
    """Password of the key file."""
    ssl_password_file: str = ""
    """A file that holds the password, instead of `ssl_password`."""
    session_timeout_ms: PositiveInt = 30_000
    """Silence after which the broker gives a member's partitions to others: takeover after a crash takes this long."""
    heartbeat_interval_ms: PositiveInt = 3_000
    """Time between two heartbeats to the group; at most a third of the session timeout."""
    rebalance_timeout_ms: PositiveInt = 60_000
    """How long the other members wait for one to finish its work in flight."""
    request_timeout_ms: PositiveInt = 90_000
    """Timeout of a request. Longer than the rebalance timeout, because joining a group waits for the rebalance."""
    transactional_id_prefix: str = "tokenmill"
    """First part of the names of producers that write in transactions, for the broker's access rules:
    `<prefix>-<group>-<topic>-<partition>` of tool runners and, with `worker.delivery = "exactly-once"`, of workers;
    `<prefix>-replay-<topic>` of `dlq replay`. All processes of a group need the same one: it fences a dead owner."""
    startup_timeout_s: Positive = 300
    """How long the process tries to reach the broker at start before it ends with exit code 1."""
    producer: dict[str, str | int] = {}
    """Settings of the producers, under aiokafka's names: `{ compression_type = "lz4" }`. Those that promises rest on
    are refused."""
    consumer: dict[str, str | int | bool] = {}
    """Settings of the consumers, likewise: `{ client_rack = "eu-1a" }` reads from a nearby replica."""


class Redis(Section, frozen=True, kw_only=True):
    """The store of snapshots. Redis is a cache: nothing is lost without it, but recovery takes longer."""

    url: str = "redis://localhost:6379/0"
    """`redis://`, `rediss://` (TLS) or `unix://`, with user and password if needed. `memory://` keeps snapshots in the
    worker, for a machine without Redis: it then recovers by replay. For your own certificate authority use
    `rediss://…?ssl_ca_certs=/path`."""
    url_file: str = ""
    """A file that holds the URL, instead of `url`: it may hold a password."""
    timeout_s: Positive = 0.25
    """Timeout of one command: a slow Redis is soon given up and never slows the token path."""
    ttl_s: PositiveInt = 86_400
    """Time after which keys that are no longer written expire; below the 7 days that Kafka keeps a producer's id."""
    key_prefix: str = "tokenmill"
    """First part of every key, so that several groups can share a Redis."""


class Topics(Section, frozen=True, kw_only=True):
    """Names of the topics. The outputs need as many partitions as `tokens` has."""

    tokens: str = "tokens"
    """Input: chunks, keyed by conversation id."""
    events: str = "events"
    """Output: every event, in the native dialect."""
    tool_calls: str = "tool-calls"
    """Output: complete calls without a problem, for tool runners."""
    tool_results: str = "tool-results"
    """Output of the tool runners: the results of calls."""
    tool_state: str = "tool-state"
    """State of each call, kept by `tokenmill tools run`, the only writer; compacted."""
    tool_control: str = "tool-control"
    """Requests for approval of calls, approvals, and cancels."""
    requests: str = "requests"
    """Requests of the front's clients, keyed by conversation; it holds prompts for a day."""
    completions: str = ""
    """Output: complete answers as OpenAI's `chat.completion` objects, keyed conversation/message/choice. Empty:
    off. If set, every open message keeps its text."""
    sessions: str = ""
    """Output: what each answer adds to its conversation's session, keyed like completions. Empty: off. The topic is
    compacted; `tokenmill sessions show` reads a copy in Redis."""
    dlq: str = "tokens.dlq"
    """Dead letters: rejected records, unchanged, with the reason in their headers."""


class ParserSection(Options, frozen=True, kw_only=True):
    """Codec of the input topic, and defaults for options that a message's `open` leaves out."""

    codec: str = "native"
    """Codec of records without the header `tm-codec`."""

    @property
    def options(self) -> Options:
        """Only the options: the defaults of every message."""
        return Options(**{name: getattr(self, name) for name in Options.__struct_fields__})


class Worker(Section, frozen=True, kw_only=True):
    """The worker."""

    delivery: Delivery = "at-least-once"
    """Whether a crash may publish an event again, byte for byte the same, or never. With exactly-once, events are
    published in transactions: readers need `isolation.level=read_committed`, and see an event some 20 ms later."""
    bind: str = "0.0.0.0"  # noqa: S104 # metrics and health are asked for from outside the pod
    """Address of the web endpoints."""
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8080
    """Port of `/metrics`, `/healthz` and `/readyz`; 0 takes a free one."""
    commit_interval_ms: PositiveInt = 100
    """Time between two commits of a partition's offset: after a crash the next owner publishes that much again.
    At-least-once only."""
    transaction_interval_ms: PositiveInt = 50
    """Time between two transactions of a partition that is catching up. One that has caught up begins the next as soon
    as there is output. Exactly-once only."""
    transaction_timeout_ms: PositiveInt = 15_000
    """Time after which an open transaction is aborted, and its partition starts again from the last commit. A dead
    worker's transaction can hold readers back for that long, if no other takes its partition over. Applies with
    exactly-once, and always to `tokenmill tools run`."""
    snapshot_interval_s: Positive = 10
    """Time between two snapshots of a partition: after a crash the next owner silently parses that much again."""
    idle_timeout_s: Positive = 900
    """Time without a chunk after which a message is finished with reason `timeout`."""
    max_age_s: Positive = 86_400
    """Age, by the timestamps of the log, at which a message is finished with reason `timeout`, even if it still gets
    chunks. The input's `retention.ms` should be longer than this and the longest outage together, or a message may
    lose its beginning."""
    shutdown_timeout_s: Positive = 25
    """Time from SIGTERM to exit; below the 30 s that Kubernetes gives by default."""
    state_mib: PositiveInt = 2_048
    """Memory for open messages and streams on all partitions together, with each tool list once. Above it, input pauses
    and the longest idle messages and streams are closed. Messages that share a tool list, or have a short one, leave
    more room. Lists of ended messages do not count: they are small, and go with the next 10,000 records."""
    log_format: Literal["plain", "json"] = "plain"
    """Plain lines for people, or one JSON object per line for a log collector. The log of every process, such as a
    gateway's, follows this key and the next."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """INFO reports assignments, restores and stops, but nothing for each record. DEBUG shows the source of every call
    and what was made of it, so the log then holds text of the model."""
    stall_timeout_s: Positive = 60
    """Time of lag, or of output to a topic, without progress after which the process ends with exit code 1, for the
    supervisor to restart it."""


class ExtraOutput(Section, frozen=True, kw_only=True):
    """An additional topic that events are written to."""

    topic: str
    """Name of the topic."""
    dialect: str = "native"
    """Dialect in which events are written."""
    events: list[str] = []
    """Types of the events to write; empty: all."""
    cloudevents: Literal["", "binary", "structured"] = ""
    """Whether its records are CloudEvents 1.0: with headers, or as JSON around the payload. Empty: they are not."""
    retention_s: PositiveInt | None = None
    """How long a record stays on a topic that `tokenmill topics create` makes. Left out: an hour for the dialect
    `agent`, whose rows are only for live viewers, and the broker's default for every other."""


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """All settings, each with its default."""

    kafka: Kafka = Kafka()
    redis: Redis = Redis()
    topics: Topics = Topics()
    parser: ParserSection = ParserSection()
    limits: Limits = Limits()
    worker: Worker = Worker()
    gateway: Gateway = Gateway()
    tools: Tools = Tools()
    front: Front = Front()
    caller: Caller = Caller()
    inspect: Inspect = Inspect()
    telemetry: TelemetrySection = TelemetrySection()
    upstreams: list[Upstream] = []
    outputs: list[ExtraOutput] = []
