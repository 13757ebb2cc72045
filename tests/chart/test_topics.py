"""Topics made by a job, or by Strimzi with the same settings as the job would give."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.chart.rendering import CHART, Refused, container, hook, kind, pod_of, render
from tests.chart.test_config import file_of
from tokenmill.commands import tokenmill
from tokenmill.config import Config, load_config
from tokenmill.kafka.topics import _settings, all_topics

STRIMZI = CHART / "ci" / "strimzi-values.yaml"


def test_the_job_runs_before_anything_that_needs_topics() -> None:
    """And brings its configuration and its way to the broker, because nothing of the release is there yet."""
    objects = render()
    job = hook("Job", objects)
    (policy,) = (
        found for found in kind("NetworkPolicy", objects) if found["metadata"]["name"] == job["metadata"]["name"]
    )
    first = [found["metadata"]["annotations"] for found in (hook("ConfigMap", objects), policy)]
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert {each["helm.sh/hook"] for each in first} == {"pre-install,pre-upgrade"}
    assert {each["helm.sh/hook-weight"] for each in first} == {"-10"}
    pod = pod_of(job)
    sources = pod["spec"]["volumes"][0]["projected"]["sources"]
    assert sources == [{"configMap": {"name": hook("ConfigMap", objects)["metadata"]["name"]}}]
    assert "serviceAccountName" not in pod["spec"]
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()


def test_the_job_has_the_account_that_was_made_for_it() -> None:
    """One of the release itself is not there yet; whoever tests the release has it."""
    given = render(values={"serviceAccount.create": False, "serviceAccount.name": "kafka-client"})
    assert pod_of(hook("Job", given))["spec"]["serviceAccountName"] == "kafka-client"
    assert hook("Pod", render())["spec"]["serviceAccountName"] == "mill-tokenmill"


def test_the_job_can_be_repeated() -> None:
    """A finished one is removed, one that failed is kept for its log until the next."""
    policy = hook("Job", render())["metadata"]["annotations"]["helm.sh/hook-delete-policy"]
    assert policy == "before-hook-creation,hook-succeeded"


def test_the_jobs_command_is_one_of_the_application() -> None:
    """With the number of partitions and copies; a wrong option would be refused with exit code 2 and its name."""
    found = container(hook("Job", render()))
    assert found["args"] == ["topics", "create", "--partitions=12", "--replication=3"]
    assert found["command"] == ["tokenmill"]
    run = CliRunner().invoke(tokenmill, [*found["args"], "--help"])
    assert run.exit_code == 0


def test_nobody_makes_topics() -> None:
    """If that is said."""
    objects = render(values={"topics.create": "none"})
    assert kind("Job", objects) + kind("KafkaTopic", objects) == []


def test_strimzi_makes_the_same_topics_as_the_command(tmp_path: Path) -> None:
    """All of them, with the same settings, and removes none of them with the release."""
    objects = render(STRIMZI)
    assert kind("Job", objects) == []
    (tmp_path / "tokenmill.toml").write_text(file_of(objects))
    config = _without_login(tmp_path / "tokenmill.toml")
    made = {topic["spec"]["topicName"]: topic for topic in kind("KafkaTopic", objects)}
    assert made.keys() == set(all_topics(config))
    for name, topic in made.items():
        settings = {key: str(value) for key, value in topic["spec"]["config"].items()}
        assert settings == _settings(config, name)
        assert (topic["spec"]["partitions"], topic["spec"]["replicas"]) == (6, 2)
        assert topic["metadata"]["namespace"] == "kafka"
        assert topic["metadata"]["labels"]["strimzi.io/cluster"] == "my-cluster"
        assert topic["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert made["agent_rows"]["metadata"]["name"] == "mill-tokenmill-agent-rows"


def test_strimzi_and_the_command_agree_about_defaults(tmp_path: Path) -> None:
    """Where no limits are given."""
    objects = render(values={"topics.create": "strimzi", "topics.strimzi.cluster": "kafka"})
    (tmp_path / "tokenmill.toml").write_text(file_of(objects))
    config = load_config(tmp_path / "tokenmill.toml", {})
    for topic in kind("KafkaTopic", objects):
        settings = {key: str(value) for key, value in topic["spec"]["config"].items()}
        assert settings == _settings(config, topic["spec"]["topicName"])


def test_strimzi_needs_the_name_of_a_cluster() -> None:
    """No operator would look at the topics."""
    with pytest.raises(Refused, match=r"topics\.strimzi\.cluster is needed"):
        render(values={"topics.create": "strimzi"})


def _without_login(path: Path) -> Config:
    return load_config(path, {"TOKENMILL_KAFKA__SASL_PASSWORD": "open-sesame"})
