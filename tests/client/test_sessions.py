"""The session of a conversation, folded from its records."""

from itertools import permutations
from typing import Any

import msgspec
import pytest

from tests.support.topics import make_topics, write_topic
from tokenmill.client import Connection
from tokenmill.client.sessions import Session, fold, read_session
from tokenmill.dialects.session import SessionRecord
from tokenmill.errors import Unavailable
from tokenmill.servers import RedisServer
from tokenmill.store.sessions import RedisSessions


def record(message: str, ended: int, conversation: str = "c", **fields: Any) -> SessionRecord:
    """What an answer added."""
    values = {"parent_id": f"r-{message}", "reason": "stop", "opened": ended - 5, **fields}
    return SessionRecord(conversation_id=conversation, message_id=message, ended=ended, **values)


RECORDS = [
    record("m1", 10, conversation_hash="h1", text_chars=5, total_tokens=7),
    record("m2", 20, chat_id="chat", tool_calls=1),
    record("m2", 20, chat_id="chat", choice=1, text_chars=2),
    record("m3", 30, errors=1, conversation_hash="h3", parent_id="last"),
]
SESSION = Session(
    conversation_id="c",
    conversation_hash="h1",
    chat_id="chat",
    parent_id="last",
    message_id="m3",
    messages=3,
    opened=5,
    ended=30,
    text_chars=7,
    reasoning_chars=0,
    tool_calls=1,
    errors=1,
    prompt_tokens=0,
    completion_tokens=0,
    total_tokens=7,
)


def test_totals_are_folded_in_any_order() -> None:
    """Ids are the last ones, the hash is the first; choices of one answer are one answer."""
    assert all(fold(order) == SESSION for order in permutations(RECORDS))


def test_ids_of_an_answer_are_those_of_its_first_choice() -> None:
    """In whatever order its choices are read."""
    choices = [record("m1", 10, choice=choice, parent_id=f"r-{choice}") for choice in range(3)]
    for order in permutations(choices):
        session = fold(order)
        assert session is not None
        assert session.parent_id == "r-0"


def test_without_records_there_is_no_session() -> None:
    """No answer has ended."""
    assert fold([]) is None


@pytest.fixture
async def topic(kafka: str, unique: str) -> str:
    """With the records above, some of them twice, those of other conversations, and a tombstone."""
    await make_topics(kafka, f"sessions-{unique}")
    others = [record("theirs", 10, "c/x", text_chars=9), record("m1", 10, "d")]
    await write_topic(
        kafka,
        f"sessions-{unique}",
        [
            (f"{r.conversation_id}/{r.message_id}/{r.choice}".encode(), msgspec.json.encode(r), [])
            for r in (*RECORDS, *others, *RECORDS)
        ]
        + [(b"c/gone/0", None, [])],
    )
    return f"sessions-{unique}"


@pytest.mark.integration
async def test_the_topic_is_read_where_redis_has_nothing(kafka: str, topic: str) -> None:
    """A record that is there twice counts once; ids that only begin alike are others."""
    assert await read_session("c", Connection(kafka), topic, None) == SESSION
    other = await read_session("c/x", Connection(kafka), topic, None)
    assert other is not None
    assert other.messages == 1


@pytest.mark.integration
async def test_redis_has_it_after_it_was_read_once(kafka: str, topic: str, redis_server: RedisServer) -> None:
    """Then Kafka is not asked; without Redis it is, every time."""
    store = RedisSessions(redis_server.url, group="g", prefix="p", timeout=0.3, ttl=100)
    nowhere = Connection("127.0.0.1:1")
    assert await read_session("c", Connection(kafka), topic, store) == SESSION
    assert await read_session("c", nowhere, topic, store) == SESSION
    with pytest.raises(Unavailable):
        await read_session("d", nowhere, topic, store)
    redis_server.kill()
    assert await read_session("c", Connection(kafka), topic, store) == SESSION
    await store.close()
