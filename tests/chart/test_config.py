"""The application's configuration in the chart is its own: what is rendered is what it reads."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.chart.rendering import (
    CHART,
    EXAMPLES,
    Object,
    Refused,
    around_workers,
    container,
    hook,
    kind,
    one,
    render,
    values_of,
    worker,
)
from tokenmill.config import Config, load_config

MOUNT = "/etc/tokenmill"

DIFFERENT = {
    "kafka.bootstrap_servers": "in a cluster Kafka is no localhost",
    "redis.url": "nor is Redis",
    "worker.state_mib": "half of the memory that the pod gets",
    "worker.log_format": "a collector reads it",
}
"""Defaults of the chart that are not the application's, and why."""

EVERY_PART = {
    "topics.create": "job",
    "front.enabled": True,
    "caller.enabled": True,
    "tools.enabled": True,
    "tools.mcpServers": {"time": {"command": "mcp-server-time"}},
    "config.upstreams": [{"models": ["qwen3"], "kind": "vllm", "urls": ["http://vllm:8000"]}],
}
"""What has a configuration of its own beside workers and gateways."""

SECRETS = {
    "kafka/password": "open-sesame",
    "kafka/tls.password": "open-key",
    "redis/url": "rediss://:open-sesame@redis:6379/0",
}


def file_of(objects: list[Object]) -> str:
    ours = [found for found in around_workers(objects) if "tokenmill.toml" in found.get("data", {})]
    return str(one("ConfigMap", ours)["data"]["tokenmill.toml"])


def environment(objects: list[Object], folder: Path) -> dict[str, str]:
    """Variables of the worker's container; files that they name lie in the folder."""
    variables = {
        entry["name"]: entry.get("value", "from elsewhere").replace(MOUNT, str(folder))
        for entry in container(worker(objects))["env"]
    }
    for name, text in {"tokenmill.toml": file_of(objects), **SECRETS}.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return variables


def checked(folder: Path, example: Path | None = None, **values: Any) -> Config:
    """What the worker of a release reads. Raises `ConfigError`."""
    objects = render(example, {path.replace("__", "."): value for path, value in values.items()})
    return load_config(None, environment(objects, folder))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_worker_accepts_its_configuration(example: Path, tmp_path: Path) -> None:
    """File and variables together, for every example."""
    said = values_of(example)
    config = checked(tmp_path, example)
    for section, keys in said.get("config", {}).items():
        if section not in {"outputs", "upstreams", "gateway", "inspect", "tools", "front", "caller"}:
            assert {key: getattr(getattr(config, section), key) for key in keys} == keys


def test_the_defaults_are_those_of_the_application() -> None:
    """What `config` says of itself, it says only because templates read it; the exceptions have reasons."""
    said = values_of(CHART / "values.yaml")["config"]
    defaults = {
        f"{section}.{key}": (value, getattr(getattr(Config(), section), key))
        for section, keys in said.items()
        for key, value in keys.items()
    }
    assert {path for path, (ours, theirs) in defaults.items() if ours != theirs} == DIFFERENT.keys()


@pytest.mark.parametrize(
    "value",
    [
        {"model": 'quote " backslash \\ line\nbreak ünïcode <&>'},
        {"tools": [{"type": "function", "function": {"name": "a.b c", "parameters": {"enum": [1, 2.5, True, "x"]}}}]},
        {"original_schemas": {}, "content_arguments": []},
        {"min_delta_chars": 16_777_216},
        {"tool_choice": {"type": "function", "function": {"name": "f"}}},
    ],
)
def test_values_come_through_as_they_are(value: dict[str, Any]) -> None:
    """Text, numbers, lists and tables in tables: TOML of the chart's own making."""
    objects = render(values={"config.parser": value})
    assert tomllib.loads(file_of(objects))["parser"] == {"format": "plain", **value}


