"""Callers in pods of their own: off by default, and with them all that calls of models need, and nobody else."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.chart.rendering import (
    CHART,
    Refused,
    Values,
    caller,
    container,
    front,
    kind,
    of_caller,
    one,
    pod_of,
    render,
    values_of,
)
from tests.chart.test_around import notes, ports
from tests.chart.test_front import MODEL, configuration
from tests.chart.test_gateway import mounted
from tokenmill.config import Caller
from tokenmill.process import EXIT_S

FULL = CHART / "ci" / "callers-values.yaml"
MINIMAL = CHART / "ci" / "front-minimal-values.yaml"

ON: Values = {"caller.enabled": True, "config.upstreams": [MODEL]}

each_example = pytest.mark.parametrize("example", [FULL, MINIMAL], ids=lambda path: path.stem)


def with_upstream(**more: Any) -> Values:
    """Callers with one model server, of which more is said."""
    return {**ON, "config.upstreams": [{**MODEL, **more}]}


def test_the_notes_say_where_fronts_call_models_too() -> None:
    """Callers with pods of their own are not instead of those in the fronts, which then have keys and a way, too."""
    said = "NOTE: fronts also call the models, and have their keys: see front.caller"
    assert said in notes(FULL, {"front.caller": True})
    assert said not in notes(FULL) + notes(FULL, {"front.enabled": False, "front.caller": True})
    assert said not in notes(CHART / "ci" / "front-values.yaml")


@each_example
def test_they_start_with_their_configuration(example: Path, tmp_path: Path) -> None:
    """File, variables and the files that they name: the application takes them, and answers on the port of the pod."""
    objects = render(example)
    found = container(caller(objects))
    assert (found["command"], found["args"]) == (["tokenmill"], ["caller"])
    text = str(one("ConfigMap", of_caller(objects))["data"]["tokenmill.toml"])
    config = configuration(caller(objects), text, tmp_path)
    said: dict[str, Any] = values_of(example)["config"]
    keys = said.get("caller", {})
    assert {key: getattr(config.caller, key) for key in keys} == keys
    assert found["ports"] == [{"name": "ops", "containerPort": config.caller.port}]
    assert config.gateway.auth == "none"
    if example == FULL:
        assert config.upstreams[0].api_key == "sk-qwen3"
        assert config.front.answer_s == 600


def test_a_front_is_not_needed() -> None:
    """It may be that of another release, with the same topics."""
    objects = render(values=ON)
    assert of_caller(objects) != []
    read = tomllib.loads(one("ConfigMap", of_caller(objects))["data"]["tokenmill.toml"])
    assert read.keys().isdisjoint({"front", "gateway", "tools"})


def test_they_know_a_repeated_request_for_as_long_as_fronts_do() -> None:
    """What a front takes for a new one nobody else would answer."""
    said = {"config.front.remember_s": 60, "config.front.retry_s": 30, "config.front.answer_s": 90}
    read = tomllib.loads(one("ConfigMap", of_caller(render(values={**ON, **said})))["data"]["tokenmill.toml"])
    assert read["front"] == {"remember_s": 60, "retry_s": 30, "answer_s": 90}


def test_they_alone_have_the_keys_of_the_model_servers() -> None:
    """And the templates; a caller never talks to Redis, and lets nobody in."""
    objects = render(FULL)
    (files,) = (volume for volume in pod_of(caller(objects))["spec"]["volumes"] if volume["name"] == "files")
    *secrets, template = files["projected"]["sources"][1:]
    assert [(each["secret"]["name"], each["secret"]["items"][0]["path"]) for each in secrets] == [
        ("kafka-login", "kafka/password"),
        ("kafka-ca", "kafka/ca.crt"),
        ("model-keys", "upstreams/qwen3"),
    ]
    assert template == {
        "configMap": {"name": "templates", "items": [{"key": "tokenizer_config.json", "path": "templates/qwen3"}]}
    }
    assert "model-keys" not in mounted(front(objects))


def test_they_are_replaced_one_by_one_and_let_answers_end() -> None:
    """The grace period is over after the deadline that a caller sets itself."""
    found = caller(render(FULL))
    assert found["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    assert pod_of(found)["spec"]["terminationGracePeriodSeconds"] == 2 + 40 + 2 * EXIT_S
    plain = caller(render(values=ON))
    assert pod_of(plain)["spec"]["terminationGracePeriodSeconds"] == Caller().drain_s + 2 * EXIT_S
    assert "lifecycle" not in container(plain)
    assert pod_of(caller(render(MINIMAL)))["spec"]["terminationGracePeriodSeconds"] == 60


@each_example
def test_selectors_find_the_callers_and_nothing_else(example: Path) -> None:
    """Service, budget, network, spread and the Deployment mean the same pods."""
    objects = render(example)
    found, ours = caller(objects), of_caller(objects)
    selector = found["spec"]["selector"]["matchLabels"]
    selected = [each for each in objects if "template" in each.get("spec", {})]
    assert [each for each in selected if selector.items() <= pod_of(each)["metadata"]["labels"].items()] == [found]
    assert one("Service", ours)["spec"]["selector"] == selector
    assert one("NetworkPolicy", ours)["spec"]["podSelector"]["matchLabels"] == selector
    for each in kind("PodDisruptionBudget", ours):
        assert each["spec"]["selector"]["matchLabels"] == selector
    for spread in pod_of(found)["spec"]["topologySpreadConstraints"]:
        assert spread["labelSelector"]["matchLabels"] == selector


def test_they_talk_to_kafka_and_to_models() -> None:
    """On the ports of the URLs, unless others are said, and with them where they are; nobody but operators comes."""
    policy = one("NetworkPolicy", of_caller(render(FULL)))["spec"]
    *_, collector, models = policy["egress"]
    assert ports(policy["egress"]) == [[53, 53], [9093], [4318], [8000]]
    assert collector["to"] == [{"ipBlock": {"cidr": "10.4.0.0/16"}}]
    assert models["to"] == [{"ipBlock": {"cidr": "10.3.0.0/16"}}]
    assert ports(policy["ingress"]) == [["ops"]]
    urls = ["http://a", "https://b/", "http://[fd00::1]:8000", "http://[fd00::2]", "https://c:8443/v1", "http://d:8000"]
    *_, models = one("NetworkPolicy", of_caller(render(values=with_upstream(urls=urls))))["spec"]["egress"]
    assert (ports([models]), "to" in models) == ([[80, 443, 8000, 8443]], False)


def test_scaling_by_answers_and_by_processor_time() -> None:
    """Up to the partitions, unless fewer are said; then nothing else says how many there are."""
    objects = of_caller(render(FULL))
    spec = one("HorizontalPodAutoscaler", objects)["spec"]
    assert (spec["minReplicas"], spec["maxReplicas"]) == (3, 6)
    answers, cpu = spec["metrics"]
    assert answers["pods"]["metric"] == {"name": "tokenmill_caller_running"}
    assert answers["pods"]["target"]["averageValue"] == "500"
    assert cpu["resource"]["target"]["averageUtilization"] == 80
    assert "replicas" not in caller(objects)["spec"]
    plain = of_caller(render(values={**ON, "caller.autoscaling.enabled": True}))
    assert one("HorizontalPodAutoscaler", plain)["spec"]["maxReplicas"] == 12


def test_their_metrics_are_collected_as_the_workers_are() -> None:
    """By a monitor of their own, on their own port, which the Service and the pod name."""
    objects = of_caller(render(FULL))
    (endpoint,) = one("PodMonitor", objects)["spec"]["podMetricsEndpoints"]
    assert endpoint["port"] == container(caller(objects))["ports"][0]["name"] == "ops"
    services = of_caller(render(FULL, {"metrics.monitor.kind": "ServiceMonitor"}))
    monitor, service = one("ServiceMonitor", services), one("Service", services)
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()


def test_everything_that_is_said_of_them_is_in_their_pods() -> None:
    """Variables, volumes, labels, where they run."""
    pod, own = pod_of(caller(render(FULL))), container(caller(render(FULL)))
    assert own["env"][-1]["name"] == "TOKENMILL_WORKER__LOG_LEVEL"
    assert own["envFrom"] == [{"configMapRef": {"name": "more-settings", "optional": True}}]
    assert own["volumeMounts"][-1]["mountPath"] == "/opt/plugins"
    assert pod["metadata"]["labels"]["example.com/mesh"] == "off"
    spec = pod_of(caller(render(MINIMAL)))["spec"]
    assert (spec["nodeSelector"], spec["priorityClassName"]) == ({"kubernetes.io/arch": "amd64"}, "streams")
    assert caller(render(MINIMAL))["spec"]["strategy"] == {"type": "Recreate"}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"caller.enabled": True}, "caller.enabled needs config.upstreams"),
        ({**ON, "caller.replicas": 13}, "caller.replicas is 13, and topics.partitions 12"),
        (
            {**ON, "caller.autoscaling.enabled": True, "caller.autoscaling.maxReplicas": 13},
            "caller.autoscaling.maxReplicas is 13, and topics.partitions 12",
        ),
        (
            {**ON, "caller.autoscaling.enabled": True, "caller.autoscaling.minReplicas": 13},
            "minReplicas is 13, and there are at most 12",
        ),
        ({**ON, "caller.terminationGracePeriodSeconds": 34}, "is 34, and a drain may take 35"),
        (
            with_upstream(api_key_file="/etc/tokenmill/upstreams/large"),
            r"upstreams\[0\].api_key_file is /etc/tokenmill/upstreams/large, and there is no such file: upstreams.keys",
        ),
        (with_upstream(api_key_file="/etc/tokenmill/large"), "upstreams.keys has those of /etc/tokenmill/upstreams/"),
        (with_upstream(template_file="/etc/tokenmill/templates/a"), "no such file: upstreams.templates has those of"),
    ],
)
def test_what_can_not_work_is_refused(values: Values, said: str) -> None:
    """Nobody to call, ends without time, callers that would be idle, files that nobody brings."""
    with pytest.raises(Refused, match=said):
        render(values=values)


def test_a_file_of_ones_own_may_lie_elsewhere() -> None:
    """A volume of the user's brings it."""
    assert caller(render(values=with_upstream(api_key_file="/srv/keys/large")))


def test_a_secret_in_a_url_is_refused_and_not_printed() -> None:
    """It would be readable in a ConfigMap, and in the log of whoever renders."""
    with pytest.raises(Refused, match=r"upstreams\[0\].urls: a URL holds a user or a password") as refused:
        render(values=with_upstream(urls=["https://me:open-sesame@a"]))
    assert "open-sesame" not in str(refused.value)
