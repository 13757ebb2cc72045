"""The worker's core without a broker: turns records, or the lines of a batch, into what a worker would publish."""

from tokenmill.replay.batch import Stream, parse_batch
from tokenmill.replay.records import record_from_json, record_to_json, replay_records

__all__ = ["Stream", "parse_batch", "record_from_json", "record_to_json", "replay_records"]
