"""A release on a real API server: it takes every object, restricted pods too, an upgrade, and the end."""

from copy import deepcopy
from pathlib import Path

import pytest

from tests.apiserver.cluster import Cluster
from tests.chart.rendering import CHART, EXAMPLES, RELEASE, Object, one, pod_of, render, worker

pytestmark = pytest.mark.apiserver

UNKNOWN = {"strimzi-values.yaml"}
"""Examples with custom resources whose definitions no package of a registry has."""

KNOWN = [pytest.param(example, id=example.stem) for example in EXAMPLES if example.name not in UNKNOWN]


def pods(objects: list[Object]) -> list[Object]:
    """The pods that the objects of a release make."""
    found = [pod_of(each) for each in objects if each["kind"] in {"StatefulSet", "Deployment", "Job", "Pod"}]
    return [{**pod, "apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pod-{n}"}} for n, pod in enumerate(found)]


@pytest.mark.parametrize("example", KNOWN)
def test_the_server_takes_every_object(cluster: Cluster, example: Path) -> None:
    """Hooks included, unknown fields refused, by the schemas and the rules of its own."""
    namespace = cluster.namespace(f"objects-{example.stem}")
    refused = {
        (found["kind"], found["metadata"]["name"]): why
        for found in render(example)
        if (why := cluster.refusal({**found, "metadata": {**found["metadata"], "namespace": namespace}}, namespace))
    }
    assert refused == {}


@pytest.mark.parametrize("example", KNOWN)
def test_every_pod_is_restricted(cluster: Cluster, example: Path) -> None:
    """Workers, jobs and the pod of `helm test`, where the namespace takes no others."""
    namespace = cluster.namespace(f"pods-{example.stem}")
    found = pods(render(example))
    assert found
    assert [cluster.refusal(pod, namespace) for pod in found] == [""] * len(found)


@pytest.mark.parametrize("example", KNOWN)
def test_a_release_is_installed_upgraded_and_removed(cluster: Cluster, example: Path) -> None:
    """What changes is changed in place, workers get the new configuration, and nothing is left behind.

    Hooks wait for pods, which nobody runs here.
    """
    namespace = cluster.namespace(f"release-{example.stem}")
    where, values = ["--namespace", namespace, "--no-hooks"], f"--values={example}"
    cluster.helm("install", RELEASE, CHART, *where, values)
    objects = [each for each in render(example) if "helm.sh/hook" not in each["metadata"].get("annotations", {})]
    assert [each["kind"] for each in objects if cluster.read(each, namespace) is None] == []

    before = cluster.read(worker(objects), namespace)
    cluster.helm("upgrade", RELEASE, CHART, *where, values, "--set=config.worker.idle_timeout_s=77")
    after = cluster.read(worker(objects), namespace)
    assert before is not None
    assert after is not None
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["metadata"]["generation"] == before["metadata"]["generation"] + 1
    assert pod_of(after)["metadata"]["annotations"] != pod_of(before)["metadata"]["annotations"]

    cluster.helm("uninstall", RELEASE, *where)
    assert [each["kind"] for each in objects if cluster.read(each, namespace) is not None] == []


def test_mistakes_are_refused(cluster: Cluster) -> None:
    """The server does look: at fields, at types, at what custom resources mean, and at what a pod may do."""
    namespace = cluster.namespace("mistakes")
    keda = next(render(path) for path in EXAMPLES if path.stem == "keda-sasl-values")
    rules = next(render(path) for path in EXAMPLES if path.stem == "monitoring-values")
    privileged, misspelt, scaled, alerts = map(
        deepcopy, (pods(keda)[0], worker(keda), one("ScaledObject", keda), one("PrometheusRule", rules))
    )
    privileged["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    misspelt["spec"]["replica"] = 3
    scaled["spec"]["pollingSeconds"] = 10
    alerts["spec"]["groups"][0]["interval"] = "fivemin"
    wrong = [privileged, misspelt, scaled, alerts]
    for found in wrong:
        found["metadata"]["namespace"] = namespace
    assert [cluster.refusal(found, namespace) != "" for found in wrong] == [True] * 4
    reasons = " ".join(cluster.refusal(found, namespace) for found in wrong)
    for word in ("restricted", 'unknown field "spec.replica"', 'unknown field "spec.pollingSeconds"', "interval"):
        assert word in reasons
