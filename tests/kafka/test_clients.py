"""Clients from settings."""

import ssl
import traceback
from pathlib import Path

import pytest
from aiokafka.errors import KafkaConnectionError

from tokenmill.config import Kafka
from tokenmill.errors import ConfigError, Unavailable
from tokenmill.kafka.calls import stopped
from tokenmill.kafka.clients import (
    READER_WAIT_MS,
    Tokens,
    client_options,
    from_leaders,
    make_admin,
    make_consumer,
    make_producer,
    make_reader,
)
from tokenmill.servers.process import free_port


def test_plain_settings_become_plain_options() -> None:
    """No credentials, no TLS."""
    options = client_options(Kafka(bootstrap_servers="a:1,b:2"))
    assert options["bootstrap_servers"] == "a:1,b:2"
    assert not {"ssl_context", "sasl_mechanism"} & options.keys()


def test_secure_settings_become_a_tls_context_and_credentials() -> None:
    """Certificates are checked against the system's authorities unless a file is given."""
    kafka = Kafka(security_protocol="SASL_SSL", sasl_mechanism="PLAIN", sasl_username="u", sasl_password="p")
    options = client_options(kafka)
    assert options["ssl_context"].verify_mode is ssl.CERT_REQUIRED
    assert (options["sasl_mechanism"], options["sasl_plain_username"], options["sasl_plain_password"]) == (
        "PLAIN",
        "u",
        "p",
    )


async def test_tokens_come_from_the_function_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for each login: a token expires."""
    (tmp_path / "own_tokens.py").write_text("n = 0\nasync def token():\n    global n\n    n += 1\n    return f't{n}'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    kafka = Kafka(security_protocol="SASL_SSL", sasl_mechanism="OAUTHBEARER", sasl_token_provider="own_tokens:token")
    provider = client_options(kafka)["sasl_oauth_token_provider"]
    assert [await provider.token(), await provider.token()] == ["t1", "t2"]


async def test_what_a_token_function_raises_is_a_lost_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any other error would end the client's background tasks for good. What the function raised may quote a secret."""
    (tmp_path / "failing_tokens.py").write_text("async def token():\n    raise ValueError('s3cret')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(KafkaConnectionError) as raised:
        await Tokens("failing_tokens:token").token()
    assert "failing_tokens:token raised ValueError in token, failing_tokens.py:2" in str(raised.value)
    assert "s3cret" not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize("name", ["nowhere:token", "asyncio:nothing", "asyncio", "os:getcwd", ":x"])
def test_a_token_provider_that_is_none_is_refused_by_name(name: str) -> None:
    """When the client is made: a login that fails later would look like a refusal of the broker."""
    kafka = Kafka(security_protocol="SASL_SSL", sasl_mechanism="OAUTHBEARER", sasl_token_provider=name)
    with pytest.raises(ConfigError, match=f"kafka.sasl_token_provider: .*{name}"):
        client_options(kafka)


def test_a_client_certificate_is_loaded(tmp_path: Path) -> None:
    """A wrong or missing file is refused by name when the client is made, not when it is first used."""
    wrong, missing = tmp_path / "cert.pem", tmp_path / "missing.pem"
    wrong.write_text("no certificate")
    for path in (str(wrong), str(missing)):
        with pytest.raises(ConfigError, match=rf"kafka\.ssl_certfile: {path} "):
            client_options(Kafka(security_protocol="SSL", ssl_certfile=path, ssl_keyfile=path))
        with pytest.raises(ConfigError, match=rf"kafka\.ssl_cafile: {path} "):
            client_options(Kafka(security_protocol="SSL", ssl_cafile=path))


async def test_an_admin_client_without_a_broker_is_unavailable() -> None:
    """And leaves nothing behind."""
    with pytest.raises(Unavailable, match="connect"):
        async with make_admin(Kafka(bootstrap_servers=f"127.0.0.1:{free_port()}")):
            pass


async def test_an_empty_static_name_is_none() -> None:
    """As a variable has it that a pod does not need."""
    consumer = make_consumer(Kafka(group_instance_id=""))
    assert consumer._group_instance_id is None
    await stopped(consumer)


async def test_settings_of_the_client_are_passed_on() -> None:
    """They override the defaults; a batch is never larger than its topic takes."""
    kafka = Kafka(
        producer={"compression_type": "zstd", "max_batch_size": 200_000},
        consumer={"client_rack": "eu-1a", "fetch_max_wait_ms": 7},
    )
    producers = [make_producer(kafka, size) for size in (100_000, 300_000)]
    assert [producer._message_accumulator._batch_size for producer in producers] == [100_000, 200_000]
    assert {producer._compression_type for producer in producers} == {"zstd"}
    consumers = make_consumer(kafka), make_reader(kafka)
    assert {(consumer._client_rack, consumer._fetch_max_wait_ms) for consumer in consumers} == {("eu-1a", 7)}
    for client in (*producers, *consumers):
        await stopped(client)


async def test_a_setting_may_only_shorten_how_long_a_reader_waits() -> None:
    """Readers that take silence for a lost broker expect an answer in their time, whatever members of groups have."""
    kafka = Kafka(consumer={"fetch_max_wait_ms": 5_000, "client_rack": "eu-1a"})
    readers = make_reader(kafka, 300), make_reader(from_leaders(kafka))
    assert [reader._fetch_max_wait_ms for reader in readers] == [300, READER_WAIT_MS]
    assert [reader._client_rack for reader in readers] == ["eu-1a", None]
    for reader in readers:
        await stopped(reader)
