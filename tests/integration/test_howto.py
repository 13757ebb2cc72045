"""The programs of the how-to pages that need Kafka and a worker."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.structure.pages import Block, blocks
from tests.support.topics import make_topics
from tokenmill.config import Config
from tokenmill.servers import KafkaServer
from tokenmill.servers.tools import ToolsProcess
from tokenmill.servers.worker import WorkerProcess
from tokenmill.worker.topics import all_topics

RUN_S = 60

TIME = {"time": {"command": sys.executable, "args": ["-m", "mcp_server_time"]}}
"""The servers of the pages whose programs need some."""


def programs() -> list[tuple[Block, Block]]:
    """Each program with the block after it: what it prints."""
    printed = {(block.page, block.line): block for block in blocks("text")}
    pairs = []
    for program in [*blocks("python kafka"), *blocks("python kafka tools")]:
        following = [block for (page, line), block in printed.items() if page == program.page and line > program.line]
        pairs.append((program, min(following, key=lambda block: block.line)))
    return pairs


@pytest.mark.integration
@pytest.mark.parametrize(("program", "printed"), programs(), ids=lambda block: f"{block.page.name}:{block.line}")
def test_a_program_prints_what_its_page_says(
    program: Block, printed: Block, start_kafka: Callable[..., KafkaServer], tmp_path: Path
) -> None:
    """It runs as it stands on the page, but for the broker's address."""
    kafka = start_kafka()
    asyncio.run(make_topics(kafka.bootstrap, *all_topics(Config())))
    settings = {"kafka": {"bootstrap_servers": kafka.bootstrap}, "redis": {"url": "memory://"}}
    path = tmp_path / "program.py"
    path.write_text(program.text.replace("localhost:9092", kafka.bootstrap))
    with ExitStack() as stack:
        stack.enter_context(WorkerProcess(tmp_path / "worker", settings))
        if program.language.endswith("tools"):
            stack.enter_context(ToolsProcess(tmp_path / "tools", settings, TIME))
        run = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=RUN_S, check=False)
    assert run.stdout == printed.text, run.stderr
