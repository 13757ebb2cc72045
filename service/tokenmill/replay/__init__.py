"""The core without a broker: whole records, or lines of a batch, in; what would come out of a worker, out."""

from tokenmill.replay.batch import Stream, parse_batch
from tokenmill.replay.records import record_from_json, record_to_json, replay_records

__all__ = ["Stream", "parse_batch", "record_from_json", "record_to_json", "replay_records"]
