"""Workers scaled by lag or by processor time: one of both, and never more than there are partitions."""

from pathlib import Path

import pytest

from tests.chart.looked_up import api_server, render_in
from tests.chart.rendering import (
    ALL,
    CHART,
    EXAMPLES,
    PARTS,
    Object,
    Refused,
    Values,
    around_workers,
    component,
    kind,
    one,
    render,
    worker,
)

SASL = CHART / "ci" / "keda-sasl-values.yaml"
MTLS = CHART / "ci" / "keda-mtls-values.yaml"
OWN = CHART / "ci" / "keda-own-login-values.yaml"
HPA = CHART / "ci" / "deployment-hpa-values.yaml"


def is_set(found: Object) -> bool:
    """Whether it is one that makes pods for as long as it is there."""
    return found["kind"] in {"StatefulSet", "Deployment"}


KEDA = {"worker.autoscaling.kind": "keda"}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_one_thing_at_most_says_how_many_workers_there_are(example: Path) -> None:
    """A number, an HPA or a ScaledObject."""
    objects = around_workers(render(example))
    fixed = "replicas" in worker(objects)["spec"]
    assert fixed + len(kind("HorizontalPodAutoscaler", objects)) + len(kind("ScaledObject", objects)) == 1


def test_scaling_by_lag() -> None:
    """Of the group and topic that the workers read, from where they begin themselves. All metadata are strings."""
    objects = render(SASL)
    spec = one("ScaledObject", objects)["spec"]
    assert spec["scaleTargetRef"] == {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "name": worker(objects)["metadata"]["name"],
    }
    assert (spec["minReplicaCount"], spec["maxReplicaCount"], spec["pollingInterval"]) == (3, 24, 10)
    assert spec["fallback"] == {"failureThreshold": 3, "replicas": 6, "behavior": "currentReplicasIfHigher"}
    behavior = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    assert behavior["scaleDown"]["stabilizationWindowSeconds"] == 300
    (trigger,) = spec["triggers"]
    assert trigger["type"] == "kafka"
    assert trigger["metadata"] == {
        "bootstrapServers": "kafka-1.example.com:9096,kafka-2.example.com:9096",
        "consumerGroup": "mill",
        "topic": "llm.tokens",
        "lagThreshold": "5000",
        "offsetResetPolicy": "earliest",
        "excludePersistentLag": "true",
        "version": "3.9.0",
        "sasl": "scram_sha512",
        "tls": "enable",
    }


def test_lag_that_no_worker_can_take_counts_for_nothing() -> None:
    """Unless the values say that it does."""
    for said, expected in (({}, "true"), ({"excludePersistentLag": "false"}, "false")):
        objects = render(values={**KEDA, "worker.autoscaling.keda.metadata": said})
        assert one("ScaledObject", objects)["spec"]["triggers"][0]["metadata"]["excludePersistentLag"] == expected


def test_metadata_may_say_how_a_login_of_its_own_is_made() -> None:
    """The chart's own login has what it needs already."""
    said = {"worker.autoscaling.keda.metadata": {"sasl": "gssapi"}}
    for example, mechanism in ((OWN, "gssapi"), (SASL, "scram_sha512")):
        (trigger,) = one("ScaledObject", render(example, said))["spec"]["triggers"]
        assert trigger["metadata"]["sasl"] == mechanism


def test_keda_logs_in_as_the_workers_do() -> None:
    """From the same Secrets, by keys of theirs."""
    objects = render(SASL)
    auth = one("TriggerAuthentication", objects)
    assert one("ScaledObject", objects)["spec"]["triggers"][0]["authenticationRef"] == {
        "name": auth["metadata"]["name"]
    }
    assert auth["spec"]["secretTargetRef"] == [
        {"parameter": "username", "name": "kafka-login", "key": "user"},
        {"parameter": "password", "name": "kafka-login", "key": "pass"},
        {"parameter": "ca", "name": "kafka-ca", "key": "ca.pem"},
    ]


