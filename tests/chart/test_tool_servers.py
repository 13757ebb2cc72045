"""Servers of tools that the release runs: each by itself, reached by runners alone, and reaching nobody."""

import json
from typing import Any

import pytest

from tests.chart.rendering import (
    CHART,
    Object,
    Refused,
    Values,
    component,
    container,
    kind,
    of_server,
    of_tools,
    one,
    pod_of,
    render,
    runner,
    worker,
)
from tests.chart.test_around import ports

FULL = CHART / "ci" / "tools-values.yaml"

DNS = {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]}

ONE: Values = {"tools.enabled": True, "tools.servers": {"files": {"image": "files:1"}}}


def server(name: str, objects: list[Object]) -> Object:
    """The Deployment of a server."""
    return one("Deployment", of_server(name, objects))


def pods(objects: list[Object]) -> dict[str, dict[str, str]]:
    """Labels of the pods that each object makes, or is."""
    makers = {"StatefulSet", "Deployment", "Job", "Pod"}
    found = [each for each in objects if each["kind"] in makers]
    return {each["metadata"]["name"]: pod_of(each)["metadata"]["labels"] for each in found}


def selected(selector: dict[str, str], objects: list[Object]) -> list[str]:
    """Who makes the pods that a selector finds."""
    return [name for name, labels in pods(objects).items() if selector.items() <= labels.items()]


def secrets(found: Any) -> set[str]:
    """Names of the Secrets that are named anywhere in it."""
    if isinstance(found, list):
        return {name for each in found for name in secrets(each)}
    if not isinstance(found, dict):
        return set()
    named = {each["name"] for key in ("secret", "secretRef", "secretKeyRef") if (each := found.get(key))}
    return named | {name for each in found.values() for name in secrets(each)}


def test_each_policy_is_for_the_pods_of_one_object() -> None:
    """Those of all servers, of the runners, and of everybody else."""
    objects = render(FULL)
    found = {
        policy["metadata"]["name"]: selected(policy["spec"]["podSelector"]["matchLabels"], objects)
        for policy in kind("NetworkPolicy", objects)
    }
    assert {name: [name] for name in pods(objects)} == found
    assert {"mill-tokenmill-tools-files", "mill-tokenmill-tools-issues", "mill-tokenmill-tools"} < found.keys()


