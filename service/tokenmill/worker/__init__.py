"""The service: Kafka in, Kafka out, hosted by Faust. `engine` has the steps, `host` the process around them."""

from tokenmill.worker.host import run_worker

__all__ = ["run_worker"]
