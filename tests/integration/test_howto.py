"""The programs of the how-to pages that need Kafka and a worker."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest

from tests.structure.pages import Block, blocks
from tests.structure.tree import DOCS
from tests.support.model_servers.speech import Script
from tests.support.model_servers.vllm import Vllm
from tests.support.topics import make_topics
from tokenmill.config import Config
from tokenmill.kafka.topics import all_topics
from tokenmill.servers import KafkaServer
from tokenmill.servers.tools import ToolsProcess
from tokenmill.servers.worker import WorkerProcess

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
    run = ran(program.text, start_kafka(), tmp_path, tools=program.language.endswith("tools"))
    assert run.stdout == printed.text, run.stderr


def ran(text: str, kafka: KafkaServer, folder: Path, *, tools: bool) -> "subprocess.CompletedProcess[str]":
    """A program, run beside a worker, and beside a runner of tools if it needs one."""
    asyncio.run(make_topics(kafka.bootstrap, *all_topics(Config())))
    settings = {"kafka": {"bootstrap_servers": kafka.bootstrap}, "redis": {"url": "memory://"}}
    path = folder / "program.py"
    path.write_text(text.replace("localhost:9092", kafka.bootstrap))
    with ExitStack() as stack:
        stack.enter_context(WorkerProcess(folder / "worker", settings))
        if tools:
            stack.enter_context(ToolsProcess(folder / "tools", settings, TIME))
        return subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=RUN_S, check=False)


@pytest.mark.integration
def test_the_program_with_tools_waits_for_no_call_that_is_not_made(
    start_kafka: Callable[..., KafkaServer], tmp_path: Path
) -> None:
    """A model may call what was not declared: the error is what it is shown."""
    (text,) = [block.text for block in blocks("python kafka tools")]
    declared = '"tools": [{"type": "function", "function": {"name": "time__now", "parameters": {}}}]'
    options = 'open={"format": FORMAT.name'
    assert options in text
    run = ran(text.replace(options, f"{options}, {declared}"), start_kafka(), tmp_path, tools=True)
    assert run.stdout == "the model: Let me look.\na tool: time__convert_time\n" * 8, run.stderr


async def test_a_program_in_fastapi_speaks_to_a_client_of_anthropic() -> None:
    """It runs as it stands on the page, but for the model server's address."""
    page = DOCS / "howto" / "embed-the-parser.md"
    (program,) = [block.text for block in blocks("python") if block.page == page and "fastapi" in block.text]
    names: dict[str, Any] = {}
    called = '<tool_call>{"name": "get_weather", "arguments": {"city": "Rome"}}</tool_call>'
    async with Vllm(lambda _: Script(f"One moment.{called}", cut=5)) as server:
        exec(program.replace("http://localhost:8000", server.url), names)  # noqa: S102 -- it is of this checkout
        transport = httpx2.ASGITransport(names["app"])
        client = anthropic.AsyncAnthropic(
            api_key="none", base_url="http://app", http_client=httpx2.AsyncClient(transport=transport)
        )
        async with client.messages.stream(
            model="test-model", max_tokens=100, messages=[{"role": "user", "content": "Hello"}]
        ) as stream:
            message = await stream.get_final_message()
    said = [block.model_dump(include={"type", "text", "name", "input"}) for block in message.content]
    assert said == [
        {"type": "text", "text": "One moment."},
        {"type": "tool_use", "name": "get_weather", "input": {"city": "Rome"}},
    ]
    assert message.stop_reason == "tool_use"
