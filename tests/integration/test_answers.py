"""Completions and sessions: what is kept of answers survives killed workers and a flushed Redis."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import redis
from click.testing import CliRunner

from tests.support.stage import Stage, counted, until
from tests.support.topics import read_topic
from tokenmill.client import Connection
from tokenmill.client.sessions import Session, read_session
from tokenmill.commands.sessions import command
from tokenmill.config import Config, Kafka, Topics
from tokenmill.kafka.topic_log import cluster_id
from tokenmill.kafka.topics import create_topics
from tokenmill.servers import RedisServer
from tokenmill.store.sessions import RedisSessions

pytestmark = pytest.mark.integration

USAGE = {"input_tokens": 5, "output_tokens": 2}


@pytest.fixture
async def keeping(fragile: Stage, unique: str) -> Stage:
    """A stage whose workers keep completions and sessions."""
    names = {**fragile.settings["topics"], "completions": f"completions-{unique}", "sessions": f"sessions-{unique}"}
    fragile.settings["topics"] = names
    fragile.topics = Topics(**names)
    fragile.settings["parser"] = {"codec": "native", "format": "hermes"}
    config = Config(kafka=Kafka(bootstrap_servers=fragile.bootstrap), topics=fragile.topics)
    await create_topics(config, fragile.partitions)
    return fragile


async def _store(stage: Stage) -> RedisSessions:
    redis_settings = stage.settings["redis"]
    return RedisSessions(
        redis_settings["url"],
        group=stage.group,
        cluster=await cluster_id(Kafka(bootstrap_servers=stage.bootstrap)),
        prefix=redis_settings["key_prefix"],
        timeout=1,
        ttl=3_600,
    )


async def _session(stage: Stage, conversation: str, *, cached: bool = True) -> Session | None:
    store = await _store(stage) if cached else None
    try:
        return await read_session(conversation, Connection(stage.bootstrap), stage.topics.sessions, store)
    finally:
        if store is not None:
            await store.close()


async def _in_redis(stage: Stage, conversation: str) -> int:
    """How many answers of the conversation Redis has, if it says that it has all."""
    store = await _store(stage)
    try:
        return len(await store.load(conversation.encode()) or ())
    finally:
        await store.close()


async def _say(stage: Stage, conversation: str, message: str, *texts: str, **last: Any) -> None:
    opening = {"conversation_hash": "h1", "model": "q"}
    chunks = [{"delta": text} for text in texts]
    chunks[0]["open"] = opening  # type: ignore[assignment] # -- chunks of any fields
    chunks += [{"part": {"kind": "response.created", "value": {"chat_id": "chat", "response_id": f"r-{message}"}}}]  # type: ignore[dict-item] # -- as above
    if last:
        chunks += [last]
    await stage.send_all((conversation, {"message_id": message, **chunk}) for chunk in chunks)


async def test_what_is_kept_of_answers_survives(keeping: Stage, redis_server: RedisServer) -> None:
    """A worker is killed in the middle of an answer and Redis is flushed: nothing is missing, nothing counts twice."""
    first = await keeping.start()
    await _say(keeping, "c", "m1", "Hel", "lo", usage=USAGE, finish_reason="stop")
    await _say(keeping, "c", "m2", "On the ", "way ")
    await until(keeping.caught_up, "the beginning is committed")
    await until(lambda: _complete(keeping, "c", 1), "the first answer is kept")
    first.kill()
    flushed = redis.Redis(port=redis_server.port)
    flushed.flushall()
    await keeping.start()
    call = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
    await _say(keeping, "c", "m2", call, usage=USAGE, finish_reason="stop")
    await until(lambda: _complete(keeping, "c", 2), "the second answer is kept")

    records = {record.key: record for record in await read_topic(keeping.bootstrap, keeping.topics.completions)}
    assert sorted(records) == [b"c/m1/0", b"c/m2/0"]
    one, two = (json.loads(records[key].value)["choices"][0] for key in sorted(records))
    assert (one["message"]["content"], one["finish_reason"]) == ("Hello", "stop")
    assert (two["message"]["content"], two["finish_reason"]) == ("On the way", "tool_calls")
    assert [c["function"] for c in two["message"]["tool_calls"]] == [{"name": "f", "arguments": '{"a":1}'}]

    flushed.flushall()
    assert await _in_redis(keeping, "c") == 0
    rebuilt = await _session(keeping, "c")
    assert rebuilt is not None
    assert (rebuilt.messages, rebuilt.tool_calls, rebuilt.total_tokens) == (2, 1, 14)
    assert (rebuilt.chat_id, rebuilt.parent_id, rebuilt.conversation_hash) == ("chat", "r-m2", "h1")
    assert await _in_redis(keeping, "c") == 2
    assert await _session(keeping, "c") == await _session(keeping, "c", cached=False) == rebuilt
    assert await _session(keeping, "nobody") is None

    await _say(keeping, "c", "m3", "More", finish_reason="stop")
    await until(lambda: _in_redis_now(keeping, "c", 3), "the third answer is in Redis")
    again = await _session(keeping, "c")
    assert again is not None
    assert (again.messages, again.parent_id) == (3, "r-m3")
    flushed.close()


async def _complete(stage: Stage, conversation: str, messages: int) -> bool:
    session = await _session(stage, conversation, cached=False)
    return session is not None and session.messages == messages


async def _in_redis_now(stage: Stage, conversation: str, messages: int) -> bool:
    return await _in_redis(stage, conversation) == messages


async def test_redis_that_missed_answers_is_not_believed(keeping: Stage, redis_server: RedisServer) -> None:
    """While it was frozen an answer ended: the reader goes to the topic, whatever Redis says when it is back."""
    await keeping.start()
    await _say(keeping, "c", "m1", "Hello", finish_reason="stop")
    await until(lambda: _complete(keeping, "c", 1), "the first answer is kept")
    assert await _session(keeping, "c")
    redis_server.freeze()
    await _say(keeping, "c", "m2", "Hello", finish_reason="stop")
    await until(lambda: _complete(keeping, "c", 2), "the second answer is kept")
    worker = keeping.workers[-1]
    await until(lambda: counted(worker, 'tokenmill_redis_errors_total{op="session"}'), "the failure was noticed")
    redis_server.thaw()
    await _say(keeping, "d", "m1", "Hello", finish_reason="stop")
    await until(lambda: _seen(keeping, "c", 2), "both answers are seen")


async def _seen(stage: Stage, conversation: str, messages: int) -> bool:
    session = await _session(stage, conversation)
    return session is not None and session.messages == messages


async def test_the_command_shows_a_session(keeping: Stage, tmp_path: Path) -> None:
    """As a JSON object; a conversation without one is a failure."""
    await keeping.start()
    await _say(keeping, "c", "m1", "Hello", finish_reason="stop")
    await until(lambda: _complete(keeping, "c", 1), "the answer is kept")
    config = tmp_path / "t.toml"
    tables = {name: keeping.settings[name] for name in ("kafka", "redis", "topics")}
    config.write_text(
        "".join(
            f"[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
            for name, table in tables.items()
        )
    )

    def run(conversation: str) -> Any:
        return CliRunner().invoke(command, ["show", conversation, "--config", str(config)])

    shown = await asyncio.to_thread(run, "c")
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout)["messages"] == 1
    missing = await asyncio.to_thread(run, "nobody")
    assert "has no session" in str(missing.exception)
