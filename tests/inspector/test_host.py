"""`tokenmill inspect` as a process."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tokenmill.servers.process import answer_of

pytestmark = pytest.mark.integration


def test_it_serves_the_page_until_it_is_told_to_end(tmp_path: Path) -> None:
    """It says where; no Kafka and no Redis is needed; SIGTERM ends it with 0."""
    stream = tmp_path / "stream.jsonl"
    stream.write_text('{"delta": "Hi"}\n')
    command = [sys.executable, "-m", "tokenmill", "inspect", str(stream)]
    with subprocess.Popen(
        command, env={**os.environ, "TOKENMILL_INSPECT__PORT": "0"}, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        place = re.search(r"listening on 127\.0\.0\.1 port (\d+)", process.stderr.readline())
        assert place is not None
        url = f"http://127.0.0.1:{place[1]}/inspect"
        assert "<title>tokenmill inspector</title>" in (answer_of(f"{url}/") or "")
        assert "stream.jsonl" in (answer_of(f"{url}/api/file") or "")
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
