"""The constraints between settings: each names its keys and describes the problem in a sentence."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from urllib.parse import urlsplit

from tokenmill.codecs import find_codec
from tokenmill.config.base import Contradiction, wrong, wrong_pair
from tokenmill.config.client_settings import client_contradictions
from tokenmill.config.front_relations import NO_BASE, front_contradictions, is_base
from tokenmill.config.gateway_relations import gateway_contradictions
from tokenmill.config.sections import Config
from tokenmill.config.tools import RULE
from tokenmill.dialects import DIALECTS
from tokenmill.errors import BadOpen, UnknownCodec
from tokenmill.events import EVENT_TYPES
from tokenmill.formats import compile_grammar
from tokenmill.limits import KIB
from tokenmill.parser.options import refused
from tokenmill.registry import known_names

ESCAPED = 6
"""Bytes of the longest JSON escape of a character: a delta of such characters alone must fit into an output record."""

ENVELOPE_BYTES = 8 * KIB
"""Bytes of an output record besides its text: ids of 1 KiB each, in the payload, the key and the headers."""

PRODUCER_ID_S = 7 * 86_400
"""Seconds that Kafka keeps a producer's id; a snapshot's epoch must not outlive it."""

REQUESTS_S = 86_400
"""Seconds that the topic `requests` keeps a request: within them a second one with its key is recognized."""

CALLS_S = 7 * 86_400
"""Seconds that the topic `tool-state` keeps what became of a call: within them no call is run a second time."""

BROKER_TRANSACTION_MS = 900_000
"""Milliseconds of the longest transaction that a broker allows by default."""

INTERVALS = 10
"""Transactions that must fit into the timeout of one."""

REDIS_SCHEMES = ("redis://", "rediss://", "unix://", "memory://")

DATABASE = re.compile(r"/?\d*", re.ASCII)
"""Path of a URL of Redis; another one would silently mean database 0."""

SERVER = re.compile(r"(\[[^\s\[\]]+\]|[^\s\[\]/]+):([0-9]{1,5})")
"""A broker's address: a host name or an IP address, in brackets if it has colons, with a port; not a URL."""

PORTS = 65_535

TOPIC = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}")
"""A topic's name that the broker accepts."""

_TYPES = [str(event.__struct_config__.tag) for event in EVENT_TYPES]


def contradictions(config: Config) -> Iterator[Contradiction]:
    """Every constraint that does not hold."""
    yield from _group(config)
    yield from _security(config)
    yield from client_contradictions(config.kafka)
    yield from _topics(config)
    yield from _outputs(config)
    yield from _parser(config)
    yield from _redis(config)
    yield from _sizes(config)
    yield from _times(config)
    yield from _kept(config)
    yield from _transactions(config)
    yield from _tools(config)
    yield from gateway_contradictions(config)
    yield from front_contradictions(config)
    yield from _telemetry(config)


def _group(config: Config) -> Iterator[Contradiction]:
    kafka = config.kafka
    groups = {f"{name}.group_id": getattr(config, name).group_id for name in ("kafka", "tools", "caller")}
    for key, group in groups.items():
        if not group:
            yield wrong(key, "must not be empty: the processes of one group share the partitions")
    for (key, group), (other, same) in combinations(groups.items(), 2):
        if group and group == same:
            yield wrong_pair(other, key, "must differ from {}: each group reads another topic")
    if not all(_is_server(server.strip()) for server in kafka.bootstrap_servers.split(",")):
        yield wrong("kafka.bootstrap_servers", "must be host:port, or several with commas between")
    if kafka.heartbeat_interval_ms * 3 > kafka.session_timeout_ms:
        yield wrong_pair(
            "kafka.heartbeat_interval_ms",
            "kafka.session_timeout_ms",
            "must be at most a third of {}, or one lost heartbeat ends the membership",
        )
    if kafka.session_timeout_ms > kafka.rebalance_timeout_ms:
        yield wrong_pair("kafka.session_timeout_ms", "kafka.rebalance_timeout_ms", "must be at most {}")
    if kafka.rebalance_timeout_ms >= kafka.request_timeout_ms:
        yield wrong_pair(
            "kafka.rebalance_timeout_ms",
            "kafka.request_timeout_ms",
            "must be less than {}: joining a group is a request that waits for the rebalance",
        )


