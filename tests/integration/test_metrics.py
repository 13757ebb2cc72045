"""What a worker answers at `/metrics`."""

import pytest

from tests.support.deployment import promtool
from tests.support.stage import Stage, until

pytestmark = pytest.mark.integration


async def test_promtool_takes_the_metrics_of_a_worker(stage: Stage) -> None:
    """`promtool check metrics`, after there has been something to count."""
    worker = await stage.start()
    call = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
    await stage.send("c", {"message_id": "m", "open": {"format": "hermes"}, "delta": call, "end": True})
    await stage.send(None, {"delta": "x"})
    await until(lambda: 'tokenmill_dead_letters_total{reason="bad-key"} 1.0' in worker.metrics(), "both are counted")
    assert 'tokenmill_tool_calls_total{format="hermes",outcome="ok"} 1.0' in worker.metrics()
    assert promtool("check", "metrics", given=worker.metrics()) == ""
