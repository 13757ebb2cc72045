"""What Helm, the API's schemas and kube-score say of the chart, with every file of example values."""

import tomllib
from pathlib import Path

import pytest

from tests.chart.rendering import CHART, EXAMPLES, text_of, values_of
from tests.chart.tools import run, schemas
from tests.structure.tree import CHECKOUT

each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)

OLDEST, NEWEST = "1.30", "1.37"
"""Of Kubernetes: what `kubeVersion` in Chart.yaml begins with, and the newest whose schemas there are."""

CUSTOM = ("ScaledObject", "TriggerAuthentication", "PodMonitor", "ServiceMonitor", "PrometheusRule", "KafkaTopic")
"""Kinds that are no part of Kubernetes."""

NOT_SCORED = {
    "container-image-pull-policy": "IfNotPresent is right for a tag that never changes, and a digest",
}
"""Tests of kube-score that do not apply, and why."""

BY_CHOICE = {
    "minimal-values": {"pod-networkpolicy": "the example leaves it out"},
    "deployment-hpa-values": {"pod-networkpolicy": "the example leaves it out"},
}


@pytest.fixture(scope="module")
def kubernetes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders with the schemas of the oldest and the newest version."""
    return {version: schemas(tmp_path_factory.mktemp(version), version) for version in (OLDEST, NEWEST)}


@each_example
def test_helm_finds_nothing(example: Path) -> None:
    """Neither an error nor a warning; an icon is not needed."""
    said = run("helm", "lint", "--strict", CHART, "--values", example)
    assert said.returncode == 0, said.stdout + said.stderr
    assert "1 chart(s) linted, 0 chart(s) failed" in said.stdout
    assert "[WARNING]" not in said.stdout


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
@each_example
def test_every_object_fits_its_schema(example: Path, version: str, kubernetes: dict[str, Path]) -> None:
    """Misspelt fields and wrong types of the kinds that are Kubernetes' own."""
    where = f"{kubernetes[version]}/{{{{ .ResourceKind }}}}{{{{ .KindSuffix }}}}.json"
    said = run(
        "kubeconform",
        "-strict",
        "-summary",
        "-schema-location",
        where,
        "-skip",
        ",".join(CUSTOM),
        text=text_of(example),
    )
    assert said.returncode == 0, said.stdout + said.stderr
    assert "Invalid: 0, Errors: 0" in said.stdout


def test_a_wrong_object_does_not_fit(kubernetes: dict[str, Path]) -> None:
    """The schemas are those of the kinds, and they are closed."""
    where = f"{kubernetes[NEWEST]}/{{{{ .ResourceKind }}}}{{{{ .KindSuffix }}}}.json"
    wrong = text_of().replace("serviceName:", "serviceNames:")
    said = run("kubeconform", "-strict", "-schema-location", where, text=wrong)
    assert said.returncode == 1
    assert "serviceNames" in said.stdout


@each_example
def test_kube_score_finds_nothing_critical(example: Path) -> None:
    """Resources, probes, rights, network, disruption."""
    ignored = NOT_SCORED | BY_CHOICE.get(example.stem, {})
    options = [option for name in ignored for option in ("--ignore-test", name)]
    said = run("kube-score", "score", "--ignore-container-cpu-limit", "-o", "ci", *options, "-", text=text_of(example))
    assert [line for line in said.stdout.splitlines() if line.startswith("[CRITICAL]")] == []
    assert said.returncode == 0, said.stdout + said.stderr
    assert "[OK]" in said.stdout


def test_the_chart_is_of_this_version() -> None:
    """The image that it takes by default is the one of this checkout."""
    version = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["version"]
    assert values_of(CHART / "Chart.yaml")["appVersion"] == version


def test_kube_version_is_the_oldest_that_is_tested() -> None:
    """Nobody is promised what nobody tries."""
    assert f'kubeVersion: ">={OLDEST}.0-0"' in (CHART / "Chart.yaml").read_text()