def _is_server(address: str) -> bool:
    """Whether it has a port, and a host that can be resolved."""
    found = SERVER.fullmatch(address)
    if found is None or int(found[2]) > PORTS:
        return False
    try:
        found[1].encode("idna")
    except UnicodeError:
        return False
    return True


def _security(config: Config) -> Iterator[Contradiction]:
    kafka = config.kafka
    sasl = kafka.security_protocol.startswith("SASL")
    bearer = kafka.sasl_mechanism == "OAUTHBEARER"
    for key, given in (("kafka.sasl_username", kafka.sasl_username), ("kafka.sasl_password", kafka.sasl_password)):
        if bearer and given:
            yield wrong_pair(key, "kafka.sasl_mechanism", "has no effect where {} is OAUTHBEARER")
        elif (sasl and not bearer) != bool(given):
            yield wrong_pair(key, "kafka.security_protocol", "is needed where {} is SASL_…, and only there")
    if (sasl and bearer) != bool(kafka.sasl_token_provider):
        yield wrong_pair(
            "kafka.sasl_token_provider", "kafka.sasl_mechanism", "is needed where {} is OAUTHBEARER, and only there"
        )
    if bearer and kafka.security_protocol == "SASL_PLAINTEXT":
        yield wrong_pair("kafka.security_protocol", "kafka.sasl_mechanism", "must be SASL_SSL where {} is OAUTHBEARER")
    if bool(kafka.ssl_certfile) != bool(kafka.ssl_keyfile):
        yield wrong_pair("kafka.ssl_certfile", "kafka.ssl_keyfile", "must be set together with {}")
    for name in ("ssl_cafile", "ssl_certfile"):
        if getattr(kafka, name) and not kafka.security_protocol.endswith("SSL"):
            yield wrong_pair(f"kafka.{name}", "kafka.security_protocol", "has no effect where {} is without SSL")


def _telemetry(config: Config) -> Iterator[Contradiction]:
    endpoint = config.telemetry.endpoint
    if endpoint and not is_base(endpoint):
        yield wrong("telemetry.endpoint", NO_BASE)


def _topics(config: Config) -> Iterator[Contradiction]:
    names = {f"topics.{key}": getattr(config.topics, key) for key in config.topics.__struct_fields__}
    names |= {f"outputs[{number}].topic": output.topic for number, output in enumerate(config.outputs)}
    names = {key: name for key, name in names.items() if name or key not in ("topics.completions", "topics.sessions")}
    for key, name in names.items():
        if not TOPIC.fullmatch(name):
            yield wrong(key, f"{name!r} is not a topic name: 1 to 249 letters, digits, '.', '_' and '-'")
    for topic, uses in Counter(names.values()).items():
        if uses > 1:
            keys = tuple(key for key, name in names.items() if name == topic)
            yield keys, f"{keys[-1]}: the topic {topic!r} is also {' and '.join(keys[:-1])}; each needs its own"


def _outputs(config: Config) -> Iterator[Contradiction]:
    for number, output in enumerate(config.outputs):
        if DIALECTS.find(output.dialect) is None:
            sentence = f"unknown dialect {output.dialect!r}; {DIALECTS.instead_of(output.dialect)}"
            yield wrong(f"outputs[{number}].dialect", sentence)
        for name in output.events:
            if name not in _TYPES:
                sentence = f"no event is of type {name!r}; {known_names(name, _TYPES)}"
                yield wrong(f"outputs[{number}].events", sentence)


def _parser(config: Config) -> Iterator[Contradiction]:
    try:
        find_codec(config.parser.codec)
    except UnknownCodec as error:
        yield wrong("parser.codec", str(error))
    options = config.parser.options
    for key in options.__struct_fields__:
        for sentence in refused(key, getattr(options, key)):
            yield (f"parser.{key}",), f"parser: {sentence}"
    try:
        compile_grammar(options, config.limits)
    except BadOpen as error:
        yield ("parser.format",), f"parser: {error}"


def _redis(config: Config) -> Iterator[Contradiction]:
    url = config.redis.url  # never part of a message: it may hold a password
    if not url.startswith(REDIS_SCHEMES):
        yield wrong("redis.url", f"must begin with one of {', '.join(REDIS_SCHEMES)}")
    elif not _has_port(url):
        yield wrong("redis.url", "the port must be a number up to 65535")
    elif url.startswith("redis") and not DATABASE.fullmatch(urlsplit(url).path):
        yield wrong("redis.url", "the path must be the number of a database, as in redis://localhost:6379/0")