def test_keda_shows_the_workers_certificate() -> None:
    """Without a login."""
    objects = render(MTLS)
    references = one("TriggerAuthentication", objects)["spec"]["secretTargetRef"]
    assert [(each["parameter"], each["key"]) for each in references] == [
        ("ca", "ca.crt"),
        ("cert", "user.crt"),
        ("key", "user.key"),
        ("keyPassword", "user.password"),
    ]
    metadata = one("ScaledObject", objects)["spec"]["triggers"][0]["metadata"]
    assert metadata["tls"] == "enable"
    assert "sasl" not in metadata


def test_keda_logs_in_in_a_way_of_its_own() -> None:
    """The TriggerAuthentication that is named says all of it."""
    objects = render(OWN)
    assert kind("TriggerAuthentication", objects) == []
    (trigger,) = one("ScaledObject", objects)["spec"]["triggers"]
    assert trigger["authenticationRef"] == {"name": "kafka-tokens"}
    assert trigger["metadata"].keys().isdisjoint({"sasl", "tls"})


def test_keda_without_login_needs_no_authentication() -> None:
    """Nor does TLS with authorities that everybody knows."""
    for protocol in ("PLAINTEXT", "SSL"):
        objects = render(values={**KEDA, "config.kafka.security_protocol": protocol})
        assert kind("TriggerAuthentication", objects) == []
        assert "authenticationRef" not in one("ScaledObject", objects)["spec"]["triggers"][0]


def test_scaling_by_processor_time() -> None:
    """Of what is requested."""
    objects = render(HPA)
    spec = one("HorizontalPodAutoscaler", objects)["spec"]
    assert spec["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "parsers-worker"}
    assert (spec["minReplicas"], spec["maxReplicas"]) == (1, 6)
    assert spec["metrics"][0]["resource"] == {
        "name": "cpu",
        "target": {"type": "Utilization", "averageUtilization": 60},
    }
    assert spec["behavior"]["scaleDown"]["stabilizationWindowSeconds"] == 600


@pytest.mark.parametrize("part", PARTS)
def test_an_autoscaler_begins_with_the_pods_that_there_are(part: str) -> None:
    """Also with 0, where somebody paused it: a number left out would be 1. Of what is new nothing is said."""
    switch = {f"{part}.autoscaling.kind": "hpa"} if part == "worker" else {f"{part}.autoscaling.enabled": True}
    what = "statefulsets" if part == "worker" else "deployments"
    name = f"{what}/mill-tokenmill-{part}"
    for live, said in (({name: 5}, 5), ({name: 0}, 0), (dict[str, int](), None)):
        with api_server(live) as address:
            objects = render_in(address, {**ALL, **switch})
        replicas = {component(found): found["spec"].get("replicas") for found in objects if is_set(found)}
        assert replicas == {**dict.fromkeys(PARTS, 2), part: said}


def test_workers_are_as_many_as_partitions_at_most() -> None:
    """Where nobody says less."""
    objects = render(values={**KEDA, "topics.partitions": 7})
    assert one("ScaledObject", objects)["spec"]["maxReplicaCount"] == 7


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({**KEDA, "worker.autoscaling.maxReplicas": 13}, "maxReplicas is 13, and topics.partitions 12"),
        ({"worker.autoscaling.kind": "hpa", "worker.autoscaling.maxReplicas": 13}, "maxReplicas is 13"),
        ({**KEDA, "worker.autoscaling.minReplicas": 13}, "minReplicas is 13, and there are at most 12"),
        ({**KEDA, "config.kafka.security_protocol": "SASL_SSL"}, "KEDA can log in"),
        (
            {
                **KEDA,
                "config.kafka.security_protocol": "SASL_SSL",
                "config.kafka.sasl_mechanism": "OAUTHBEARER",
                "kafka.login.existingSecret": "login",
            },
            "KEDA can log in",
        ),
    ],
)
def test_what_can_not_work_is_refused(values: Values, said: str) -> None:
    """Idle workers, contradictions, a login that KEDA could not make."""
    with pytest.raises(Refused, match=said):
        render(values=values)
