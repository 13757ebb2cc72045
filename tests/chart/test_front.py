"""The front in a release: off by default, and with it everything that clients of the APIs and their models need."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.chart.rendering import (
    CHART,
    Object,
    Refused,
    Values,
    caller,
    component,
    container,
    front,
    gateway,
    hook,
    kind,
    of_front,
    one,
    pod_of,
    render,
    runner,
    services,
    values_of,
    worker,
)
from tests.chart.test_around import notes, ports
from tests.chart.test_gateway import mounted, service_ports
from tokenmill.config import load_config
from tokenmill.process import EXIT_S

FULL = CHART / "ci" / "front-values.yaml"
WITHOUT_CALLERS = CHART / "ci" / "callers-values.yaml"
MINIMAL = CHART / "ci" / "front-minimal-values.yaml"
EXAMPLES = [FULL, WITHOUT_CALLERS, MINIMAL]

MODEL = {"models": ["qwen3"], "kind": "vllm", "urls": ["http://vllm:8000"]}

RIGHTS: Values = {"config.gateway.auth": "keys", "gateway.keys.existingSecret": "clients"}

ON: Values = {**RIGHTS, "front.enabled": True, "config.upstreams": [MODEL]}

SECRET = "x" * 32

SECRETS = {
    "kafka/password": "open-sesame",
    "gateway/jwt": SECRET,
    "gateway/tickets": SECRET,
    "gateway/keys.toml": "",
    "gateway/tls.crt": "",
    "gateway/tls.key": "",
    "upstreams/large": "sk-large",
    "upstreams/qwen3": "sk-qwen3",
}

each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)


def configuration(found: Object, text: str, folder: Path) -> Any:
    """What the application of a pod reads, with the files that it has."""
    secrets = [item["path"] for items in mounted(found).values() for item in items if item["path"] in SECRETS]
    moved = text.replace("/etc/tokenmill", str(folder))
    for name, content in {"tokenmill.toml": moved, **{name: SECRETS[name] for name in secrets}}.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    variables = {entry["name"]: entry.get("value", "from elsewhere") for entry in container(found)["env"]}
    return load_config(None, {name: value.replace("/etc/tokenmill", str(folder)) for name, value in variables.items()})


def file_of(objects: list[Object]) -> str:
    """The front's configuration."""
    return str(one("ConfigMap", of_front(objects))["data"]["tokenmill.toml"])


def checksum(found: Object) -> str:
    """What pods start anew for."""
    return str(pod_of(found)["metadata"]["annotations"]["checksum/config"])


def test_without_it_nothing_of_it_is_there() -> None:
    """Neither objects nor settings, whatever is said of model servers."""
    objects = render(values={"config.upstreams": [MODEL]})
    assert [found for found in objects if component(found) in {"front", "caller"}] == []
    read = tomllib.loads(one("ConfigMap", objects)["data"]["tokenmill.toml"])
    assert read.keys().isdisjoint({"front", "caller", "upstreams", "gateway"})


@each_example
def test_it_starts_with_its_configuration(example: Path, tmp_path: Path) -> None:
    """File, variables and the files that they name: the application takes them, and listens for the Service."""
    objects = render(example)
    found = container(front(objects))
    config = configuration(front(objects), file_of(objects), tmp_path)
    said: dict[str, Any] = values_of(example)["config"]
    for section in ("front", "gateway"):
        keys = said.get(section, {})
        assert {key: getattr(getattr(config, section), key) for key in keys} == keys
    assert [upstream.models for upstream in config.upstreams] == [each["models"] for each in said["upstreams"]]
    assert config.front.bind == "0.0.0.0"  # noqa: S104 -- in its pod
    assert [port["containerPort"] for port in found["ports"]] == [config.front.port, config.front.ops_port]


def test_callers_are_in_its_pods_unless_they_have_their_own() -> None:
    """Without them it knows no keys of the model servers, and has no way to them."""
    objects = render(FULL)
    assert container(front(objects))["args"] == ["front"]
    assert "caller" in tomllib.loads(file_of(objects))
    without = render(WITHOUT_CALLERS)
    assert container(front(without))["args"] == ["front", "--no-caller"]
    assert "caller" not in tomllib.loads(file_of(without))
    assert [each.get("api_key_file") for each in tomllib.loads(file_of(without))["upstreams"]] == [None]
    assert ports(one("NetworkPolicy", of_front(without))["spec"]["egress"]) == [[53, 53], [9093], [4318]]


