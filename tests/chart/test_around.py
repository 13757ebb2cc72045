"""What stands around the workers: network, monitoring, whatever users add, and what they are told."""

import json
from base64 import b64decode
from pathlib import Path

import pytest

from tests.chart.rendering import (
    CHART,
    Object,
    Refused,
    Values,
    container,
    documents,
    hook,
    kind,
    one,
    pod_of,
    render,
    values_of,
    worker,
)
from tests.chart.tools import run

SASL = CHART / "ci" / "keda-sasl-values.yaml"
HPA = CHART / "ci" / "deployment-hpa-values.yaml"
GATEWAY = CHART / "ci" / "gateway-values.yaml"
MONITORING = CHART / "ci" / "monitoring-values.yaml"
MINIMAL = CHART / "ci" / "minimal-values.yaml"

COMPONENT = "app.kubernetes.io/component"


def ports(rules: list[Object]) -> list[list[object]]:
    return [[port["port"] for port in rule["ports"]] for rule in rules]


def policies(objects: list[Object]) -> list[Object]:
    """Of workers, topics job and test."""
    found = {
        policy["spec"]["podSelector"]["matchLabels"][COMPONENT]: policy for policy in kind("NetworkPolicy", objects)
    }
    return [found[component] for component in ("worker", "topics", "test")]


def test_pods_talk_to_dns_kafka_and_redis_and_to_nobody_else() -> None:
    """On the ports of the configuration; the topics job too."""
    values = {"config.kafka.bootstrap_servers": "a:9092, b:9093,c:9092", "config.redis.url": "redis://r:6390/1"}
    objects = render(values=values)
    _, topics, test = policies(objects)
    for policy in (one("NetworkPolicy", objects), topics):
        assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
        assert ports(policy["spec"]["egress"]) == [[53, 53], [9092, 9093], [6390]]
    assert "ingress" not in topics["spec"]
    assert "ingress" not in test["spec"]
    assert ports(test["spec"]["egress"]) == [[53, 53], [8080]]
    assert one("NetworkPolicy", objects)["spec"]["ingress"] == [{"ports": [{"port": "http", "protocol": "TCP"}]}]


def test_redis_has_its_usual_port_where_none_is_known() -> None:
    """A URL without one, or one that only the Secret knows."""
    urls = [{"config.redis.url": url} for url in ("redis://redis/0", "redis://[fd00::1]/0")]
    for values in (*urls, {"redis.existingSecret": "redis-login"}):
        assert ports(one("NetworkPolicy", render(values=values))["spec"]["egress"])[-1] == [6379]


@pytest.mark.parametrize(
    ("endpoint", "port"), [("http://otel:4318", 4318), ("https://otel.example.com/", 443), ("http://otel", 80)]
)
def test_a_collector_that_is_named_can_be_reached(endpoint: str, port: int) -> None:
    """By whatever tells it something: else nobody would hear that nothing comes."""
    found = {
        policy["spec"]["podSelector"]["matchLabels"][COMPONENT]: ports(policy["spec"]["egress"])
        for policy in kind("NetworkPolicy", render(GATEWAY, values={"config.telemetry.endpoint": endpoint}))
    }
    assert [port] in found["worker"]
    assert [port] in found["gateway"]
    assert [4318] not in ports(one("NetworkPolicy", render())["spec"]["egress"])


