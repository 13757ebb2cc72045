"""`tokenmill publish`, on a real Kafka."""

import asyncio
import signal
import subprocess
import sys
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from tests.support.topics import make_topics, read_topic
from tokenmill.commands.publish import command
from tokenmill.errors import BadOpen, Unavailable, UnknownCodec


class Topic:
    """A topic of the test's own."""

    def __init__(self, bootstrap: str, name: str) -> None:
        self.bootstrap, self.name = bootstrap, name
        asyncio.run(make_topics(bootstrap, name))

    def publish(self, *arguments: str, text: str = "") -> Result:
        where = ["--bootstrap", self.bootstrap, "--topic", self.name]
        return CliRunner().invoke(command, [*arguments, *where], input=text, catch_exceptions=False)

    def records(self) -> list[Any]:
        return asyncio.run(read_topic(self.bootstrap, self.name))

    def chunks(self) -> list[dict[str, Any]]:
        return [msgspec.json.decode(record.value) for record in self.records()]


@pytest.fixture
def topic(kafka: str, unique: str) -> Topic:
    return Topic(kafka, f"tokens-{unique}")


@pytest.mark.integration
def test_text_becomes_one_message_in_chunks(topic: Topic) -> None:
    """On one partition, with its options first and its end last."""
    run = topic.publish(
        "--conversation", "c1", "--message", "m1", "--format", "hermes", "--chunk", "3", text="Hello 😀!"
    )
    assert (run.exit_code, run.stderr) == (0, "published c1\n")
    assert len({record.partition for record in topic.records()}) == 1
    chunks = topic.chunks()
    assert [chunk.get("delta") for chunk in chunks] == ["Hel", "lo ", "😀!", None]
    assert [chunk["seq"] for chunk in chunks] == [0, 1, 2, 3]
    assert chunks[0]["open"] == {"format": "hermes"}
    assert (chunks[3]["finish_reason"], chunks[3]["end"]) == ("stop", True)


@pytest.mark.integration
def test_a_message_can_be_left_open_and_paced(topic: Topic) -> None:
    """For what comes later by other means; ids are drawn where none are given."""
    assert topic.publish("--open-ended", "--rate", "1000", "--chunk", "1", text="ab").exit_code == 0
    chunks = topic.chunks()
    assert [chunk.get("delta") for chunk in chunks] == ["a", "b"]
    assert chunks[0]["conversation_id"].startswith("conversation-")


@pytest.mark.integration
def test_a_captured_stream_is_sent_line_by_line(topic: Topic) -> None:
    """Unchanged, with the name of its codec."""
    assert (
        topic.publish("--conversation", "c1", "--codec", "native", text='{"delta":"a"}\n\n{"end":true}\n').exit_code
        == 0
    )
    records = topic.records()
    assert [record.value for record in records] == [b'{"delta":"a"}\n', b'{"end":true}\n']
    assert {record.headers for record in records} == {(("tm-codec", b"native"),)}


@pytest.mark.integration
def test_a_captured_stream_has_its_options_in_headers(topic: Topic) -> None:
    """Its codec may have no place for them, and any record may be the one that opens the message."""
    arguments = ["--codec", "openai", "--message", "m1", "--format", "hermes", "--open", "model=m"]
    assert topic.publish(*arguments, text="data: [DONE]\n").exit_code == 0
    (record,) = topic.records()
    assert dict(record.headers) == {
        "tm-codec": b"openai",
        "tm-message-id": b"m1",
        "tm-open": b'{"model":"m","format":"hermes"}',
    }


@pytest.mark.integration
@pytest.mark.parametrize(
    ("arguments", "stop", "code"),
    [([], signal.SIGINT, 130), ([], signal.SIGTERM, 143), (["--codec", "native"], signal.SIGTERM, 143)],
)
def test_it_can_be_stopped_while_its_writer_is_silent(
    topic: Topic, arguments: list[str], stop: signal.Signals, code: int
) -> None:
    """At once, though the pipe stays open; what had come is sent."""
    where = ["--bootstrap", topic.bootstrap, "--topic", topic.name]
    command = [sys.executable, "-m", "tokenmill", "publish", *arguments, *where]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b'{"delta":"abcd"}\n')
        process.stdin.flush()
        while not topic.records():
            assert process.poll() is None
        process.send_signal(stop)
        try:
            assert process.wait(10) == code
        finally:
            process.kill()
        assert process.stderr.read().strip() == b""


@pytest.mark.parametrize(
    ("arguments", "problem", "says"),
    [
        (["--open", "nonsense=1"], BadOpen, "nonsense"),
        (["--format", "hermess"], BadOpen, r"did you mean hermes\?"),
        (["--codec", "opnai"], UnknownCodec, r"did you mean openai\?"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_sent(
    arguments: list[str], problem: type[Exception], says: str
) -> None:
    """No broker is asked; the worker would make dead letters of them, where nobody looks."""
    with pytest.raises(problem, match=says):
        CliRunner().invoke(command, [*arguments, "--bootstrap", "127.0.0.1:1"], catch_exceptions=False)


@pytest.mark.parametrize("option", ["--chunk=8", "--finish=length", "--open-ended"])
def test_what_would_change_nothing_is_refused(option: str) -> None:
    """Lines of a captured stream are sent as they are, their end included."""
    run = CliRunner().invoke(command, ["--codec", "openai", option, "--bootstrap", "127.0.0.1:1"])
    assert run.exit_code == 2
    assert f"{option.partition('=')[0]} has no effect with --codec" in run.output


def test_an_unreachable_kafka_is_said() -> None:
    """With its address."""
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1"):
        CliRunner().invoke(command, ["--bootstrap", "127.0.0.1:1"], input="x", catch_exceptions=False)