def test_files_are_those_of_its_rights_and_of_whom_it_calls() -> None:
    """Secrets stay Secrets, and templates come from a ConfigMap. Who does not call models has no keys of theirs."""
    objects = render(FULL)
    (files,) = (volume for volume in pod_of(front(objects))["spec"]["volumes"] if volume["name"] == "files")
    sources = files["projected"]["sources"]
    assert [each["configMap"] for each in sources if "configMap" in each] == [
        {"name": "mill-tokenmill-front"},
        {"name": "templates", "items": [{"key": "tiny.jinja", "path": "templates/tiny.jinja"}]},
    ]
    assert {each["secret"]["name"]: each["secret"]["items"][0] for each in sources if "secret" in each} == {
        "kafka-login": {"key": "password", "path": "kafka/password"},
        "kafka-ca": {"key": "ca.crt", "path": "kafka/ca.crt"},
        "gateway-jwt": {"key": "hs256", "path": "gateway/jwt"},
        "gateway-tickets": {"key": "hmac", "path": "gateway/tickets"},
        "gateway-tls": {"key": "chain.pem", "path": "gateway/tls.crt"},
        "model-keys": {"key": "example", "path": "upstreams/large"},
    }
    assert "model-keys" not in mounted(worker(objects))
    without = front(render(WITHOUT_CALLERS))
    assert mounted(without).keys() == {"kafka-login", "kafka-ca", "gateway-keys"}
    template = {"name": "templates", "items": [{"key": "tokenizer_config.json", "path": "templates/qwen3"}]}
    assert {"configMap": template} in pod_of(without)["spec"]["volumes"][0]["projected"]["sources"]


@pytest.mark.parametrize(
    ("change", "replaced"),
    [
        ({"config.front.disconnect_s": 7}, {"front"}),
        ({"config.front.retry_s": 7}, {"front", "caller"}),
        ({"config.front.answer_s": 7}, {"front", "caller"}),
        ({"config.front.body_kib": 7}, {"worker", "gateway", "tools", "front", "caller"}),
        ({"config.caller.lease_s": 7}, {"front", "caller"}),
        ({"config.upstreams": [{**MODEL, "tries": 7}]}, {"front", "caller"}),
        ({"config.gateway.heartbeat_s": 7}, {"gateway", "front"}),
        ({"config.inspect.port": 7}, {"gateway"}),
        ({"config.tools.calls": 7}, {"tools"}),
    ],
)
def test_a_change_replaces_the_pods_that_it_is_for(change: Values, replaced: set[str]) -> None:
    """How long a request may be is for all, as the topic is made by it."""
    parts = {"worker": worker, "gateway": gateway, "tools": runner, "front": front, "caller": caller}
    all_on: dict[str, object] = {"gateway.enabled": True, "caller.enabled": True, "tools.enabled": True}
    all_on |= {"tools.mcpServers": {"time": {"command": "mcp-server-time"}}}
    before, after = (render(values={**ON, **all_on, **values}) for values in ({}, change))
    assert {name for name, part in parts.items() if checksum(part(before)) != checksum(part(after))} == replaced


