"""The workers' pods: names that last, time to drain, rights, where they run."""

from pathlib import Path
from typing import Any

import pytest

from tests.chart.rendering import (
    ALL,
    CHART,
    EXAMPLES,
    PARTS,
    Object,
    Refused,
    Values,
    around_workers,
    container,
    kind,
    one,
    pod_of,
    render,
    worker,
)

HPA = CHART / "ci" / "deployment-hpa-values.yaml"
SASL = CHART / "ci" / "keda-sasl-values.yaml"
MTLS = CHART / "ci" / "keda-mtls-values.yaml"

LIMITS = ("minAvailable", "maxUnavailable")

SELECTOR = {
    "app.kubernetes.io/name": "tokenmill",
    "app.kubernetes.io/instance": "mill",
    "app.kubernetes.io/component": "worker",
}


def pods(objects: list[Object]) -> list[Object]:
    """The spec of every pod of the release: workers, topics job, test."""
    makers = {"StatefulSet", "Deployment", "Job", "Pod"}
    return [pod_of(found)["spec"] for found in objects if found["kind"] in makers]


def variables(objects: list[Object]) -> dict[str, Any]:
    return {entry["name"]: entry for entry in container(worker(objects))["env"]}


def test_a_stateful_set_gives_each_worker_the_name_of_its_pod() -> None:
    """Static membership: a pod that comes back has the same name, so no partition moves."""
    objects = render()
    found = worker(objects)
    assert found["kind"] == "StatefulSet"
    assert variables(objects)["TOKENMILL_KAFKA__GROUP_INSTANCE_ID"]["valueFrom"] == {
        "fieldRef": {"fieldPath": "metadata.name"}
    }
    assert found["spec"]["serviceName"] == one("Service", objects)["metadata"]["name"]
    assert one("Service", objects)["spec"]["clusterIP"] == "None"
    assert found["spec"]["podManagementPolicy"] == "Parallel"


def test_a_deployment_has_no_static_members() -> None:
    """Its pods get new names, under which a dead member's partitions would wait for nobody."""
    objects = render(values={"worker.kind": "Deployment"})
    assert worker(objects)["kind"] == "Deployment"
    assert "TOKENMILL_KAFKA__GROUP_INSTANCE_ID" not in variables(objects)
    assert worker(objects)["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_selectors_find_the_workers_and_nothing_else(example: Path) -> None:
    """Service, disruption budget, spread and the set itself mean the same pods."""
    objects = around_workers(render(example))
    found = worker(objects)
    selector = found["spec"]["selector"]["matchLabels"]
    assert selector.keys() == SELECTOR.keys()
    assert selector.items() <= pod_of(found)["metadata"]["labels"].items()
    others = [pod_of(o)["metadata"]["labels"] for o in objects if o["kind"] in {"Job", "Pod"}]
    assert not any(selector.items() <= labels.items() for labels in others)
    assert one("Service", objects)["spec"]["selector"] == selector
    for budget in kind("PodDisruptionBudget", objects):
        assert budget["spec"]["selector"]["matchLabels"] == selector
    for spread in pod_of(found)["spec"].get("topologySpreadConstraints", []):
        assert spread["labelSelector"]["matchLabels"] == selector


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_a_drain_ends_before_the_grace_period(example: Path) -> None:
    """Sleep before SIGTERM, the worker's own deadline, and some seconds for the process to end."""
    objects = render(example)
    found = container(worker(objects))
    sleep = found.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
    own = 40 if example == SASL else 25
    assert pod_of(worker(objects))["spec"]["terminationGracePeriodSeconds"] >= sleep + own + 5


def test_sleep_and_drain_are_added_up() -> None:
    """What is left at its default follows the application's setting."""
    found = worker(render(SASL))
    assert container(found)["lifecycle"] == {"preStop": {"sleep": {"seconds": 5}}}
    assert pod_of(found)["spec"]["terminationGracePeriodSeconds"] == 5 + 40 + 5
    assert "lifecycle" not in container(worker(render()))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"worker.terminationGracePeriodSeconds": 29}, "is 29, and a drain may take 30"),
        ({"worker.replicas": 13}, "worker.replicas is 13, and topics.partitions 12"),
        ({"config.worker.state_mib": 1_025}, "state_mib is 1025 MiB, and worker.resources.limits.memory 1Gi"),
        ({"worker.resources.limits.memory": "500M"}, "state_mib is 512 MiB, and worker.resources.limits.memory 500M"),
        ({"worker.resources.limits.memory": "0.25Gi"}, "and worker.resources.limits.memory 0.25Gi"),
    ],
)
def test_what_can_not_work_is_refused(values: Values, said: str) -> None:
    """Before anything is installed, with the name of the value."""
    with pytest.raises(Refused, match=said):
        render(values=values)


