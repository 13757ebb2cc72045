"""Runners of tools in a release: off by default, and with them everything that calls of models need."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.chart.rendering import (
    CHART,
    Object,
    Refused,
    Values,
    component,
    container,
    gateway,
    hook,
    kind,
    of_tools,
    one,
    pod_of,
    render,
    runner,
    values_of,
    worker,
)
from tests.chart.test_around import notes, ports
from tokenmill.config import Tools, load_config
from tokenmill.process import EXIT_S
from tokenmill.tools.server_file import Program, Remote, Server, read_servers

FULL = CHART / "ci" / "tools-values.yaml"
MINIMAL = CHART / "ci" / "tools-minimal-values.yaml"

ON: Values = {"tools.enabled": True, "tools.mcpServers": {"time": {"command": "mcp-server-time"}}}

GATEWAY: Values = {"gateway.enabled": True, "config.gateway.auth": "keys", "gateway.keys.existingSecret": "clients"}

TOKENS = {"TICKETS_TOKEN": "t", "FILES_TOKEN": "f"}


def files_of(objects: list[Object]) -> dict[str, str]:
    """What runners have in /etc/tokenmill of the ConfigMap."""
    return dict(one("ConfigMap", of_tools(objects))["data"])


def servers_of(objects: list[Object]) -> dict[str, Server]:
    """The servers that runners know, by name."""
    return {each.name: each for each in read_servers(files_of(objects)["servers.json"].encode(), TOKENS)}


def checksum(found: Object) -> str:
    """What pods start anew for."""
    return str(pod_of(found)["metadata"]["annotations"]["checksum/config"])


def test_without_them_nothing_of_them_is_there() -> None:
    """Neither objects nor settings."""
    objects = render()
    assert [found for found in objects if component(found).startswith("tools")] == []
    assert "tools" not in tomllib.loads(one("ConfigMap", objects)["data"]["tokenmill.toml"])


@pytest.mark.parametrize("example", [FULL, MINIMAL], ids=lambda path: path.stem)
def test_they_start_with_their_configuration(example: Path, tmp_path: Path) -> None:
    """File, variables and the files that they name: the application takes them, and answers on the port of the pod."""
    objects = render(example)
    found = container(runner(objects))
    assert (found["command"], found["args"]) == (["tokenmill"], ["tools", "run"])
    for name, content in {**files_of(objects), "kafka/password": "open-sesame"}.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    variables = {entry["name"]: entry.get("value", "from elsewhere") for entry in found["env"]}
    config = load_config(
        None, {name: text.replace("/etc/tokenmill", str(tmp_path)) for name, text in variables.items()}
    )
    said: dict[str, Any] = (values_of(example).get("config") or {}).get("tools", {})
    read = {key: getattr(config.tools, key) for key in said}
    assert read == {key: tuple(value) if isinstance(value, list) else value for key, value in said.items()}
    assert read_servers(Path(config.tools.servers_file).read_bytes(), TOKENS)
    assert found["ports"] == [{"name": "ops", "containerPort": config.tools.port}]
    assert config.gateway.auth == "none"


def test_the_servers_file_has_all_servers() -> None:
    """Entries of others as they are, those of the release where their Services are."""
    assert servers_of(render(FULL)) == {
        "tickets": Remote("tickets", "https://tickets.example.com/mcp", {"authorization": "Bearer t"}),
        "time": Program("time", "mcp-server-time", ("--local-timezone", "Europe/Paris"), memory_mib=256),
        "files": Remote("files", "http://mill-tokenmill-tools-files:8000/mcp", {"authorization": "Bearer f"}),
        "issues": Remote("issues", "http://mill-tokenmill-tools-issues:9000/api/mcp", call_s=120, calls=4),
    }


def test_a_file_of_ones_own_takes_its_place() -> None:
    """One that a volume brings; there is no other beside it."""
    objects = render(values={"tools.enabled": True, "config.tools.servers_file": "/srv/servers.json"})
    assert files_of(objects).keys() == {"tokenmill.toml"}
    assert tomllib.loads(files_of(objects)["tokenmill.toml"])["tools"]["servers_file"] == "/srv/servers.json"
    assert "TOKENMILL_TOOLS__SERVERS_FILE" not in {entry["name"] for entry in container(runner(objects))["env"]}


@pytest.mark.parametrize(
    ("change", "replaced"),
    [
        ({"config.tools.calls": 7}, {"tools"}),
        ({"tools.mcpServers": {"time": {"command": "other-clock"}}}, {"tools"}),
        ({"tools.servers": {"files": {"image": "files"}}}, {"tools"}),
        ({"config.gateway.heartbeat_s": 3}, {"gateway"}),
        ({"config.limits.output_bytes": 900_000}, {"worker", "gateway", "tools"}),
        ({"tools.extraEnv": [{"name": "A", "value": "b"}]}, set()),
    ],
)
def test_a_change_replaces_the_pods_that_it_is_for(change: Values, replaced: set[str]) -> None:
    """Workers and gateways have no use for settings of tools."""
    parts = {"worker": worker, "gateway": gateway, "tools": runner}
    before, after = (render(values={**ON, **GATEWAY, **values}) for values in ({}, change))
    assert {name for name, part in parts.items() if checksum(part(before)) != checksum(part(after))} == replaced


def test_probes_ask_the_port_of_operators() -> None:
    """Health never depends on Kafka, or on a server."""
    found = container(runner(render(FULL)))
    asked = {name: found[f"{name}Probe"] for name in ("startup", "liveness", "readiness")}
    assert {name: probe["httpGet"] for name, probe in asked.items()} == {
        "startup": {"path": "/healthz", "port": "ops"},
        "liveness": {"path": "/healthz", "port": "ops"},
        "readiness": {"path": "/readyz", "port": "ops"},
    }
    assert [probe["periodSeconds"] for probe in asked.values()] == [1, 20, 2]


def test_they_are_replaced_one_by_one_and_finish_their_calls() -> None:
    """The grace period is over after the deadline that a runner sets itself."""
    found = runner(render(FULL))
    assert found["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    assert container(found)["lifecycle"] == {"preStop": {"sleep": {"seconds": 2}}}
    assert pod_of(found)["spec"]["terminationGracePeriodSeconds"] == 2 + 40 + 2 * EXIT_S
    plain = runner(render(values=ON))
    assert pod_of(plain)["spec"]["terminationGracePeriodSeconds"] == Tools().drain_s + 2 * EXIT_S
    assert "lifecycle" not in container(plain)
    assert pod_of(runner(render(MINIMAL)))["spec"]["terminationGracePeriodSeconds"] == 60


@pytest.mark.parametrize("example", [FULL, MINIMAL], ids=lambda path: path.stem)
def test_selectors_find_the_runners_and_nothing_else(example: Path) -> None:
    """Service, budget, network, spread and the Deployment mean the same pods."""
    objects = render(example)
    found, ours = runner(objects), of_tools(objects)
    selector = found["spec"]["selector"]["matchLabels"]
    selected = [each for each in objects if "template" in each.get("spec", {})]
    selected = [each for each in selected if selector.items() <= pod_of(each)["metadata"]["labels"].items()]
    assert selected == [found]
    assert one("Service", ours)["spec"]["selector"] == selector
    assert one("NetworkPolicy", ours)["spec"]["podSelector"]["matchLabels"] == selector
    for each in kind("PodDisruptionBudget", ours):
        assert each["spec"]["selector"]["matchLabels"] == selector
    for spread in pod_of(found)["spec"]["topologySpreadConstraints"]:
        assert spread["labelSelector"]["matchLabels"] == selector


def test_everything_that_is_said_of_them_is_in_their_pods() -> None:
    """Variables, volumes, labels, where they run."""
    pod, own = pod_of(runner(render(FULL))), container(runner(render(FULL)))
    assert [entry["name"] for entry in own["env"]][-2:] == ["TICKETS_TOKEN", "FILES_TOKEN"]
    assert own["envFrom"] == [{"configMapRef": {"name": "more-settings", "optional": True}}]
    assert own["volumeMounts"][-1]["mountPath"] == "/opt/plugins"
    assert pod["spec"]["volumes"][-1]["name"] == "plugins"
    assert pod["metadata"]["labels"]["example.com/mesh"] == "off"
    assert pod["metadata"]["annotations"]["example.com/logs"] == "json"
    assert pod["spec"]["serviceAccountName"] == "mill-tokenmill"
    spec = pod_of(runner(render(MINIMAL)))["spec"]
    assert spec["nodeSelector"] == {"kubernetes.io/arch": "amd64"}
    assert spec["tolerations"][0]["key"] == "streams"
    assert "podAntiAffinity" in spec["affinity"]
    assert spec["priorityClassName"] == "streams"
    assert spec["topologySpreadConstraints"][0]["maxSkew"] == 2
    assert runner(render(MINIMAL))["spec"]["strategy"] == {"type": "Recreate"}


@pytest.mark.parametrize(
    ("example", "values", "image"),
    [
        (None, ON, "tokenmill-tools:0.1.0"),
        (None, {**ON, "image": {"repository": "r.example.com/mill", "tag": "7"}}, "r.example.com/mill-tools:7"),
        (None, {**ON, "image.digest": f"sha256:{'a' * 64}"}, "tokenmill-tools:0.1.0"),
        (FULL, {}, "registry.example.com/tools-with-servers:0.1.0-2"),
        (MINIMAL, {}, f"tokenmill-tools@sha256:{'0123456789abcdef' * 4}"),
    ],
)
def test_they_have_an_image_of_their_own(example: Path | None, values: Values, image: str) -> None:
    """With what the protocol needs, beside that of the others, which has none of it."""
    objects = render(example, values)
    assert container(runner(objects))["image"] == image
    assert "tools" not in container(worker(objects))["image"]


def test_they_talk_to_kafka_their_servers_and_whom_is_said() -> None:
    """Never to Redis. Only Prometheus and the release's own test come to them."""
    policy = one("NetworkPolicy", of_tools(render(FULL)))["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert ports(policy["egress"]) == [[53, 53], [9093], [8000], [9000], [443]]
    (came,) = policy["ingress"]
    assert ports([came]) == [["ops"]]
    monitoring, test = came["from"]
    assert monitoring["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "monitoring"}
    assert test["podSelector"]["matchLabels"].items() <= hook("Pod", render(FULL))["metadata"]["labels"].items()
    for_all = {**ON, "networkPolicy.extraEgress": [{"ports": [{"port": 8443, "protocol": "TCP"}]}]}
    assert ports(one("NetworkPolicy", of_tools(render(values=for_all)))["spec"]["egress"]) == [[53, 53], [9092], [8443]]


def test_scaling_by_processor_time() -> None:
    """Up to the partitions, unless fewer are said; then nothing else says how many there are."""
    objects = of_tools(render(FULL))
    spec = one("HorizontalPodAutoscaler", objects)["spec"]
    assert spec["scaleTargetRef"]["name"] == runner(objects)["metadata"]["name"]
    assert (spec["minReplicas"], spec["maxReplicas"]) == (3, 6)
    assert spec["metrics"][0]["resource"]["target"]["averageUtilization"] == 80
    assert spec["behavior"]["scaleDown"]["stabilizationWindowSeconds"] == 900
    assert "replicas" not in runner(objects)["spec"]
    plain = of_tools(render(values={**ON, "tools.autoscaling.enabled": True}))
    assert one("HorizontalPodAutoscaler", plain)["spec"]["maxReplicas"] == 12
    fixed = of_tools(render(MINIMAL))
    assert kind("HorizontalPodAutoscaler", fixed) == []
    assert runner(fixed)["spec"]["replicas"] == 1


def test_their_metrics_are_collected_as_the_workers_are() -> None:
    """By a monitor of their own, on their own port, which the Service and the pod name."""
    objects = of_tools(render(FULL))
    monitor, service = one("ServiceMonitor", objects), one("Service", objects)
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["spec"]["endpoints"][0]["port"] == service["spec"]["ports"][0]["name"] == "ops"
    assert service["spec"]["ports"][0]["targetPort"] == container(runner(objects))["ports"][0]["name"]
    pods = one("PodMonitor", of_tools(render(FULL, {"metrics.monitor.kind": "PodMonitor"})))
    assert pods["spec"]["podMetricsEndpoints"][0]["port"] == "ops"


def test_the_release_s_own_test_asks_them_too() -> None:
    """And may."""
    objects = render(FULL)
    (address,) = (each for each in container(hook("Pod", objects))["env"] if each["name"] == "TOOLS")
    assert address["value"] == "http://mill-tokenmill-tools:8092"
    policy = hook("NetworkPolicy", [found for found in objects if component(found) == "test"])
    assert ports(policy["spec"]["egress"]) == [[53, 53], [8080, 8092]]


def test_the_notes_have_commands_and_say_what_can_not_be_reached() -> None:
    """A server elsewhere is out of reach until a rule says otherwise."""
    said = notes(FULL)
    assert "exec deployment/mill-tokenmill-tools -c tools -- tokenmill tools list\n" in said
    assert "NetworkPolicy keeps runners from" not in said
    assert "NetworkPolicy keeps runners from tickets of" in notes(FULL, {"tools.egress": []})
    assert "tokenmill tools" not in notes()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"tools.enabled": True}, "tools.enabled needs a server"),
        ({**ON, "config.tools.servers_file": "/srv/servers.json"}, "leave out the one or the others"),
        ({**ON, "tools.mcpServers": {"a__b": {"command": "x"}}}, '"a__b" is no name'),
        ({**ON, "tools.mcpServers": {"a b": {"command": "x"}}}, '"a b" is no name'),
        (
            {**ON, "tools.mcpServers": {"a": {"urll": "http://a/mcp"}}},
            "tools.mcpServers.a has neither a command nor a url",
        ),
        ({**ON, "tools.terminationGracePeriodSeconds": 34}, "is 34, and a drain may take 35"),
        ({**ON, "tools.replicas": 13}, "tools.replicas is 13, and topics.partitions 12"),
        (
            {**ON, "tools.autoscaling.enabled": True, "tools.autoscaling.maxReplicas": 13},
            "tools.autoscaling.maxReplicas is 13, and topics.partitions 12",
        ),
        (
            {**ON, "tools.autoscaling.enabled": True, "tools.autoscaling.minReplicas": 13},
            "minReplicas is 13, and there are at most 12",
        ),
    ],
)
def test_what_can_not_work_is_refused(values: Values, said: str) -> None:
    """Nobody to call, ends without time, runners that would be idle."""
    with pytest.raises(Refused, match=said):
        render(values=values)


@pytest.mark.parametrize("header", ["authorization", "Proxy-Authorization", "COOKIE", "X-API-Key"])
def test_a_secret_in_a_header_is_refused_and_not_printed(header: str) -> None:
    """It would be readable in a ConfigMap, and in the log of whoever renders."""
    remote = {"a": {"url": "http://a/mcp", "headers": {header: "open-sesame"}}}
    own = {"tools.servers.b.image": "b:1", "tools.servers.b.headers": {header: "open-sesame"}}
    for values, server in (({"tools.mcpServers": remote}, "mcpServers.a"), (own, "servers.b")):
        with pytest.raises(Refused, match=rf"tools\.{server}\.headers\.{header}: put the secret into") as refused:
            render(values={"tools.enabled": True, **values})
        assert "open-sesame" not in str(refused.value)