def test_the_network_can_be_said_more_exactly() -> None:
    """Peers, other ports, more rules; the release's own test is always let in."""
    spec = one("NetworkPolicy", render(SASL))["spec"]
    dns, kafka, redis, more = spec["egress"]
    assert "to" not in dns
    assert (kafka["to"], ports([kafka])) == ([{"ipBlock": {"cidr": "10.1.0.0/16"}}], [[9096, 9196]])
    assert (redis["to"], ports([redis])) == ([{"ipBlock": {"cidr": "10.2.0.0/16"}}], [[6380]])
    assert ports([more]) == [[443]]
    monitoring, test = spec["ingress"][0]["from"]
    assert monitoring["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "monitoring"}
    labels = hook("Pod", render(SASL))["metadata"]["labels"]
    assert test["podSelector"]["matchLabels"].items() <= labels.items()


def test_a_pod_monitor_reads_the_workers_port() -> None:
    """By its name, with everything that the example says."""
    objects = render(SASL)
    monitor = one("PodMonitor", objects)
    assert monitor["spec"]["selector"]["matchLabels"].items() <= pod_of(worker(objects))["metadata"]["labels"].items()
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    assert endpoint.pop("relabelings")[0]["targetLabel"] == "node"
    assert endpoint.pop("metricRelabelings")[0]["action"] == "drop"
    assert endpoint == {"port": "http", "path": "/metrics", "interval": "15s", "scrapeTimeout": "5s"}
    assert endpoint["port"] == container(worker(objects))["ports"][0]["name"]


def test_a_service_monitor_reads_the_services_port() -> None:
    """The one or the other."""
    objects = render(HPA)
    assert kind("PodMonitor", objects) == []
    monitor, service = one("ServiceMonitor", objects), one("Service", objects)
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["spec"]["endpoints"][0]["port"] == service["spec"]["ports"][0]["name"]


def test_rules_are_those_of_the_deploy_folder() -> None:
    """All groups, less those that are not wanted, and more; links to runbooks are whole."""
    rule = one("PrometheusRule", render(MONITORING))
    files = [values_of(CHART / "files" / name)["groups"] for name in ("recording.yaml", "alerts.yaml")]
    ours = [group for groups in files for group in groups]
    for group in ours:
        for each in group["rules"]:
            if "annotations" in each:
                each["annotations"]["runbook_url"] = f"https://docs.example.com/{each['annotations']['runbook_url']}"
    *rest, last = rule["spec"]["groups"]
    assert rest == [group for group in ours if group["name"] != "tokenmill-late-budget"]
    assert len(rest) == len(ours) - 1
    assert last["name"] == "ours"
    assert rule["metadata"]["labels"]["release"] == "prometheus"


def test_rules_that_are_read_can_not_be_left_out_alone() -> None:
    """A group would never fire without them; the names of both are said. A record of the user's own may stand in."""
    out = {"metrics.rules.disabledGroups": ["tokenmill-late"]}
    read = "tokenmill-late-budget reads job:tokenmill_late_chunks:ratio_rate5m of tokenmill-late"
    with pytest.raises(Refused, match=read):
        render(MONITORING, out)
    both = {"metrics.rules.disabledGroups": ["tokenmill-late", "tokenmill-late-budget"]}
    assert one("PrometheusRule", render(MONITORING, both))
    windows = ("5m", "30m", "1h", "2h", "6h", "1d", "3d")
    rules = [{"record": f"job:tokenmill_late_chunks:ratio_rate{window}", "expr": "vector(0)"} for window in windows]
    own = {"metrics.rules.extraGroups": [{"name": "ours", "rules": rules}]}
    assert one("PrometheusRule", render(MONITORING, {**out, **own}))


@pytest.mark.parametrize(
    ("base", "page"),
    [
        ("", "docs/howto/runbooks.md"),
        (
            "https://git.example.com/tokenmill/blob/main/",
            "https://git.example.com/tokenmill/blob/main/docs/howto/runbooks.md",
        ),
        ("https://docs.example.com/docs/howto/runbooks.html", "https://docs.example.com/docs/howto/runbooks.html"),
    ],
)
def test_links_lead_to_the_runbooks_wherever_they_are_read(base: str, page: str) -> None:
    """In a checkout that is shown somewhere, or on the site, whose pages have other names."""
    rules = one("PrometheusRule", render(MONITORING, {"metrics.rules.runbookBase": base}))["spec"]["groups"]
    links = [each["annotations"]["runbook_url"] for group in rules for each in group["rules"] if "annotations" in each]
    assert {link.partition("#")[0] for link in links} == {page}
    assert f"{page}#no-worker-runs" in links


def test_the_dashboard_is_that_of_the_deploy_folder() -> None:
    """In a ConfigMap that Grafana's sidecar finds."""
    (found,) = (each for each in kind("ConfigMap", render(MONITORING)) if "tokenmill.json" in each["data"])
    assert json.loads(found["data"]["tokenmill.json"]) == json.loads((CHART / "files" / "tokenmill.json").read_text())
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert found["metadata"]["annotations"] == {"grafana_folder": "Streams"}


def test_custom_resources_are_off() -> None:
    """The chart installs on a cluster without any operator."""
    own = {"v1", "apps/v1", "batch/v1", "policy/v1", "networking.k8s.io/v1"}
    assert {found["apiVersion"] for found in render()} <= own


def test_what_users_add_may_be_templates() -> None:
    """Names of the release are known in it."""
    (found,) = (each for each in kind("ConfigMap", render(HPA)) if each["metadata"]["name"] == "parsers-more")
    assert found["data"] == {"release": "mill"}


def test_every_object_can_be_told_apart() -> None:
    """Name and version of the chart, the release, and what is said for all."""
    for found in render(SASL):
        labels = found["metadata"]["labels"]
        assert labels["app.kubernetes.io/name"] == "mill"
        assert labels["app.kubernetes.io/instance"] == "mill"
        assert labels["helm.sh/chart"].startswith("tokenmill-")
        assert labels["team"] == "streams"


def test_names_fit_where_a_release_has_a_long_one() -> None:
    """A label has at most 63 characters; that of a StatefulSet's revision holds its name, a dash and a hash of ten."""
    made = run("helm", "template", "r" * 53, CHART)
    assert made.returncode == 0
    objects = documents(made.stdout)
    assert len(worker(objects)["metadata"]["name"]) + 11 <= 63
    assert max(len(found["metadata"]["name"]) for found in objects) <= 63


def notes(example: Path | None = None, more: Values | None = None) -> str:
    """What `helm install` says at its end. It needs a cluster for that, so the text is rendered as a template here."""
    text = (CHART / "templates" / "NOTES.txt").read_text()
    rendered = {"kind": "ConfigMap", "metadata": {"name": "notes"}}
    values = {
        **(more or {}),
        "extraEnv": [{"name": "NOTES", "value": text}],
        "extraObjects": [{**rendered, "data": {"said": "{{ tpl (first .Values.extraEnv).value . | b64enc }}"}}],
    }
    (found,) = (each for each in render(example, values) if each["metadata"]["name"] == "notes")
    return b64decode(found["data"]["said"]).decode()


def test_the_notes_have_commands_that_can_be_typed() -> None:
    """With the names of this release."""
    said = notes()
    assert "kubectl --namespace streams rollout status statefulset/mill-tokenmill-worker\n" in said
    assert "helm --namespace streams test mill\n" in said
    assert "exec -i statefulset/mill-tokenmill-worker -c worker -- tokenmill publish --conversation hello\n" in said


def test_the_notes_warn_of_what_may_be_forgotten() -> None:
    """No encryption, no topics, no metrics, no lasting names; and say nothing where all is well."""
    assert "WARNING: there is no login to Kafka" in notes()
    said = notes(MINIMAL)
    for sentence in ("this release creates no topics", "each restart moves partitions", "nothing scrapes the metrics"):
        assert sentence in said
    assert "panels stay empty" in notes(MONITORING, {"metrics.rules.enabled": False})
    assert "panels stay empty" not in notes(MONITORING)
    assert "WARNING" not in notes(SASL)
    assert "NOTE" not in notes(SASL)
