"""The gateway in a release: off by default, and with it everything that streams and those who read them need."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.chart.rendering import (
    ALL,
    CHART,
    Object,
    Refused,
    Values,
    around_workers,
    container,
    gateway,
    hook,
    kind,
    of_caller,
    of_front,
    of_gateway,
    one,
    pod_of,
    render,
    services,
    values_of,
    worker,
)
from tests.chart.test_around import notes, ports
from tokenmill.config import load_config

JWT = CHART / "ci" / "gateway-values.yaml"
KEY_SET = CHART / "ci" / "gateway-key-set-values.yaml"
KEYS = CHART / "ci" / "gateway-keys-values.yaml"

ON: Values = {"gateway.enabled": True, "config.gateway.auth": "keys", "gateway.keys.existingSecret": "clients"}

PROTOCOL = "nginx.ingress.kubernetes.io/backend-protocol"

SECRET = "x" * 32

SECRETS = {
    "kafka/password": "open-sesame",
    "gateway/jwt": SECRET,
    "gateway/tickets": SECRET,
    "gateway/keys.toml": "",
    "gateway/tls.crt": "",
    "gateway/tls.key": "",
}


def test_without_it_nothing_of_it_is_there() -> None:
    """Neither objects nor settings: a worker has no use for either."""
    objects = render()
    assert of_gateway(objects) == []
    assert "gateway" not in tomllib.loads(one("ConfigMap", objects)["data"]["tokenmill.toml"])


@pytest.mark.parametrize("example", [JWT, KEYS], ids=lambda path: path.stem)
def test_it_starts_with_its_configuration(example: Path, tmp_path: Path) -> None:
    """File, variables and the files that they name: the application takes them, and listens for the Service."""
    objects = render(example)
    found = container(gateway(objects))
    assert (found["command"], found["args"]) == (["tokenmill"], ["gateway"])
    text = one("ConfigMap", of_gateway(objects))["data"]["tokenmill.toml"]
    for name, content in {"tokenmill.toml": text, **SECRETS}.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    variables = {entry["name"]: entry.get("value", "from elsewhere") for entry in found["env"]}
    moved = {name: value.replace("/etc/tokenmill", str(tmp_path)) for name, value in variables.items()}
    config = load_config(None, moved)
    said: dict[str, Any] = values_of(example)["config"]["gateway"]
    assert {key: getattr(config.gateway, key) for key in said} == said
    assert config.gateway.bind == "0.0.0.0"  # noqa: S104 -- in its pod
    assert [port["containerPort"] for port in found["ports"]] == [config.gateway.port, config.gateway.ops_port]
    if example == JWT:
        assert (config.gateway.jwt_secret, config.gateway.ticket_secret) == (SECRET, SECRET)
        assert config.gateway.tls_keyfile.endswith("/gateway/tls.key")


def test_secrets_are_files_of_the_gateway_alone() -> None:
    """Of Kafka and its own; a gateway never talks to Redis, and a worker lets nobody in."""
    objects = render(JWT)
    assert mounted(gateway(objects)) == {
        "kafka-login": [{"key": "password", "path": "kafka/password"}],
        "kafka-ca": [{"key": "ca.crt", "path": "kafka/ca.crt"}],
        "gateway-jwt": [{"key": "hs256", "path": "gateway/jwt"}],
        "gateway-tickets": [{"key": "hmac", "path": "gateway/tickets"}],
        "gateway-tls": [{"key": "chain.pem", "path": "gateway/tls.crt"}, {"key": "key.pem", "path": "gateway/tls.key"}],
    }
    assert mounted(worker(objects)).keys() == {"kafka-login", "kafka-ca", "redis-login"}
    assert mounted(gateway(render(KEYS))) == {"gateway-keys": [{"key": "clients.toml", "path": "gateway/keys.toml"}]}


def mounted(found: Object) -> dict[str, list[dict[str, str]]]:
    """Secret → keys and paths, of the folder with the configuration."""
    (files,) = (volume for volume in pod_of(found)["spec"]["volumes"] if volume["name"] == "files")
    return {
        each["secret"]["name"]: each["secret"]["items"] for each in files["projected"]["sources"] if "secret" in each
    }


def test_workers_know_for_whom_they_make_events() -> None:
    """Of the gateway's settings this one alone: others would have them look for its secrets."""
    (file,) = (
        found["data"]["tokenmill.toml"]
        for found in kind("ConfigMap", render(JWT))
        if found["metadata"]["name"] == "mill-tokenmill"
    )
    assert tomllib.loads(file)["gateway"] == {"dialects": ["openai", "ai_sdk_ui"]}


