"""`deploy/compose.yaml`: read by the reference reader, made of files that are there, and its commands carried out."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.structure.tree import PACKAGE
from tests.support.deployment import DEPLOY, promtool, read_yaml, tool
from tokenmill.config import load_config
from tokenmill.events import Error, Finish, ToolCall
from tokenmill.library import Parser
from tokenmill.process import EXIT_S
from tokenmill.servers import KafkaServer, RedisServer
from tokenmill.servers.gateway import GatewayProcess
from tokenmill.servers.worker import WorkerProcess

COMPOSE = DEPLOY / "compose.yaml"
OURS = {"topics", "worker", "gateway", "front", "publisher"}
SOONEST_S = 10
"""Docker starts again at once what ran for so long."""


def read(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """What the reference reader says of a compose file."""
    command = [str(tool("go-program", "compose-spec")), "--format", "json", *options, str(path)]
    return subprocess.run(command, cwd=DEPLOY, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    """The services, with everything filled in."""
    answer = read(COMPOSE)
    assert answer.returncode == 0, answer.stderr
    found: dict[str, dict[str, Any]] = json.loads(answer.stdout)["services"]
    return found


def test_all_parts_are_there(services: dict[str, dict[str, Any]]) -> None:
    """Two workers, what they need, what is to be seen of them, and something to work on."""
    assert services.keys() == OURS | {"kafka", "redis", "prometheus", "grafana"}
    assert services["worker"]["deploy"]["replicas"] == 2


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        ("stop_grace_period: 30s", "stop_grace: 30s", "additional properties 'stop_grace' not allowed"),
        ("replicas: 2", "replicas: two", "replicas"),
    ],
)
def test_mistakes_are_found(right: str, wrong: str, complaint: str, tmp_path: Path) -> None:
    """The reader knows the schema."""
    broken = tmp_path / "compose.yaml"
    broken.write_text(COMPOSE.read_text().replace(right, wrong))
    answer = read(broken)
    assert answer.returncode != 0
    assert complaint in answer.stderr


def test_who_waits_waits_for_something(services: dict[str, dict[str, Any]]) -> None:
    """A service that is there: one that ends, one with a check of its health, or one that only has to be started."""
    for service in services.values():
        for name, waiting in service.get("depends_on", {}).items():
            other = services[name]
            assert (waiting["condition"] == "service_healthy") == ("healthcheck" in other and name not in OURS)
            assert (waiting["condition"] == "service_completed_successfully") == (name == "topics")


def test_what_is_mounted_is_there(services: dict[str, dict[str, Any]]) -> None:
    """Docker would make an empty folder of what is not, and say nothing."""
    volumes = [volume for service in services.values() for volume in service.get("volumes", ())]
    assert len(volumes) == 6
    assert all(Path(volume["source"]).exists() and volume["read_only"] for volume in volumes)


def test_nothing_can_be_reached_from_outside(services: dict[str, dict[str, Any]]) -> None:
    """Passwords there are none but one that everybody can read, so ports are open to this machine only."""
    ports = [port for service in services.values() for port in service.get("ports", ())]
    assert {port["target"] for port in ports} == {3000, 8090, 8093, 9090, 29092}
    assert {port["host_ip"] for port in ports} == {"127.0.0.1"}


@pytest.mark.parametrize("name", sorted(OURS))
def test_our_services_have_no_rights(name: str, services: dict[str, dict[str, Any]]) -> None:
    """The image as it would run elsewhere, with settings that the worker takes."""
    service = services[name]
    assert service["build"]["dockerfile"] == "deploy/Dockerfile"
    assert (service["read_only"], service["cap_drop"], service["tmpfs"]) == (True, ["ALL"], ["/tmp"])  # noqa: S108 -- in the container
    config = load_config(None, service["environment"])
    kafka = services["kafka"]["environment"]
    assert f"INSIDE://{config.kafka.bootstrap_servers}" in kafka["KAFKA_ADVERTISED_LISTENERS"].split(",")
    assert config.redis.url == "redis://redis:6379/0"


def test_the_drain_ends_before_docker_kills(services: dict[str, dict[str, Any]]) -> None:
    """`worker.shutdown_timeout_s` is below the grace period."""
    config = load_config(None, services["worker"]["environment"])
    assert services["worker"]["stop_grace_period"] == "30s"
    assert config.worker.shutdown_timeout_s < 30
    assert services["gateway"]["stop_grace_period"] == "30s"
    assert config.gateway.drain_s < 30
    assert services["front"]["stop_grace_period"] == "45s"
    assert max(config.front.drain_s, config.caller.drain_s) + 2 * EXIT_S < 45


def test_the_gateway_lets_in_who_has_the_key(services: dict[str, dict[str, Any]]) -> None:
    """Nobody else, as it listens to all in its container; the key is the one that the file says."""
    service = services["gateway"]
    config = load_config(None, service["environment"]).gateway
    (secret,) = service["secrets"]
    assert (config.auth, config.keys_file) == ("keys", f"/run/secrets/{secret['source']}")
    (key,) = tomllib.loads((DEPLOY / "compose" / "keys.toml").read_text())["keys"]
    said = re.search(r"x-api-key: (\S+)\"", COMPOSE.read_text())
    assert said is not None
    assert hashlib.sha256(said[1].encode()).hexdigest() == key["sha256"]
    assert f"127.0.0.1:{config.ops_port}/healthz" in service["healthcheck"]["test"][-1]


def test_the_front_lets_in_who_has_the_gateways_key(services: dict[str, dict[str, Any]]) -> None:
    """It listens to all in its container, too; and it can reach this machine, where a model server may be."""
    service = services["front"]
    config = load_config(None, service["environment"])
    (secret,) = service["secrets"]
    assert (config.gateway.auth, config.gateway.keys_file) == ("keys", f"/run/secrets/{secret['source']}")
    assert [port["target"] for port in service["ports"]] == [config.front.port]
    assert f"127.0.0.1:{config.front.ops_port}/healthz" in service["healthcheck"]["test"][-1]
    assert service["extra_hosts"] == ["host.docker.internal:host-gateway"]


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, ("model", "vllm", "http://host.docker.internal:8000")),
        (
            {"MODEL": "qwen3", "MODEL_KIND": "llama.cpp", "MODEL_URL": "http://box:8080"},
            ("qwen3", "llama.cpp", "http://box:8080"),
        ),
    ],
)
def test_variables_say_which_model_server_there_is(variables: dict[str, str], expected: tuple[str, str, str]) -> None:
    """On this machine unless they do. The reader knows no variables, so they are filled in here as Compose would."""
    answer = read(COMPOSE, "--no-interpolation")
    written = json.loads(answer.stdout)["services"]["front"]["environment"]["TOKENMILL_UPSTREAMS"]
    filled = re.sub(r"\$\{(\w+):-([^}]*)\}", lambda match: variables.get(match[1], match[2]), written)
    (upstream,) = load_config(None, {"TOKENMILL_UPSTREAMS": filled}).upstreams
    assert (*upstream.models, upstream.kind, *upstream.urls) == expected


def test_prometheus_scrapes_the_workers(services: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    """Its configuration and the rules, laid out as they are mounted, pass `promtool check config`."""
    home = tmp_path / "etc" / "prometheus"
    for volume in services["prometheus"]["volumes"]:
        target = tmp_path / volume["target"].lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if Path(volume["source"]).is_dir() else shutil.copy
        copy(volume["source"], target)
    said = promtool("check", "config", home / "prometheus.yml")
    assert "2 rule files found" in said
    found = read_yaml(home / "prometheus.yml")["scrape_configs"][0]["dns_sd_configs"]
    ports = {name: each["port"] for each in found for name in each["names"]}
    config = load_config(None, services["worker"]["environment"])
    assert ports == {
        "worker": config.worker.port,
        "gateway": config.gateway.ops_port,
        "front": config.front.ops_port,
    }


def test_grafana_finds_data_and_dashboard(services: dict[str, dict[str, Any]]) -> None:
    """The data source is the Prometheus beside it; the folder of dashboards is mounted, and one is the first page."""
    grafana = services["grafana"]
    mounted = {volume["target"]: Path(volume["source"]) for volume in grafana["volumes"]}
    (source,) = read_yaml(mounted["/etc/grafana/provisioning/datasources/datasource.yaml"])["datasources"]
    (port,) = services["prometheus"]["ports"]
    assert (source["type"], source["url"]) == ("prometheus", f"http://prometheus:{port['target']}")
    (provider,) = read_yaml(mounted["/etc/grafana/provisioning/dashboards/dashboards.yaml"])["providers"]
    first = Path(grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    assert str(first.parent) == provider["options"]["path"]
    assert (mounted[str(first.parent)] / first.name).exists()


def sample(services: dict[str, dict[str, Any]]) -> Path:
    """The text that is published."""
    (volume,) = services["publisher"]["volumes"]
    assert volume["target"] == services["publisher"]["command"][-1]
    return Path(volume["source"])


def test_the_sample_shows_something(services: dict[str, dict[str, Any]]) -> None:
    """Reasoning, text and calls without a fault; and it is not over before Docker would wait with the next."""
    text = sample(services).read_text()
    command = services["publisher"]["command"]
    parser = Parser(command[command.index("--format") + 1])
    events = [*parser.feed(text), *parser.finish()]
    assert [event.name for event in events if isinstance(event, ToolCall)] == ["get_weather", "find_tables"]
    assert not any(isinstance(event, Error) for event in events)
    assert isinstance(events[-1], Finish)
    assert len(text) / 4 / float(command[command.index("--rate") + 1]) > SOONEST_S


@pytest.mark.integration
def test_the_commands_work_together(
    services: dict[str, dict[str, Any]],
    start_kafka: Callable[..., KafkaServer],
    redis_server: RedisServer,
    tmp_path: Path,
) -> None:
    """Topics, a worker and the publisher as they are written down, on a Kafka with the settings written there."""
    written = services["kafka"]["environment"]
    alone = {name[6:].lower(): value for name, value in written.items() if name.endswith(("_FACTOR", "_ISR"))}
    kafka = start_kafka(**alone)
    place = {"/sample.txt": str(sample(services)), "kafka:9092": kafka.bootstrap}
    place["redis://redis:6379/0"] = redis_server.url

    def here(name: str, *more: str) -> str:
        """What a service prints, started in this environment."""
        environ = {key: place.get(value, value) for key, value in services[name]["environment"].items()}
        command = [place.get(word, word) for word in services[name]["command"]] if not more else [*more]
        run = subprocess.run(
            [sys.executable, "-m", "tokenmill", *command],
            env={**os.environ, "PYTHONPATH": str(PACKAGE.parent), **environ},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        return run.stdout

    here("topics")
    worker = {"kafka": {"bootstrap_servers": kafka.bootstrap}, "redis": {"url": redis_server.url}}
    with WorkerProcess(tmp_path / "worker", worker):
        here("publisher")
        told = here("worker", "tail", "--from-beginning", "--until-finish", "--timeout", "60")
    calls = [json.loads(line) for line in told.splitlines() if '"type":"tool-call"' in line]
    assert [call["name"] for call in calls] == ["get_weather", "find_tables"]

    keyed = {"auth": "keys", "keys_file": str(DEPLOY / "compose" / "keys.toml")}
    with GatewayProcess(tmp_path / "gateway", {"kafka": worker["kafka"], "gateway": keyed}) as gateway:
        path = f"/v1/conversations/{calls[0]['conversation_id']}/events?from=start&until=finish"
        asked = urllib.request.Request(f"{gateway.url}{path}", headers={"x-api-key": "only-for-this-machine"})  # noqa: S310 -- it is http
        with urllib.request.urlopen(asked, timeout=60) as answer:  # noqa: S310 -- the same
            served = [line[6:].decode().strip() for line in answer if line.startswith(b"data: ")]
    assert served == told.splitlines()
