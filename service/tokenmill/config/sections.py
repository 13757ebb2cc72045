"""Every setting: what it means, its unit, its default and why that.

Seconds (`_s`) are for people to wait, milliseconds (`_ms`) for what Kafka calls so.
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
    """How the broker is reached, and the place of this process in the consumer group."""

    bootstrap_servers: str = "localhost:9092"
    """Comma-separated `host:port`."""
    group_id: str = "tokenmill"
    """Workers of one group share the partitions."""
    group_instance_id: str | None = None
    """Static membership: a name that outlives a restart, such as the pod's. A rolling restart then moves no partition.
    Of two processes with the same one the later ends with exit code 1."""
    client_id: str = "tokenmill"
    """Name of this client in the broker's logs and quotas."""
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """With or without TLS, with or without a login."""
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
    called for every login, so it is the place to renew what expires. If it raises, the login is tried again, and the
    log names the kind of error and the line of code, not the error's text."""
    ssl_cafile: str = ""
    """Empty: the system's certificate authorities."""
    ssl_certfile: str = ""
    """Of this client, where the broker asks for one."""
    ssl_keyfile: str = ""
    """Of the certificate."""
    ssl_password: str = ""
    """Of the key file."""
    ssl_password_file: str = ""
    """A file that holds it, instead of `ssl_password`."""
    session_timeout_ms: PositiveInt = 30_000
    """Silence after which the broker gives a member's partitions to others: takeover after a crash takes this long."""
    heartbeat_interval_ms: PositiveInt = 3_000
    """Between two signs of life to the group; at most a third of the session timeout."""
    rebalance_timeout_ms: PositiveInt = 60_000
    """How long the others wait for a member to finish what is in flight."""
    request_timeout_ms: PositiveInt = 90_000
    """Longer than the rebalance timeout: joining a group is an ordinary request that waits for the rebalance."""
    transactional_id_prefix: str = "tokenmill"
    """With `worker.delivery = "exactly-once"`: first part of the names `<prefix>-<group>-<topic>-<partition>` of the
    producers, for the broker's rules of access. The same in all workers of a group: it is what fences a dead owner."""
    startup_timeout_s: Positive = 300
    """How long an unreachable broker is tried at start before the process ends with exit code 1."""
    producer: dict[str, str | int] = {}
    """Settings of the client that writes, under aiokafka's names: `{ compression_type = "lz4" }`. Those that promises
    rest on are refused."""
    consumer: dict[str, str | int | bool] = {}
    """Of the clients that read, likewise: `{ client_rack = "eu-1a" }` reads from a replica that is near."""


class Redis(Section, frozen=True, kw_only=True):
    """Where snapshots are kept. Redis is a cache: nothing is lost without it, recovery takes longer."""

    url: str = "redis://localhost:6379/0"
    """`redis://`, `rediss://` (TLS) or `unix://`, with user and password if need be. `memory://` keeps snapshots in the
    worker, for a machine without Redis: recovery is by replay then. An authority of one's own is given as
    `rediss://…?ssl_ca_certs=/path`."""
    url_file: str = ""
    """A file that holds the URL, instead of `url`: it may hold a password."""
    timeout_s: Positive = 0.25
    """Of one command: a slow Redis is given up soon and never slows the token path."""
    ttl_s: PositiveInt = 86_400
    """Keys that nobody writes any more expire after this time; below the 7 days that Kafka keeps a producer's id."""
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
    """What the tool runners answer."""
    tool_state: str = "tool-state"
    """Where `tokenmill tools run` keeps what became of each call; compacted. Only it writes there."""
    tool_control: str = "tool-control"
    """What people have to say about calls: approvals, which are asked for there, too, and cancels."""
    requests: str = "requests"
    """What clients of the front ask, keyed by conversation: prompts are on it, for a day."""
    completions: str = ""
    """Output: complete answers as OpenAI's `chat.completion` objects, keyed conversation/message/choice. Off while
    empty: with it every open message keeps its text."""
    sessions: str = ""
    """Output: what each answer adds to its conversation's session, keyed like completions. Off while empty. The topic
    is compacted; a copy is in Redis, which `tokenmill sessions show` reads."""
    dlq: str = "tokens.dlq"
    """Dead letters: rejected records, unchanged, with the reason in their headers."""