def test_probes_ask_the_port_of_operators() -> None:
    """No client can come to it, and no rights are needed."""
    found = container(gateway(render(JWT)))
    asked = {name: found[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    assert asked == {
        "startup": {"path": "/healthz", "port": "ops"},
        "liveness": {"path": "/healthz", "port": "ops"},
        "readiness": {"path": "/readyz", "port": "ops"},
    }


def test_a_new_gateway_is_ready_before_an_old_one_ends() -> None:
    """Proxies hear of the end first; then streams are told to come back, within the grace period."""
    found = gateway(render(JWT))
    assert found["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert container(found)["lifecycle"] == {"preStop": {"sleep": {"seconds": 10}}}
    assert pod_of(found)["spec"]["terminationGracePeriodSeconds"] == 10 + 20 + 5
    assert pod_of(gateway(render(values=ON)))["spec"]["terminationGracePeriodSeconds"] == 5 + 10 + 5


def test_an_ingress_lets_streams_through() -> None:
    """ingress-nginx collects none, ends none and limits none; other annotations are added, the class is the user's."""
    ingress = one("Ingress", render(JWT))
    annotations = ingress["metadata"]["annotations"]
    nginx = {name.rpartition("/")[2]: value for name, value in annotations.items()}
    assert nginx == {
        "proxy-body-size": "0",
        "proxy-buffering": "off",
        "proxy-request-buffering": "off",
        "proxy-http-version": "1.1",
        "proxy-read-timeout": "3600",
        "proxy-send-timeout": "3600",
        "limit-connections": "50",
        "backend-protocol": "HTTPS",
    }
    assert ingress["spec"]["ingressClassName"] == "nginx"
    (rule,) = ingress["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    assert (rule["host"], path["path"], path["pathType"]) == ("answers.example.com", "/", "Prefix")
    service, _ = services(of_gateway(render(JWT)))
    assert path["backend"]["service"] == {"name": service["metadata"]["name"], "port": {"name": "http"}}
    plain = render(values={**ON, "gateway.ingress.enabled": True, "gateway.ingress.hosts": ["a.example.com"]})
    assert "ingressClassName" not in one("Ingress", plain)["spec"]
    assert PROTOCOL not in one("Ingress", plain)["metadata"]["annotations"]


@pytest.mark.parametrize("part", ["gateway", "front"])
def test_an_ingress_is_for_the_whole_host_unless_a_path_is_said(part: str) -> None:
    """One that is null is none, as are annotations that are."""
    on = {**ALL, f"{part}.ingress.enabled": True, f"{part}.ingress.hosts": ["a.example.com"]}
    for said, path in (({}, "/"), ({"path": None, "annotations": None}, "/"), ({"path": "/llm"}, "/llm")):
        ingress = one("Ingress", render(values={**on, **{f"{part}.ingress.{name}": is_ for name, is_ in said.items()}}))
        (found,) = ingress["spec"]["rules"][0]["http"]["paths"]
        assert (found["path"], "annotations" in ingress["metadata"]) == (path, "annotations" not in said)


@pytest.mark.parametrize("protocol", ["GRPCS", "AUTO_HTTP"])
def test_the_protocol_of_the_pods_that_somebody_says_stays(protocol: str) -> None:
    """Where they end TLS themselves it would be HTTPS."""
    ingress = one("Ingress", render(JWT, {"gateway.ingress.annotations": {PROTOCOL: protocol}}))
    assert ingress["metadata"]["annotations"][PROTOCOL] == protocol


def test_clients_and_operators_have_services_apart() -> None:
    """What is published, as NodePort or LoadBalancer, is the clients' port alone; who ends TLS is said."""
    clients, operators = services(of_gateway(render(JWT)))
    assert clients["spec"]["type"] == "NodePort"
    assert clients["metadata"]["annotations"] == {"example.com/balancer": "internal"}
    assert service_ports(clients) == [("http", 8443, "https")]
    assert (operators["spec"]["clusterIP"], "type" in operators["spec"]) == ("None", False)
    assert "annotations" not in operators["metadata"]
    assert service_ports(operators) == [("ops", 8091, "http")]


def service_ports(service: Object) -> list[tuple[str, int, str]]:
    """Name, number and protocol of each."""
    return [(port["name"], port["port"], port["appProtocol"]) for port in service["spec"]["ports"]]


@pytest.mark.parametrize("example", [JWT, KEYS], ids=lambda path: path.stem)
def test_selectors_find_the_gateways_and_nothing_else(example: Path) -> None:
    """Service, budget, network, monitor and the Deployment mean the same pods; the workers' are others."""
    objects = render(example)
    found = gateway(objects)
    selector = found["spec"]["selector"]["matchLabels"]
    assert selector.items() <= pod_of(found)["metadata"]["labels"].items()
    assert not selector.items() <= pod_of(worker(objects))["metadata"]["labels"].items()
    ours = of_gateway(objects)
    assert [service["spec"]["selector"] for service in services(ours)] == [selector, selector]
    assert one("NetworkPolicy", ours)["spec"]["podSelector"]["matchLabels"] == selector
    for each in kind("PodDisruptionBudget", ours):
        assert each["spec"]["selector"]["matchLabels"] == selector
    for spread in pod_of(found)["spec"]["topologySpreadConstraints"]:
        assert spread["labelSelector"]["matchLabels"] == selector


def test_clients_come_to_one_port_and_prometheus_to_the_other() -> None:
    """Out it may to names and brokers only."""
    policy = one("NetworkPolicy", of_gateway(render(JWT)))["spec"]
    clients, operators = policy["ingress"]
    assert (clients["ports"][0]["port"], operators["ports"][0]["port"]) == ("http", "ops")
    assert clients["from"][0]["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "ingress-nginx"}
    assert operators["from"][0]["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "monitoring"}
    assert [[port["port"] for port in rule["ports"]] for rule in policy["egress"]] == [[53, 53], [9093]]


def test_a_key_set_can_be_fetched() -> None:
    """On the port of its address, by gateway and front; a file needs no way."""
    *_, keys = one("NetworkPolicy", of_gateway(render(KEY_SET)))["spec"]["egress"]
    assert keys == {"ports": [{"port": 8443, "protocol": "TCP"}], "to": [{"ipBlock": {"cidr": "10.5.0.0/16"}}]}
    auth = {**ALL, "config.gateway.auth": "jwt", "config.gateway.jwt_audience": "answers"}
    auth |= {"gateway.keys.existingSecret": ""}
    for keys, port in (("https://login.example.com/jwks.json", [443]), ("/etc/tokenmill/jwks.json", [9092])):
        objects = render(values={**auth, "config.gateway.jwt_keys": keys})
        for part in (of_gateway(objects), of_front(objects)):
            assert ports(one("NetworkPolicy", part)["spec"]["egress"])[-1] == port
        for part in (of_caller(objects), around_workers(objects)):
            assert [443] not in ports(one("NetworkPolicy", part)["spec"]["egress"])


def test_scaling_by_connections_and_by_processor_time() -> None:
    """The metric is the one that `/metrics` has; without a number of connections the processor's time is enough."""
    objects = of_gateway(render(JWT))
    spec = one("HorizontalPodAutoscaler", objects)["spec"]
    assert spec["scaleTargetRef"]["name"] == gateway(objects)["metadata"]["name"]
    assert "replicas" not in gateway(objects)["spec"]
    assert (spec["minReplicas"], spec["maxReplicas"]) == (3, 12)
    connections, cpu = spec["metrics"]
    assert connections["pods"] == {
        "metric": {"name": "tokenmill_gateway_connections"},
        "target": {"type": "AverageValue", "averageValue": "8000"},
    }
    assert cpu["resource"]["target"]["averageUtilization"] == 70
    alone = one("HorizontalPodAutoscaler", of_gateway(render(values={**ON, "gateway.autoscaling.enabled": True})))
    assert [metric["type"] for metric in alone["spec"]["metrics"]] == ["Resource"]


def test_its_metrics_are_collected_as_the_workers_are() -> None:
    """By a monitor of its own: of the Service of that port and not of the clients', or of the pods."""
    objects = of_gateway(render(JWT))
    monitor = one("ServiceMonitor", objects)
    selector = monitor["spec"]["selector"]["matchLabels"].items()
    assert [selector <= service["metadata"]["labels"].items() for service in services(objects)] == [False, True]
    assert monitor["spec"]["endpoints"][0]["port"] == "ops"
    pods = one("PodMonitor", of_gateway(render(JWT, {"metrics.monitor.kind": "PodMonitor"})))["spec"]
    assert pods["selector"]["matchLabels"].items() <= pod_of(gateway(objects))["metadata"]["labels"].items()
    assert pods["podMetricsEndpoints"][0]["port"] == "ops"


def test_the_release_s_own_test_asks_it_too() -> None:
    """And may."""
    objects = render(JWT)
    (address,) = (each for each in hook("Pod", objects)["spec"]["containers"][0]["env"] if each["name"] == "GATEWAY")
    assert address["value"] == "http://mill-tokenmill-gateway-ops:8091"
    (policy,) = (
        found for found in kind("NetworkPolicy", objects) if found["metadata"]["name"] == "mill-tokenmill-test"
    )
    assert [port["port"] for port in policy["spec"]["egress"][1]["ports"]] == [8080, 8091]


def test_the_notes_say_where_clients_come_to() -> None:
    """By https where something ends TLS: an Ingress with a certificate, or else the pods."""
    pods = "connect to the gateway at {}://mill-tokenmill-gateway.streams:80, with keys"
    assert "connect to the gateway at https://answers.example.com, with keys or tokens" in notes(JWT)
    assert pods.format("http") in notes(None, ON)
    assert pods.format("https") in notes(None, {**ON, "gateway.tls.existingSecret": "gateway-tls"})
    plain = {"gateway.ingress.enabled": True, "gateway.ingress.hosts": ["a.example.com"]}
    behind = {**ON, **plain, "gateway.tls.existingSecret": "gateway-tls"}
    assert "connect to the gateway at http://a.example.com, with keys" in notes(None, behind)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"gateway.enabled": True}, "needs config.gateway.auth"),
        ({"gateway.enabled": True, "config.gateway.auth": "keys"}, "gateway.keys.existingSecret"),
        (
            {**ON, "gateway.jwt.existingSecret": "gateway-jwt"},
            "gateway.jwt.existingSecret has no effect where config.gateway.auth is keys",
        ),
        ({**ON, "gateway.terminationGracePeriodSeconds": 19}, "is 19, and a drain may take 20"),
        ({**ON, "gateway.ingress.enabled": True}, "gateway.ingress.hosts is empty"),
        ({**ON, "config.gateway.window_mib": 2_048}, "window_mib is 2048 MiB, and gateway.resources.limits.memory 1Gi"),
        (
            {**ON, "gateway.autoscaling.enabled": True, "gateway.autoscaling.minReplicas": 11},
            "minReplicas is 11, and there are at most 10",
        ),
        ({"config.gateway.jwt_secret": SECRET}, "jwt_secret"),
        ({"config.gateway.ticket_secret": SECRET}, "ticket_secret"),
    ],
)
def test_what_can_not_work_is_refused(values: Values, said: str) -> None:
    """Doors without a lock, ends without time, secrets that could be read."""
    with pytest.raises(Refused, match=said):
        render(values=values)