def test_outputs_are_tables() -> None:
    """A list of tables, in order."""
    outputs = [{"topic": "b", "dialect": "openai", "events": ["finish"]}, {"topic": "a", "retention_s": 60}]
    assert tomllib.loads(file_of(render(values={"config.outputs": outputs})))["outputs"] == outputs


def test_null_in_a_value_is_refused() -> None:
    """TOML has none; a key that is null is left out, as in Helm."""
    with pytest.raises(Refused, match="null has no place"):
        render(values={"config.parser.tools": [{"default": None}]})
    assert "start" not in tomllib.loads(file_of(render(values={"config.parser.start": None})))["parser"]


def test_a_url_in_a_secret_replaces_the_one_in_the_file(tmp_path: Path) -> None:
    """The application takes one of both."""
    config = checked(tmp_path, redis__existingSecret="redis-login")
    assert config.redis.url == SECRETS["redis/url"]


def test_a_login_in_a_secret_is_read_from_a_file(tmp_path: Path) -> None:
    """The user's name from a variable, the password never from one."""
    values = {"kafka__login__existingSecret": "login", "config__kafka__security_protocol": "SASL_SSL"}
    config = checked(tmp_path, None, **values)
    assert (config.kafka.sasl_username, config.kafka.sasl_password) == ("from elsewhere", "open-sesame")


def test_what_extra_env_says_goes_over_the_file(tmp_path: Path) -> None:
    """It is the application's own rule."""
    config = checked(tmp_path, extraEnv=[{"name": "TOKENMILL_WORKER__STATE_MIB", "value": "77"}])
    assert config.worker.state_mib == 77


def test_a_change_of_the_configuration_replaces_the_pods() -> None:
    """And nothing else does."""
    sums = [
        worker(render(values=values))["spec"]["template"]["metadata"]["annotations"]["checksum/config"]
        for values in ({}, {"config.parser.format": "hermes"}, {"worker.replicas": 3})
    ]
    assert sums[0] != sums[1]
    assert sums[0] == sums[2]


def test_the_topics_job_has_the_same_configuration() -> None:
    """In a ConfigMap of its own, because it runs before the release's."""
    objects = render()
    assert hook("ConfigMap", objects)["data"]["tokenmill.toml"] == file_of(objects)


def test_only_the_gateway_hears_of_its_inspector(tmp_path: Path) -> None:
    """Whoever has no rights of the gateway would take an address that others reach for an open door, and not start."""
    objects = render(CHART / "ci" / "gateway-keys-values.yaml", EVERY_PART)
    files = {found["metadata"]["name"]: found["data"]["tokenmill.toml"] for found in kind("ConfigMap", objects)}
    assert tomllib.loads(files.pop("mill-tokenmill-gateway"))["inspect"] == {"bind": "0.0.0.0"}  # noqa: S104 -- in its pod
    assert "mill-tokenmill-topics" in files
    for name, text in files.items():
        assert "inspect" not in tomllib.loads(text), name
    del files["mill-tokenmill-front"]  # has keys, which are in a file beside it
    for name, text in files.items():
        path = tmp_path / f"{name}.toml"
        path.write_text(text)
        assert load_config(path, {}).gateway.auth == "none"


def test_the_inspector_shows_questions_for_as_long_as_runners_wait() -> None:
    """A gateway without it hears nothing of them."""
    said: dict[str, object] = {"config.tools.approve_s": 3600, "config.tools.expire_s": 7200, "config.tools.calls": 3}
    for inspect, expected in ((True, {"approve_s": 3600, "expire_s": 7200}), (False, None)):
        objects = render(CHART / "ci" / "gateway-keys-values.yaml", values={**said, "config.gateway.inspect": inspect})
        files = {found["metadata"]["name"]: found["data"]["tokenmill.toml"] for found in kind("ConfigMap", objects)}
        assert tomllib.loads(files["mill-tokenmill-gateway"]).get("tools") == expected
