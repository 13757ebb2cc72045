"""Servers that the protocol's authors keep, for Node and for Python, called by a runner: as programs, and by HTTP."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.judging import NODE, node
from tests.support.stage import until
from tests.support.tool_calls import Calls
from tests.support.topics import read_topic
from tokenmill.events import ToolProgress, ToolResult, decode_event
from tokenmill.servers.process import free_port

pytestmark = pytest.mark.integration

SERVERS = NODE / "node_modules" / "@modelcontextprotocol"
EVERYTHING = str(SERVERS / "server-everything" / "dist" / "index.js")
FILES = str(SERVERS / "server-filesystem" / "dist" / "index.js")


@pytest.fixture
def http() -> Iterator[str]:
    """Where the server with everything listens."""
    port = free_port()
    environment = {**os.environ, "PORT": str(port)}
    process = subprocess.Popen([node(), EVERYTHING, "streamableHttp"], env=environment, stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


def text(result: ToolResult) -> str:
    said: str = result.result["content"][0]["text"]
    return said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files, in a repository."""
    folder = tmp_path / "files"
    subprocess.run(["git", "init", "--quiet", "--initial-branch", "trunk", folder], check=True)
    return folder


async def test_servers_of_others_run_calls(kafka: str, unique: str, tmp_path: Path, http: str, folder: Path) -> None:
    """Text, images, resources, structured content, files, and how far a long one is."""
    servers: dict[str, Any] = {
        "all": {"command": node(), "args": [EVERYTHING, "stdio"]},
        "far": {"url": http},
        "files": {"command": node(), "args": [FILES, str(folder)]},
        "time": {"command": sys.executable, "args": ["-m", "mcp_server_time"]},
        "git": {"command": sys.executable, "args": ["-m", "mcp_server_git", "--repository", str(folder)]},
    }
    async with Calls(tmp_path, kafka, unique) as calls:
        calls.runner(servers).start()
        for server in ("all", "far"):
            await calls.call(f"{server} sum", f"{server}__get-sum", a=2, b=3)
            await calls.call(f"{server} image", f"{server}__get-tiny-image")
            await calls.call(f"{server} value", f"{server}__get-structured-content", location="New York")
            await calls.call(f"{server} link", f"{server}__get-resource-links", count=2)
            await calls.call(f"{server} long", f"{server}__trigger-long-running-operation", duration=2, steps=4)
        await calls.call("write", "files__write_file", path=str(folder / "a.txt"), content="Hi.")
        await calls.call("outside", "files__write_file", path="/etc/not-mine", content="Hi.")
        await calls.call(
            "time", "time__convert_time", source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo"
        )
        await calls.call("git", "git__git_status", repo_path=str(folder))
        await calls.call("elsewhere", "git__git_status", repo_path="/")
        ids = [f"{server} {what}" for server in ("all", "far") for what in ("sum", "image", "value", "link", "long")]
        await until(lambda: calls.answered(*ids, "write", "outside", "time", "git", "elsewhere"), "all are answered")
        found = {id_: result for id_, (result,) in (await calls.results()).items()}
        for server in ("all", "far"):
            assert "5" in text(found[f"{server} sum"])
            kinds = [part["type"] for part in found[f"{server} image"].result["content"]]
            assert "image" in kinds
            assert found[f"{server} value"].result["structuredContent"].keys() >= {"temperature", "conditions"}
            kinds = [part["type"] for part in found[f"{server} link"].result["content"]]
            assert kinds.count("resource_link") == 2
            steps = await progress(calls, f"{server} long")
            assert steps == sorted(steps)
            assert steps
        assert (folder / "a.txt").read_text() == "Hi."
        assert found["outside"].code == "tool"
        assert "21:00" in text(found["time"])
        assert "On branch trunk" in text(found["git"])
        assert found["elsewhere"].code == "tool"


async def progress(calls: Calls, id_: str) -> list[float]:
    """How far a call said that it was."""
    events = [decode_event(record.value) for record in await read_topic(calls.bootstrap, calls.topics.tool_results)]
    return [event.progress for event in events if isinstance(event, ToolProgress) and event.id == id_]
