"""Every relation between settings, each with the smallest configuration that breaks it."""

from typing import Any

import msgspec
import pytest

from tokenmill.config import Config
from tokenmill.config.relations import CALLS_S, REQUESTS_S, contradictions
from tokenmill.kafka.topics import ASKED_MS, KEPT_MS

FRONT_KEPT = ("front.remember_s", "front.retry_s", "front.answer_s")
MODELS = {"upstreams": [{"models": ["qwen3"], "urls": ["http://vllm:8000"]}]}
SASL = {"security_protocol": "SASL_SSL", "sasl_username": "u", "sasl_password": "p"}


def config(**sections: Any) -> Config:
    return msgspec.convert(sections, Config)


def test_the_defaults_hold() -> None:
    """Nothing has to be configured for a consistent whole."""
    assert list(contradictions(Config())) == []


@pytest.mark.parametrize(
    ("keys", "broken"),
    [
        (("kafka.heartbeat_interval_ms", "kafka.session_timeout_ms"), {"kafka": {"heartbeat_interval_ms": 10_001}}),
        (("kafka.session_timeout_ms", "kafka.rebalance_timeout_ms"), {"kafka": {"session_timeout_ms": 60_001}}),
        (("kafka.rebalance_timeout_ms", "kafka.request_timeout_ms"), {"kafka": {"rebalance_timeout_ms": 90_000}}),
        (("kafka.sasl_username", "kafka.security_protocol"), {"kafka": SASL | {"sasl_username": ""}}),
        (("kafka.sasl_password", "kafka.security_protocol"), {"kafka": {"sasl_password": "p"}}),
        (
            ("kafka.ssl_certfile", "kafka.ssl_keyfile"),
            {"kafka": {"security_protocol": "SSL", "ssl_certfile": "c.pem"}},
        ),
        (("kafka.ssl_cafile", "kafka.security_protocol"), {"kafka": {"ssl_cafile": "ca.pem"}}),
        (("topics.tokens", "topics.dlq"), {"topics": {"dlq": "tokens"}}),
        (("topics.events", "outputs[0].topic"), {"outputs": [{"topic": "events"}]}),
        (("topics.tokens",), {"topics": {"tokens": ""}}),
        (("outputs[0].topic",), {"outputs": [{"topic": ".."}]}),
        (("outputs[0].events",), {"outputs": [{"topic": "o", "events": ["finished"]}]}),
        (("outputs[0].dialect",), {"outputs": [{"topic": "o", "dialect": "esperanto"}]}),
        (("parser.codec",), {"parser": {"codec": "morse"}}),
        (("redis.url",), {"redis": {"url": "localhost:6379"}}),
        (("redis.url",), {"redis": {"url": "redis://localhost:default/0"}}),
        (("redis.url",), {"redis": {"url": "redis://localhost:65536/0"}}),
        (("redis.url",), {"redis": {"url": "redis://localhost:0/0"}}),
        (("redis.url",), {"redis": {"url": "redis://localhost:6379/prod"}}),
        (("kafka.group_id",), {"kafka": {"group_id": ""}}),
        (("tools.group_id",), {"tools": {"group_id": ""}}),
        (("caller.group_id",), {"caller": {"group_id": ""}}),
        (("tools.group_id", "kafka.group_id"), {"tools": {"group_id": "tokenmill"}}),
        (("caller.group_id", "tools.group_id"), {"caller": {"group_id": "g"}, "tools": {"group_id": "g"}}),
        (("kafka.bootstrap_servers",), {"kafka": {"bootstrap_servers": ""}}),
        (("kafka.bootstrap_servers",), {"kafka": {"bootstrap_servers": "a:9092,"}}),
        (("kafka.bootstrap_servers",), {"kafka": {"bootstrap_servers": "broker"}}),
        (("kafka.bootstrap_servers",), {"kafka": {"bootstrap_servers": "broker:65536"}}),
        (("kafka.bootstrap_servers",), {"kafka": {"bootstrap_servers": "[::1:9092"}}),
        (("kafka.bootstrap_servers",), {"kafka": {"bootstrap_servers": "a..b:9092"}}),
        (("kafka.bootstrap_servers",), {"kafka": {"bootstrap_servers": f"{'a' * 64}:9092"}}),
        (("kafka.bootstrap_servers",), {"kafka": {"bootstrap_servers": "SASL_SSL://h:9092"}}),
        (("telemetry.endpoint",), {"telemetry": {"endpoint": "collector:4318"}}),
        (("telemetry.endpoint",), {"telemetry": {"endpoint": "https://user:secret@collector"}}),
        (("limits.calls",), {"limits": {"calls": 0}}),
        (("limits.delta_chars", "limits.output_bytes"), {"limits": {"delta_chars": 200_000}}),
        (("limits.call_chars", "limits.output_bytes"), {"limits": {"call_chars": 1_000_000}}),
        (("tools.policy[1]", "tools.policy"), {"tools": {"policy": ["ask a", "dney b"]}}),
        (("tools.policy[0]", "tools.policy"), {"tools": {"policy": ["deny a(b)"]}}),
        (("tools.approve_s", "tools.expire_s"), {"tools": {"approve_s": 901}}),
        (("redis.ttl_s", "worker.snapshot_interval_s"), {"redis": {"ttl_s": 10}}),
        (("redis.ttl_s",), {"redis": {"ttl_s": 7 * 86_400}}),
        (("worker.idle_timeout_s", "worker.max_age_s"), {"worker": {"max_age_s": 899}}),
        (("worker.commit_interval_ms", "worker.stall_timeout_s"), {"worker": {"stall_timeout_s": 0.1}}),
        (
            ("worker.transaction_interval_ms", "worker.transaction_timeout_ms"),
            {"worker": {"delivery": "exactly-once", "transaction_interval_ms": 2_000}},
        ),
        (
            ("worker.transaction_timeout_ms", "worker.stall_timeout_s"),
            {"worker": {"delivery": "exactly-once", "stall_timeout_s": 15}},
        ),
        (("worker.transaction_timeout_ms",), {"worker": {"transaction_timeout_ms": 1_000_000}}),
        (
            ("worker.transaction_timeout_ms",),
            {
                "worker": {
                    "delivery": "exactly-once",
                    "transaction_timeout_ms": 1_000_000,
                    "stall_timeout_s": 1_001,
                }
            },
        ),
        (
            ("kafka.transactional_id_prefix",),
            {"kafka": {"transactional_id_prefix": ""}},
        ),
        (FRONT_KEPT, {"front": {"remember_s": REQUESTS_S + 1}}),
        (FRONT_KEPT, {"front": {"answer_s": REQUESTS_S}}),
        (("front.answer_s", "worker.max_age_s"), {"worker": {"max_age_s": 899, "idle_timeout_s": 9}, **MODELS}),
        (("tools.expire_s",), {"tools": {"expire_s": CALLS_S + 1}}),
        (("topics.completions",), {"topics": {"completions": "not/a/name"}}),
        (("topics.events", "topics.sessions"), {"topics": {"sessions": "events"}}),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_broken_relation_names_its_keys(keys: tuple[str, ...], broken: dict[str, Any]) -> None:
    """One sentence a relation; it begins with a key and names the others."""
    ((blamed, sentence),) = contradictions(config(**broken))
    assert blamed == keys
    assert all(key in sentence for key in keys)


def test_an_unknown_format_is_refused() -> None:
    """Options that no message could open with are refused at start."""
    ((_, sentence),) = contradictions(config(parser={"format": ["hermes", "cobol"]}))
    assert sentence.startswith("parser: unknown format 'cobol'; known are plain, ")


@pytest.mark.parametrize("wrong", [{"min_delta_chars": -1}, {"max_buffer_chars": 5_000}, {"model": "m" * 20_000}])
def test_options_that_a_message_could_not_say_are_refused(wrong: dict[str, Any]) -> None:
    """The defaults of messages keep to the bounds of their `open`."""
    ((keys, sentence),) = contradictions(config(parser=wrong))
    (name,) = wrong
    assert keys == (f"parser.{name}",)
    assert sentence.startswith(f"parser: option '{name}': ")


def test_a_wrong_redis_url_is_not_quoted() -> None:
    """It may hold a password."""
    ((_, sentence),) = contradictions(config(redis={"url": "http://:hunter2@host"}))
    assert "hunter2" not in sentence


@pytest.mark.parametrize(
    "sections",
    [
        {"redis": {"url": "unix:///run/redis.sock"}},
        {"redis": {"url": "rediss://user:p%40ss@[::1]:6380/2"}},
        {"redis": {"url": "redis://redis"}},
        {"redis": {"url": "redis://redis/?db=2"}},
        {"redis": {"url": "memory://"}},
        {"worker": {"max_age_s": 899, "idle_timeout_s": 9}},
        {"kafka": {"bootstrap_servers": "a:9092, [::1]:9093"}},
        {"kafka": {"bootstrap_servers": "my_kafka.example.com.:9092,münchen.example:1,10.0.0.1:65535"}},
    ],
)
def test_what_looks_odd_holds(sections: dict[str, Any]) -> None:
    """Sockets, IPv6, no port where there is a default; messages shorter than answers of a front that there is not."""
    assert list(contradictions(config(**sections))) == []


def test_sasl_with_all_it_needs_holds() -> None:
    """Protocol, user and password together are fine."""
    assert list(contradictions(config(kafka=SASL))) == []


BEARER = {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER", "sasl_token_provider": "m:f"}


def test_a_token_provider_stands_for_name_and_password() -> None:
    """With OAUTHBEARER, and over TLS, because anybody who reads a token can use it."""
    wrong = (
        {**BEARER, "sasl_token_provider": ""},
        {**BEARER, "sasl_password": "p"},
        {**BEARER, "security_protocol": "SASL_PLAINTEXT"},
        {"sasl_token_provider": "m:f"},
    )
    said = [[keys[0] for keys, _ in contradictions(config(kafka=fields))] for fields in (BEARER, *wrong)]
    assert said == [
        [],
        ["kafka.sasl_token_provider"],
        ["kafka.sasl_password"],
        ["kafka.security_protocol"],
        ["kafka.sasl_token_provider"],
    ]
    ((_, sentence),) = contradictions(config(kafka={**BEARER, "sasl_username": "u"}))
    assert sentence == "kafka.sasl_username: has no effect where kafka.sasl_mechanism is OAUTHBEARER"


def test_topics_are_made_to_keep_what_must_not_be_forgotten() -> None:
    """The longest times that can be set are those of the topics."""
    assert (REQUESTS_S * 1000, CALLS_S * 1000) == (ASKED_MS, KEPT_MS)


def test_every_row_of_a_policy_that_is_none_is_told() -> None:
    """As it stands, with what was expected; good ones are not."""
    said = [
        sentence for _, sentence in contradictions(config(tools={"policy": ["Deny a*", "ask a(b=/c d/*)", "deny"]}))
    ]
    assert [sentence.partition(": expected")[0] for sentence in said] == [
        "tools.policy[0]: 'Deny a*'",
        "tools.policy[2]: 'deny'",
    ]
