"""Fixtures of the tests about Kafka."""

from tests.worker.conftest import stage

__all__ = ["stage"]