def test_a_new_front_is_ready_before_an_old_one_ends() -> None:
    """Proxies hear of the end first; then readers go, and meanwhile the answers end that its callers are at."""
    found = front(render(FULL))
    assert found["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert container(found)["lifecycle"] == {"preStop": {"sleep": {"seconds": 10}}}
    assert pod_of(found)["spec"]["terminationGracePeriodSeconds"] == 10 + 40 + 2 * EXIT_S
    alone = render(values={**ON, "front.caller": False})
    assert pod_of(front(alone))["spec"]["terminationGracePeriodSeconds"] == 5 + 10 + 2 * EXIT_S
    asked = {name: container(found)[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    assert {(probe["path"], probe["port"]) for probe in asked.values()} == {("/healthz", "ops"), ("/readyz", "ops")}


def test_an_ingress_lets_streams_and_long_bodies_through() -> None:
    """ingress-nginx neither collects streams nor ends them, and leaves the size of bodies to the front."""
    ingress = one("Ingress", of_front(render(FULL)))
    nginx = {name.rpartition("/")[2]: value for name, value in ingress["metadata"]["annotations"].items()}
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
    (path,) = ingress["spec"]["rules"][0]["http"]["paths"]
    assert path["path"] == "/"
    service, _ = services(of_front(render(FULL)))
    assert path["backend"]["service"] == {"name": service["metadata"]["name"], "port": {"name": "http"}}


def test_clients_and_operators_have_services_apart() -> None:
    """What is published, as NodePort or LoadBalancer, is the clients' port alone; one monitor reads the other."""
    ours = of_front(render(FULL, {"front.service.type": "LoadBalancer", "metrics.monitor.kind": "ServiceMonitor"}))
    clients, operators = services(ours)
    assert (clients["spec"]["type"], service_ports(clients)) == ("LoadBalancer", [("http", 8443, "https")])
    assert (operators["spec"]["clusterIP"], service_ports(operators)) == ("None", [("ops", 8094, "http")])
    selector = one("ServiceMonitor", ours)["spec"]["selector"]["matchLabels"].items()
    assert [selector <= service["metadata"]["labels"].items() for service in (clients, operators)] == [False, True]


@each_example
def test_selectors_find_the_fronts_and_nothing_else(example: Path) -> None:
    """Service, budget, network, monitor, spread and the Deployment mean the same pods."""
    objects = render(example)
    found, ours = front(objects), of_front(objects)
    selector = found["spec"]["selector"]["matchLabels"]
    selected = [each for each in objects if "template" in each.get("spec", {})]
    assert [each for each in selected if selector.items() <= pod_of(each)["metadata"]["labels"].items()] == [found]
    assert [service["spec"]["selector"] for service in services(ours)] == [selector, selector]
    assert one("NetworkPolicy", ours)["spec"]["podSelector"]["matchLabels"] == selector
    for each in [*kind("PodDisruptionBudget", ours), *kind("PodMonitor", ours)]:
        assert each["spec"]["selector"]["matchLabels"] == selector
    for spread in pod_of(found)["spec"]["topologySpreadConstraints"]:
        assert spread["labelSelector"]["matchLabels"] == selector


def test_clients_come_to_one_port_and_prometheus_to_the_other() -> None:
    """Out it may to names, brokers and model servers, on the ports of their URLs."""
    policy = one("NetworkPolicy", of_front(render(FULL)))["spec"]
    clients, operators = policy["ingress"]
    assert (ports([clients]), ports([operators])) == ([["http"]], [["ops"]])
    assert clients["from"][0]["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "ingress-nginx"}
    assert operators["from"][0]["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "monitoring"}
    assert ports(policy["egress"]) == [[53, 53], [9093], [8000, 443, 8443]]


def test_scaling_by_requests_and_by_processor_time() -> None:
    """The metric is the one that `/metrics` has; without a number of requests the processor's time is enough."""
    objects = of_front(render(FULL))
    spec = one("HorizontalPodAutoscaler", objects)["spec"]
    assert "replicas" not in front(objects)["spec"]
    assert (spec["minReplicas"], spec["maxReplicas"]) == (3, 12)
    requests, cpu = spec["metrics"]
    assert requests["pods"] == {
        "metric": {"name": "tokenmill_front_readers"},
        "target": {"type": "AverageValue", "averageValue": "400"},
    }
    assert cpu["resource"]["target"]["averageUtilization"] == 70
    alone = one("HorizontalPodAutoscaler", of_front(render(values={**ON, "front.autoscaling.enabled": True})))
    assert [metric["type"] for metric in alone["spec"]["metrics"]] == ["Resource"]


def test_the_release_s_own_test_asks_it_too() -> None:
    """And may."""
    objects = render(MINIMAL, {"networkPolicy.enabled": True})
    addresses = {each["name"]: each["value"] for each in container(hook("Pod", objects))["env"] if "value" in each}
    assert addresses["FRONT"] == "http://mill-tokenmill-front-ops:8094"
    assert addresses["CALLER"] == "http://mill-tokenmill-caller:8095"
    policy = hook("NetworkPolicy", [found for found in objects if component(found) == "test"])
    assert ports(policy["spec"]["egress"]) == [[53, 53], [8080, 8094, 8095]]


def test_the_notes_say_where_clients_come_to() -> None:
    """By https where something ends TLS; and that nobody calls models, if so."""
    tls: Values = {"gateway.tls.existingSecret": "gateway-tls"}
    assert "connect to the front at https://mill-tokenmill-front.streams:80, with keys" in notes(MINIMAL, tls)
    assert "connect to the front at http://models.example.com, with keys" in notes(FULL, {"front.ingress.tls": []})
    assert "connect to the front at https://models.example.com, with keys or tokens" in notes(FULL)
    assert "connect to the front at http://mill-tokenmill-front.streams:80, with keys" in notes(MINIMAL)
    assert "connect to the front at http://example.com/llm, with keys" in notes(WITHOUT_CALLERS)
    assert "nothing in this release calls the models" in notes(FULL, {"front.caller": False})
    assert "nothing in this release" not in notes(FULL) + notes(WITHOUT_CALLERS) + notes()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"front.enabled": True}, "front.enabled needs config.gateway.auth"),
        ({"front.enabled": True, "config.gateway.auth": "keys"}, "gateway.keys.existingSecret"),
        ({**RIGHTS, "front.enabled": True}, "front.enabled needs config.upstreams"),
        ({**ON, "front.terminationGracePeriodSeconds": 39}, "is 39, and a drain may take 40"),
        ({**ON, "front.caller": False, "front.terminationGracePeriodSeconds": 24}, "is 24, and a drain may take 25"),
        ({**ON, "front.ingress.enabled": True}, "front.ingress.hosts is empty"),
        ({**ON, "config.gateway.window_mib": 2_048}, "window_mib is 2048 MiB, and front.resources.limits.memory 1Gi"),
        (
            {**ON, "front.autoscaling.enabled": True, "front.autoscaling.minReplicas": 11},
            "minReplicas is 11, and there are at most 10",
        ),
    ],
)
def test_what_can_not_work_is_refused(values: Values, said: str) -> None:
    """Doors without a lock, ends without time, nobody to ask."""
    with pytest.raises(Refused, match=said):
        render(values=values)
