"""What processes of ours do that find no Kafka."""

import asyncio
import signal
from pathlib import Path

from tests.support.stage import until
from tokenmill.servers.ours import OurProcess
from tokenmill.servers.process import answer_of


async def waits_for_kafka(kind: type[OurProcess], folder: Path, version: str) -> None:
    """It is alive and not ready, and ends when it is told to. `version` is the metric that is there meanwhile."""

    class Waiting(kind):  # type: ignore[misc,valid-type] # a base that is a variable
        def ready(self) -> bool:
            return answer_of(f"http://127.0.0.1:{self.ops_port}/healthz") is not None

    with Waiting(folder, {"kafka": {"bootstrap_servers": "127.0.0.1:1"}}) as ours:
        await until(lambda: "giving up in" in ours.log.read_text(), "it tries again")
        assert answer_of(f"http://127.0.0.1:{ours.ops_port}/readyz") is None
        assert f"{version}{{" in ours.metrics()
        ours.process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(ours.process.wait, 15) == 0
        assert "Traceback" not in ours.log.read_text()
