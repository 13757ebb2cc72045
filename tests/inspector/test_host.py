"""The page as `tokenmill inspect` serves it, and as a gateway does."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestClient, TestServer

from tests.support.topics import make_topics
from tokenmill.config import Config, Gateway
from tokenmill.config.inspect import Inspect
from tokenmill.errors import ConfigError
from tokenmill.gateway.http.idle_connections import IdleConnections
from tokenmill.inspector.host import inspector_app, run_inspector
from tokenmill.servers.gateway import GatewayProcess
from tokenmill.servers.process import answer_of, free_port

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


def test_by_itself_it_listens_to_nobody_else() -> None:
    """It asks nobody who they are; a gateway does, and may be reached from elsewhere."""
    config = Config(inspect=Inspect(bind="0.0.0.0"), gateway=Gateway(auth="keys", keys_file="keys.toml"))  # noqa: S104 -- it is refused
    with pytest.raises(ConfigError, match=r"127\.0\.0\.1"):
        run_inspector(config)


async def test_a_gateway_serves_it_with_its_own_rights(kafka: str, unique: str, tmp_path: Path) -> None:
    """On a port of its own, if it is told to: the page to everybody, what it asks for to holders of a key."""
    names = {key: f"{key}-{unique}" for key in ("tokens", "events", "tool_results")}
    await make_topics(kafka, *names.values(), partitions=1)
    keys = tmp_path / "keys.toml"
    entry = 'name = "me"\nsha256 = "{}"\nconversations = ["mine*"]\nactions = ["read"]\n'
    keys.write_text("[[keys]]\n" + entry.format(sha256(b"secret").hexdigest()))
    port = free_port()
    settings: dict[str, dict[str, Any]] = {
        "kafka": {"bootstrap_servers": kafka},
        "topics": names,
        "gateway": {"auth": "keys", "keys_file": str(keys), "inspect": True},
        "inspect": {"port": port},
    }
    url = f"http://127.0.0.1:{port}/inspect"
    gateway = GatewayProcess(tmp_path / "gateway", settings)
    await asyncio.to_thread(gateway.start)
    try:
        async with ClientSession() as client:
            assert await status(client, f"{url}/") == 200
            assert await status(client, f"{url}/api/choices") == 401
            assert await status(client, f"{url}/api/choices", "secret") == 200
            assert await status(client, f"{url}/api/live?conversation=yours", "secret") == 403
            assert await status(client, f"{url}/api/live?conversation=mine-1", "secret") == 200
    finally:
        await asyncio.to_thread(gateway.stop)


@pytest.mark.parametrize("origin", ["https://app.example.com", "*"])
async def test_no_page_of_others_may_ask(origin: str) -> None:
    """Not even one that may read the gateway's events: this page shows all tokens, and approves calls."""
    app = inspector_app(None, IdleConnections(), gateway=Gateway(origins=[origin]))
    async with TestClient(TestServer(app)) as client:
        foreign = {"origin": "https://app.example.com"}
        async with client.get("/inspect/api/choices", headers=foreign) as answer:
            assert answer.status == 403
            assert "access-control-allow-origin" not in answer.headers
            assert "only pages of this address have access" in await answer.text()
        async with client.get("/inspect/api/choices", headers={"sec-fetch-site": "same-origin"}) as answer:
            assert answer.status == 200


@pytest.mark.parametrize(("origin", "status"), [("https://box.lan", 200), ("*", 421)])
async def test_a_listed_host_is_a_name_of_this_one(origin: str, status: int) -> None:
    """Its own pages are found there, as the gateway is; a name that anybody could point here is not."""
    app = inspector_app(None, IdleConnections(), gateway=Gateway(origins=[origin]))
    named = {"host": "box.lan:8096", "sec-fetch-site": "same-origin"}
    async with (
        TestClient(TestServer(app)) as client,
        client.get("/inspect/api/choices", headers=named) as answer,
    ):
        assert answer.status == status


async def status(client: ClientSession, url: str, key: str = "") -> int:
    """Of an answer to somebody with a key."""
    headers = {"authorization": f"Bearer {key}"} if key else {}
    async with client.get(url, headers=headers) as answer:
        return answer.status
