"""Records that are CloudEvents by the standard's SDK for JavaScript, which takes less than that for Python."""

import json

import pytest

from tests.partition.test_cloud_events import MODES, read
from tests.partition.test_outputs import CALL, OPEN, output
from tests.support.judging import run_node
from tokenmill.partition import OutputSpec
from tokenmill.partition.cloud_events import Mode
from tokenmill.records import Output


def line(record: Output) -> str:
    """A record as the script reads it."""
    headers = {name: value.decode() for name, value in record.headers}
    return json.dumps(
        {"headers": headers, "key": (record.key or b"").decode(), "value": (record.value or b"").decode()}
    )


@pytest.mark.parametrize("mode", MODES)
def test_both_sdks_read_the_same(mode: Mode) -> None:
    """Of each record: who and what it is about, and the event itself."""
    records = output(OPEN | {"delta": "a" + CALL, "end": True}, specs=(OutputSpec("events", cloudevents=mode),))
    found = run_node("cloud_events.mjs", stdin="\n".join(map(line, records)))
    for record, event in zip(records, found, strict=True):
        judged = read(record)
        data = event["data"] if isinstance(event["data"], dict) else json.loads(event["data"])
        assert data == judged.get_data()
        assert (event["id"], event["type"], event["source"], event["sequence"]) == (
            judged.get_id(),
            judged.get_type(),
            judged.get_source(),
            judged.get_extension("sequence"),
        )