@pytest.mark.parametrize("memory", ["512Mi", "537M", "1Gi", "1e9", ""])
def test_what_a_worker_may_hold_fits_its_container(memory: str) -> None:
    """However Kubernetes lets the limit be written; what can't be read here, or is not set, is not judged."""
    found = container(worker(render(values={"worker.resources.limits.memory": memory})))
    assert found["resources"]["limits"].get("memory", "") == memory


def test_liveness_does_not_depend_on_kafka() -> None:
    """The page that never does, under a port that the container names."""
    found = container(worker(render()))
    asked = {name: found[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    assert asked == {
        "startup": {"path": "/healthz", "port": "http"},
        "liveness": {"path": "/healthz", "port": "http"},
        "readiness": {"path": "/readyz", "port": "http"},
    }
    assert found["ports"] == [{"name": "http", "containerPort": 8080}]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_pods_pass_the_restricted_standard(example: Path) -> None:
    """Every rule of the Pod Security Standard `restricted` that these pods could break; no token, nothing writable."""
    for pod in pods(render(example)):
        assert pod["automountServiceAccountToken"] is False
        assert pod["enableServiceLinks"] is False
        assert not any(pod.get(name) for name in ("hostNetwork", "hostPID", "hostIPC"))
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] > 10_000
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert {next(iter(volume.keys() - {"name"})) for volume in pod["volumes"]} <= {
            "configMap",
            "emptyDir",
            "projected",
        }
        for each in [*pod["containers"], *pod.get("initContainers", [])]:
            context = each["securityContext"]
            assert context["allowPrivilegeEscalation"] is False
            assert context["readOnlyRootFilesystem"] is True
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert "memory" in each["resources"]["limits"]


def test_state_fits_into_memory() -> None:
    """Open messages may take half of what the pod gets: the rest is for what is in flight."""
    objects = render()
    assert container(worker(objects))["resources"]["limits"]["memory"] == "1Gi"
    assert "state_mib = 512\n" in one("ConfigMap", objects)["data"]["tokenmill.toml"]


def test_secrets_are_files_and_variables_name_them() -> None:
    """A folder with the configuration and everything that it needs; only the user's name is in a variable."""
    objects = render(SASL)
    found = variables(objects)
    named = {name: entry["value"] for name, entry in found.items() if name.endswith("FILE")}
    assert named == {
        "TOKENMILL_KAFKA__SASL_PASSWORD_FILE": "/etc/tokenmill/kafka/password",
        "TOKENMILL_KAFKA__SSL_CAFILE": "/etc/tokenmill/kafka/ca.crt",
        "TOKENMILL_REDIS__URL_FILE": "/etc/tokenmill/redis/url",
    }
    assert found["TOKENMILL_KAFKA__SASL_USERNAME"]["valueFrom"] == {
        "secretKeyRef": {"name": "kafka-login", "key": "user"}
    }
    (files,) = (volume for volume in pod_of(worker(objects))["spec"]["volumes"] if volume["name"] == "files")
    assert files["projected"]["defaultMode"] == 0o440
    secrets = {source["secret"]["name"]: source["secret"]["items"] for source in files["projected"]["sources"][1:]}
    assert secrets == {
        "kafka-login": [{"key": "pass", "path": "kafka/password"}],
        "kafka-ca": [{"key": "ca.pem", "path": "kafka/ca.crt"}],
        "redis-login": [{"key": "redis-url", "path": "redis/url"}],
        "redis-ca": [{"key": "ca.pem", "path": "redis/ca.crt"}],
    }
    assert kind("Secret", objects) == []


def test_a_certificate_for_the_broker_is_mounted() -> None:
    """With its key and the key's password."""
    objects = render(MTLS)
    named = {name: entry["value"] for name, entry in variables(objects).items() if name.endswith("FILE")}
    assert named == {
        f"TOKENMILL_KAFKA__SSL_{name}": f"/etc/tokenmill/kafka/{path}"
        for name, path in (
            ("CAFILE", "ca.crt"),
            ("CERTFILE", "tls.crt"),
            ("KEYFILE", "tls.key"),
            ("PASSWORD_FILE", "tls.password"),
        )
    }


def test_what_is_put_beside_before_and_around_a_worker() -> None:
    """Everything of the example is in the pod, the worker's own container first."""
    objects = render(HPA)
    found = worker(objects)
    pod = pod_of(found)
    assert found["metadata"]["name"] == "parsers-worker"
    assert found["metadata"]["annotations"] == {"example.com/owner": "streams"}
    assert found["spec"]["revisionHistoryLimit"] == 2
    assert found["spec"]["strategy"] == {"type": "Recreate"}
    assert pod["metadata"]["annotations"]["example.com/logs"] == "json"
    assert pod["metadata"]["labels"]["example.com/mesh"] == "off"
    spec = pod["spec"]
    assert [each["name"] for each in spec["containers"]] == ["worker", "watch"]
    assert [each["name"] for each in spec["initContainers"]] == ["wait"]
    assert spec["nodeSelector"] == {"kubernetes.io/arch": "amd64"}
    assert spec["tolerations"][0]["key"] == "streams"
    assert "podAntiAffinity" in spec["affinity"]
    assert spec["priorityClassName"] == "streams"
    assert spec["topologySpreadConstraints"][0]["maxSkew"] == 2
    assert spec["serviceAccountName"] == "streams"
    assert spec["terminationGracePeriodSeconds"] == 60
    own = container(found)
    assert own["envFrom"] == [{"configMapRef": {"name": "more-settings", "optional": True}}]
    assert own["volumeMounts"][-1]["mountPath"] == "/opt/plugins"
    assert spec["volumes"][-1]["name"] == "plugins"
    assert own["livenessProbe"]["periodSeconds"] == 20
    assert (own["image"], own["imagePullPolicy"]) == ("tokenmill:0.1.0-slim", "Always")


def test_an_image_by_its_digest() -> None:
    """The digest goes over the tag."""
    objects = render(SASL)
    assert container(worker(objects))["image"].startswith("registry.example.com/tokenmill@sha256:0123")
    assert {pod["imagePullSecrets"][0]["name"] for pod in pods(objects)} == {"registry"}


def test_workers_are_spread_over_zones_and_hosts() -> None:
    """As far as it can be done: a worker that can't be spread is better than none."""
    spread = pod_of(worker(render()))["spec"]["topologySpreadConstraints"]
    assert [(each["topologyKey"], each["whenUnsatisfiable"]) for each in spread] == [
        ("topology.kubernetes.io/zone", "ScheduleAnyway"),
        ("kubernetes.io/hostname", "ScheduleAnyway"),
    ]


def test_a_spread_with_a_selector_of_its_own_keeps_it() -> None:
    """Nothing is added to it."""
    selector = {"matchLabels": {"team": "streams"}}
    own = {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector}
    spec = pod_of(worker(render(values={"worker.topologySpreadConstraints": [own]})))["spec"]
    assert spec["topologySpreadConstraints"] == [own]


@pytest.mark.parametrize(
    ("example", "limits"),
    [(None, {"maxUnavailable": 1}), (SASL, {"maxUnavailable": "25%"}), (HPA, {"minAvailable": 1})],
)
def test_evictions_have_a_limit(example: Path | None, limits: dict[str, object]) -> None:
    """Workers that are not ready hold no eviction up."""
    budget = one("PodDisruptionBudget", render(example))["spec"]
    assert {name: budget[name] for name in LIMITS if name in budget} == limits
    assert budget["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


@pytest.mark.parametrize(
    ("values", "limits"),
    [
        ({"minAvailable": None}, {"maxUnavailable": 1}),
        ({"minAvailable": 2}, {"minAvailable": 2}),
        ({"minAvailable": 0, "maxUnavailable": None}, {"minAvailable": 0}),
        ({"maxUnavailable": 0}, {"maxUnavailable": 0}),
    ],
)
def test_a_limit_that_is_taken_out_is_none(values: Values, limits: dict[str, object]) -> None:
    """`null` takes a default out; nothing at all may go, or has to stay, if somebody says so."""
    said = {f"{part}.podDisruptionBudget.{name}": value for part in PARTS for name, value in values.items()}
    budgets = kind("PodDisruptionBudget", render(values={**ALL, **said}))
    assert len(budgets) == len(PARTS)
    for budget in budgets:
        assert {name: budget["spec"][name] for name in LIMITS if name in budget["spec"]} == limits


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("nothing", [None, ""])
def test_a_budget_without_a_limit_is_refused(part: str, nothing: str | None) -> None:
    """The API server takes it, and then it limits nothing."""
    with pytest.raises(Refused, match=f"{part}.podDisruptionBudget has neither"):
        render(values={**ALL, f"{part}.podDisruptionBudget.maxUnavailable": nothing})


def test_the_service_account_has_no_token() -> None:
    """One of its own, or the namespace's."""
    objects = render()
    account = one("ServiceAccount", objects)
    assert account["automountServiceAccountToken"] is False
    assert pod_of(worker(objects))["spec"]["serviceAccountName"] == account["metadata"]["name"]
    without = render(values={"serviceAccount.create": False})
    assert kind("ServiceAccount", without) == []
    assert pod_of(worker(without))["spec"]["serviceAccountName"] == "default"
