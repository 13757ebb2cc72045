"""The route of a conversation's events asks who it is before it reads anything."""

import hashlib
from pathlib import Path

import pytest
from aiohttp import ClientSession

from tests.support.gateways import answer, listening, shown
from tokenmill.config import Gateway
from tokenmill.gateway.rights import make_rights

pytestmark = pytest.mark.integration


async def test_a_conversation_is_streamed_to_its_end(kafka: str, unique: str) -> None:
    """As the library renders it, with an id for each frame."""
    records = answer("c", "m", ["Hello ", "world"])
    async with listening(kafka, unique) as gate, ClientSession(gate.url) as session:
        await gate.say(records)
        async with session.get("/v1/conversations/c/events?from=start&until=finish&dialect=openai") as response:
            lines = (await response.read()).decode().splitlines()
    assert response.content_type == "text/event-stream"
    assert [line[6:].encode() for line in lines if line.startswith("data: ")] == shown(records, "openai")


async def test_a_foreign_conversation_is_not_read(kafka: str, unique: str, tmp_path: Path) -> None:
    """401 without a key, 403 with the wrong one; neither asks Kafka for anything."""
    keys = tmp_path / "keys.toml"
    digest = hashlib.sha256(b"a-key").hexdigest()
    keys.write_text(f'[[keys]]\nname = "mine"\nsha256 = "{digest}"\nconversations = ["mine-*"]\nactions = ["read"]\n')
    rights = make_rights(Gateway(auth="keys", keys_file=str(keys)))
    async with listening(kafka, unique, rights=rights) as gate, ClientSession(gate.url) as session:
        path = "/v1/conversations/theirs/events"
        async with session.get(path) as unknown, session.get(path, headers={"x-api-key": "a-key"}) as foreign:
            assert (unknown.status, foreign.status) == (401, 403)
        assert list(gate.serving.tail.uncommitted()) == []