@pytest.mark.parametrize("name", ["files", "issues"])
def test_only_runners_come_to_a_server(name: str) -> None:
    """Of this release, on its one port; and they are let out to it."""
    objects = render(FULL)
    policy = one("NetworkPolicy", of_server(name, objects))["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    (came,) = policy["ingress"]
    assert came["ports"] == [{"port": "mcp", "protocol": "TCP"}]
    (peer,) = came["from"]
    assert peer.keys() == {"podSelector"}
    assert selected(peer["podSelector"]["matchLabels"], objects) == ["mill-tokenmill-tools"]

    port = container(server(name, objects))["ports"][0]["containerPort"]
    ways = [rule for rule in one("NetworkPolicy", of_tools(objects))["spec"]["egress"] if ports([rule]) == [[port]]]
    (to,) = ways[0]["to"]
    assert selected(to["podSelector"]["matchLabels"], objects) == [f"mill-tokenmill-tools-{name}"]
    assert len(ways) == 1


def test_a_server_reaches_nobody_but_whom_it_says() -> None:
    """Names come with the first rule; what holds for all pods does not hold for servers."""
    objects = render(FULL, {"networkPolicy.extraEgress": [{"ports": [{"port": 8443, "protocol": "TCP"}]}]})
    assert "egress" not in one("NetworkPolicy", of_server("files", objects))["spec"]
    assert one("NetworkPolicy", of_server("issues", objects))["spec"]["egress"] == [
        DNS,
        {"ports": [{"port": 443, "protocol": "TCP"}], "to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}]},
    ]


@pytest.mark.parametrize("name", ["files", "issues"])
def test_its_service_leads_to_it(name: str) -> None:
    """Under the address in the servers file, and a runner stays with one pod."""
    objects = render(FULL)
    service = one("Service", of_server(name, objects))
    (port,) = service["spec"]["ports"]
    listed = json.loads(one("ConfigMap", of_tools(objects))["data"]["servers.json"])["mcpServers"][name]
    assert listed["url"].startswith(f"http://{service['metadata']['name']}:{port['port']}/")
    assert selected(service["spec"]["selector"], objects) == [f"mill-tokenmill-tools-{name}"]
    assert container(server(name, objects))["ports"] == [{"name": port["targetPort"], "containerPort": port["port"]}]
    assert service["spec"]["sessionAffinity"] == "ClientIP"


def test_secrets_are_where_they_are_needed() -> None:
    """A server's in its pods, tokens for servers with the runners, nothing of either with the workers."""
    objects = render(FULL)
    assert {name: secrets(pod_of(found)) for name, found in all_of(objects).items()} == {
        "worker": {"kafka-login", "kafka-ca", "redis-login"},
        "runner": {"kafka-login", "kafka-ca", "tickets", "files"},
        "files": {"files"},
        "issues": {"issues-login"},
    }


def all_of(objects: list[Object]) -> dict[str, Object]:
    """Everything that runs on and on."""
    servers = {name: server(name, objects) for name in ("files", "issues")}
    return {"worker": worker(objects), "runner": runner(objects), **servers}


@pytest.mark.parametrize("name", ["files", "issues"])
def test_its_pods_have_no_rights(name: str) -> None:
    """No token, no account whose rights somebody else has, no file of the release."""
    spec = pod_of(server(name, render(FULL)))["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in spec
    assert not any("projected" in volume for volume in spec["volumes"])
    assert spec["volumes"][0] == {"name": "tmp", "emptyDir": {"sizeLimit": "16Mi"}}


def test_security_contexts_are_the_charts_but_for_what_is_said() -> None:
    """Key by key, and what is false is false."""
    found = server("files", render(FULL))
    assert pod_of(found)["spec"]["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 20001,
        "runAsGroup": 20001,
        "fsGroup": 20001,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container(found)["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    context = {"readOnlyRootFilesystem": False, "capabilities": {"add": ["NET_BIND_SERVICE"]}}
    said = {"image": "files:1", "securityContext": context}
    loose = server("files", render(values={**ONE, "tools.servers": {"files": said}}))
    assert container(loose)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": False,
        "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
    }


def test_what_a_server_says_goes_over_what_is_said_for_all() -> None:
    """Its keys whole; the others are those of all servers."""
    objects = render(FULL)
    files, issues = (container(server(name, objects)) for name in ("files", "issues"))
    assert (files["image"], files["imagePullPolicy"]) == ("registry.example.com/mcp/files:1.2", "IfNotPresent")
    assert (issues["image"], issues["imagePullPolicy"]) == ("registry.example.com/mcp/issues:3", "Always")
    assert (files.get("command"), files["args"]) == (None, ["--host=0.0.0.0", "--root=/srv/files"])
    assert (issues["command"], issues.get("args")) == (["issues-server"], None)
    assert files["resources"]["limits"]["memory"] == "256Mi"
    assert issues["resources"]["limits"] == {"memory": "512Mi", "ephemeral-storage": "32Mi"}
    assert files["readinessProbe"]["tcpSocket"] == {"port": "mcp"}
    assert issues["readinessProbe"] == {"httpGet": {"path": "/ready", "port": "mcp"}, "periodSeconds": 2}
    assert ("livenessProbe" in files, "livenessProbe" in issues) == (False, True)
    assert {each["startupProbe"]["failureThreshold"] for each in (files, issues)} == {90}
    assert files["volumeMounts"][-1] == {"name": "files", "mountPath": "/srv/files", "readOnly": True}
    assert len(issues["volumeMounts"]) == 1
    assert server("files", objects)["spec"]["strategy"] == {"type": "Recreate"}
    assert server("issues", objects)["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    for name in ("files", "issues"):
        pod = pod_of(server(name, objects))
        assert pod["spec"]["terminationGracePeriodSeconds"] == 90
        assert pod["spec"]["priorityClassName"] == "tools"
        assert pod["spec"]["nodeSelector"] == {"kubernetes.io/arch": "amd64"}
        assert pod["spec"]["tolerations"][0]["key"] == "tools"
        assert "podAntiAffinity" in pod["spec"]["affinity"]
        assert pod["metadata"]["annotations"] == {"example.com/logs": "text"}
        assert pod["metadata"]["labels"]["example.com/mesh"] == "off"


def test_a_new_version_of_tokenmill_leaves_servers_alone() -> None:
    """Their pods bear no version of it, and none of its settings; what is said of all objects they do."""
    objects = render(values={**ONE, "commonLabels": {"team": "streams"}})
    labels = pod_of(server("files", objects))["metadata"]["labels"]
    assert labels == {**server("files", objects)["spec"]["selector"]["matchLabels"], "team": "streams"}
    changed = render(values={**ONE, "commonLabels": {"team": "streams"}, "config.tools.calls": 7, "image.tag": "9"})
    assert pod_of(server("files", changed)) == pod_of(server("files", objects))


def test_several_pods_of_a_server_are_evicted_one_by_one() -> None:
    """The one pod of another may go."""
    objects = render(FULL)
    assert (server("files", objects)["spec"]["replicas"], server("issues", objects)["spec"]["replicas"]) == (1, 2)
    budget = one("PodDisruptionBudget", of_server("issues", objects))["spec"]
    assert (budget["maxUnavailable"], budget["unhealthyPodEvictionPolicy"]) == (1, "AlwaysAllow")
    assert selected(budget["selector"]["matchLabels"], objects) == ["mill-tokenmill-tools-issues"]
    assert kind("PodDisruptionBudget", of_server("files", objects)) == []


def test_policies_can_be_left_out() -> None:
    """All of them at once."""
    objects = render(FULL, {"networkPolicy.enabled": False})
    assert kind("NetworkPolicy", objects) == []
    assert "tools-server" in {component(found) for found in objects}


@pytest.mark.parametrize(
    ("servers", "said"),
    [
        ({"Files": {"image": "a"}}, 'tools.servers: "Files" is no name for objects: take lower-case'),
        ({"my_files": {"image": "a"}}, '"my_files" is no name for objects'),
        ({"files-": {"image": "a"}}, '"files-" is no name for objects'),
        ({"f" * 43: {"image": "a"}}, "longer than 63 characters: take a shorter name"),
        ({"time": {"image": "a"}}, "tools.servers.time is also in tools.mcpServers: give one of them another name"),
        ({"files": {"port": 8001}}, "tools.servers.files has no image: say which"),
        ({"files": {"image": "a", "imagePullPolicy": "Always"}}, "imagePullPolicy"),
        ({"files": {"image": "a", "port": "http"}}, "port"),
        ({"files": {"image": "a", "path": "mcp"}}, "path"),
        ({"files": {"image": "a", "headers": {"Authorization": "Bearer open-sesame"}}}, "Authorization"),
    ],
)
def test_what_can_not_work_is_refused(servers: dict[str, Any], said: str) -> None:
    """Names that objects can't have, or that others have; nothing to run; tokens that could be read."""
    values = {"tools.enabled": True, "tools.mcpServers": {"time": {"command": "clock"}}, "tools.servers": servers}
    with pytest.raises(Refused, match=said):
        render(values=values)


def test_the_longest_name_fits() -> None:
    """Of 63 characters; the servers of others may have names that no object can."""
    name = "f" * 42
    objects = render(
        values={
            "tools.enabled": True,
            "tools.mcpServers": {"My_Clock": {"command": "clock"}},
            "tools.servers": {name: {"image": "a"}},
        }
    )
    assert len(server(name, objects)["metadata"]["name"]) == 63