def _has_port(url: str) -> bool:
    """Whether the port of a URL is valid or left out."""
    try:
        return urlsplit(url).port != 0
    except ValueError:
        return False


def _sizes(config: Config) -> Iterator[Contradiction]:
    limits = config.limits
    for name, problem in limits.problems():
        yield (f"limits.{name}",), problem
    if limits.delta_chars * ESCAPED + ENVELOPE_BYTES > limits.output_bytes:
        yield wrong_pair(
            "limits.delta_chars",
            "limits.output_bytes",
            f"must be less than {{}} by a factor of {ESCAPED}, so that a delta fits however JSON escapes it",
        )
    if limits.call_chars + ENVELOPE_BYTES > limits.output_bytes:
        yield wrong_pair("limits.call_chars", "limits.output_bytes", "must fit {}")


def _times(config: Config) -> Iterator[Contradiction]:
    if config.redis.ttl_s <= config.worker.snapshot_interval_s:
        yield wrong_pair("redis.ttl_s", "worker.snapshot_interval_s", "must be longer than {}")
    if config.redis.ttl_s >= PRODUCER_ID_S:
        yield wrong("redis.ttl_s", "must be below 7 days, the time for which Kafka keeps a producer's id")
    if config.worker.idle_timeout_s > config.worker.max_age_s:
        yield wrong_pair("worker.idle_timeout_s", "worker.max_age_s", "must be at most {}")
    if config.worker.commit_interval_ms >= config.worker.stall_timeout_s * 1_000:
        yield wrong_pair("worker.commit_interval_ms", "worker.stall_timeout_s", "must be shorter than {}")


def _kept(config: Config) -> Iterator[Contradiction]:
    front = config.front
    if front.known_s > REQUESTS_S:
        others = ("front.retry_s", "front.answer_s")
        together = " and ".join(others)
        sentence = f"must be at most a day, for which `requests` keeps them, and so must {together} together"
        yield wrong("front.remember_s", sentence, *others)
    # Without upstreams no front is configured here: its section has the defaults.
    if config.upstreams and front.answer_s > config.worker.max_age_s:
        yield wrong_pair("front.answer_s", "worker.max_age_s", "must be at most {}, or a worker ends the answer before")
    if config.tools.expire_s > CALLS_S:
        sentence = "must be at most 7 days, the time for which tool-state keeps what became of a call"
        yield wrong("tools.expire_s", sentence)


def _transactions(config: Config) -> Iterator[Contradiction]:
    worker = config.worker
    if not config.kafka.transactional_id_prefix:
        sentence = "must not be empty: the broker's access rules are about names that begin with it"
        yield wrong("kafka.transactional_id_prefix", sentence)
    if worker.transaction_timeout_ms > BROKER_TRANSACTION_MS:  # tool runners always use transactions
        sentence = f"must be at most {BROKER_TRANSACTION_MS}, the broker's transaction.max.timeout.ms"
        yield wrong("worker.transaction_timeout_ms", sentence)
    if worker.delivery == "at-least-once":
        return
    if worker.transaction_interval_ms * INTERVALS > worker.transaction_timeout_ms:
        yield wrong_pair(
            "worker.transaction_interval_ms",
            "worker.transaction_timeout_ms",
            f"must be less than {{}} by a factor of {INTERVALS}, so that a slow broker aborts nothing",
        )
    if worker.transaction_timeout_ms >= worker.stall_timeout_s * 1_000:
        yield wrong_pair("worker.transaction_timeout_ms", "worker.stall_timeout_s", "must be shorter than {}")


def _tools(config: Config) -> Iterator[Contradiction]:
    for number, row in enumerate(config.tools.policy):
        if not re.fullmatch(RULE, row):
            expected = "allow, ask or deny and a tool, as in `ask files__write(path=/srv/*, mode=w)`"
            sentence = f"{row!r}: expected {expected}; a pattern can't contain ( ) = or ,"
            yield wrong(f"tools.policy[{number}]", sentence, "tools.policy")
    if config.tools.approve_s > config.tools.expire_s:
        yield wrong_pair(
            "tools.approve_s", "tools.expire_s", "must be at most {}, or the call would be too old by then"
        )
