"""One API server for all tests of the folder."""

from collections.abc import Iterator

import pytest

from tests.apiserver.cluster import Cluster
from tests.apiserver.servers import ApiServer, EtcdServer
from tests.support.deployment import tool

PRIORITY = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "streams"},
    "value": 1000,
}
"""That of an example: a pod is only taken if its class is there."""


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """It knows the custom resources of KEDA and of Prometheus' operator."""
    folder = tmp_path_factory.mktemp("kubernetes")
    with EtcdServer(folder / "etcd") as etcd, ApiServer(folder / "apiserver", etcd) as server:
        cluster = Cluster(server)
        cluster.define(tool("custom-resources"))
        cluster.create(PRIORITY)
        yield cluster