class ParserSection(Options, frozen=True, kw_only=True):
    """Codec of the input topic, and what a message's `open` leaves out."""

    codec: str = "native"
    """How records are read that have no header `tm-codec`."""

    @property
    def options(self) -> Options:
        """Only the options: the defaults of every message."""
        return Options(**{name: getattr(self, name) for name in Options.__struct_fields__})


class Worker(Section, frozen=True, kw_only=True):
    """How the worker works."""

    delivery: Delivery = "at-least-once"
    """Whether a crash may publish an event again, byte for byte the same, or never. With exactly-once, events are
    published in transactions: readers need `isolation.level=read_committed`, and see an event some 20 ms later."""
    bind: str = "0.0.0.0"  # noqa: S104 # metrics and health are asked for from outside the pod
    """Address of the web endpoints."""
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8080
    """Port of `/metrics`, `/healthz` and `/readyz`; 0 takes a free one."""
    commit_interval_ms: PositiveInt = 100
    """Between two commits of a partition's offset: what a crash makes the next owner publish again. At-least-once."""
    transaction_interval_ms: PositiveInt = 50
    """Between two transactions of a partition that catches up. One that has caught up begins the next as soon as there
    is something to say. Exactly-once."""
    transaction_timeout_ms: PositiveInt = 15_000
    """A transaction that is not over by then is aborted, and its partition begins again with what is committed. For so
    long a dead worker's transaction can hold readers back, if nobody takes its partition over. With exactly-once,
    and always for `tokenmill tools run`."""
    snapshot_interval_s: Positive = 10
    """Between two snapshots of a partition: what a crash makes the next owner parse again, silently."""
    idle_timeout_s: Positive = 900
    """A message without a chunk for this long is finished with reason `timeout`."""
    max_age_s: Positive = 86_400
    """A message that is open for this long by the timestamps of the log is finished with reason `timeout`, though it
    still gets chunks. The input's `retention.ms` should be longer than this and the longest outage together, lest a
    message loses its beginning."""
    shutdown_timeout_s: Positive = 25
    """From SIGTERM to exit; below the 30 s that Kubernetes gives by default."""
    state_mib: PositiveInt = 2_048
    """What is open on all partitions together: messages, streams, and each tool list once. Above it input pauses and
    the longest idle messages and streams are closed. Messages that share a tool list, or bring a short one, leave more
    room. Lists of ended messages do not count: they are small, and go with the next 10,000 records."""
    log_format: Literal["plain", "json"] = "plain"
    """Lines for people, or a JSON object a line for a log collector."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """INFO tells of assignments, restores and stops; nothing is logged for each record. DEBUG shows the source of every
    call beside what was made of it: what the model wrote is in the log then."""
    stall_timeout_s: Positive = 60
    """Lag, or output to a topic, without progress for this long ends the process with exit code 1, for the supervisor
    to restart it."""


class ExtraOutput(Section, frozen=True, kw_only=True):
    """One more topic that events are written to."""

    topic: str
    """Name of the topic."""
    dialect: str = "native"
    """How events are written."""
    events: list[str] = []
    """Types of the events to write; empty: all."""
    cloudevents: Literal["", "binary", "structured"] = ""
    """Its records are CloudEvents 1.0: by headers beside the payload, or as JSON around it. Empty: they are not."""
    retention_s: PositiveInt | None = None
    """For how long `tokenmill topics create` lets the topic keep a record. Left out: an hour for the dialect `agent`,
    whose rows are for those who watch, and what the broker does for every other."""


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
