"""`tokenmill tail`, on a real Kafka."""

import asyncio
import re
import signal
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from tests.support.terminals import OnTerminal
from tests.support.topics import make_topics, write_topic
from tokenmill.__main__ import main
from tokenmill.commands.tail import command
from tokenmill.errors import FatalError
from tokenmill.events import AnyEvent, Finish, TextDelta

pytestmark = pytest.mark.integration


STYLE = re.compile(r"\x1b\[[\d;]*m")


class Topic:
    """A topic of the test's own."""

    def __init__(self, bootstrap: str, name: str) -> None:
        self.bootstrap, self.name = bootstrap, name
        asyncio.run(make_topics(bootstrap, name))

    def write(self, *events: AnyEvent) -> None:
        records = [(event.conversation_id.encode(), msgspec.json.encode(event), _headers(event)) for event in events]
        asyncio.run(write_topic(self.bootstrap, self.name, records))

    def tail(self, *arguments: str) -> Result:
        where = ["--bootstrap", self.bootstrap, "--topic", self.name, "--from-beginning"]
        return CliRunner().invoke(command, [*arguments, *where], catch_exceptions=False)


def _headers(event: AnyEvent) -> list[tuple[str, bytes]]:
    return [("tm-message-id", b"m1"), ("tm-seq", str(event.seq).encode()), ("tm-part", b"1/1")]


def text(conversation: str, seq: int) -> TextDelta:
    return TextDelta("t0", "a", conversation_id=conversation, message_id="m1", seq=seq)


def lines(run: Result) -> list[Any]:
    return [msgspec.json.decode(line) for line in run.stdout.splitlines()]


@pytest.fixture
def topic(kafka: str, unique: str) -> Topic:
    return Topic(kafka, f"events-{unique}")


def test_a_program_gets_each_event_once_as_a_json_line(topic: Topic) -> None:
    """Up to the end that the topic has now; what was published twice comes once."""
    topic.write(text("c1", 0), text("c1", 1), text("c1", 0), text("c1", 1), text("c1", 2))
    assert [event["seq"] for event in lines(topic.tail("--until-end"))] == [0, 1, 2]


def test_a_person_sees_the_events_readably(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line with its conversation, where several are followed; what is no event is shown as it is."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    topic.write(Finish("stop", conversation_id="c1", message_id="m1", seq=0))
    asyncio.run(write_topic(topic.bootstrap, topic.name, [(b"c1", b"[DONE]", [])]))
    assert topic.tail("--until-end").stdout.split() == ["c1", "finish", "stop", "[DONE]"]
    assert topic.tail("c1", "--until-end").stdout.split() == ["finish", "stop", "[DONE]"]


def test_one_conversation_can_be_followed(topic: Topic) -> None:
    """Until it finishes."""
    topic.write(text("c2", 0), text("c1", 0), Finish("stop", conversation_id="c1", seq=1), text("c1", 2))
    assert [event["type"] for event in lines(topic.tail("c1", "--until-finish"))] == ["text-delta", "finish"]


def test_whole_records_are_json_lines_with_everything(topic: Topic) -> None:
    """Repeats included: what is printed is the topic."""
    topic.write(text("c1", 0), text("c1", 0))
    first, second = lines(topic.tail("--raw", "--until-end"))
    assert (first["topic"], first["key"], first["offset"], second["offset"]) == (topic.name, "c1", 0, 1)
    assert first["headers"] == [["tm-message-id", "m1"], ["tm-seq", "0"], ["tm-part", "1/1"]]
    assert msgspec.json.decode(first["value"])["delta"] == "a"
    assert first["timestamp"] > 0


def test_a_timeout_ends_the_following(topic: Topic) -> None:
    """It fails only where an end was waited for that did not come."""
    topic.write(text("c1", 0))
    run = topic.tail("--timeout", "1")
    assert (run.exit_code, len(lines(run))) == (0, 1)
    with pytest.raises(FatalError, match="did not come within 1 s"):
        topic.tail("--timeout", "1", "--until-finish")


def test_tombstones_and_other_payloads_are_printed_as_they_are(topic: Topic) -> None:
    """A topic may hold another dialect."""
    asyncio.run(write_topic(topic.bootstrap, topic.name, [(b"c1", b"[DONE]", []), (b"c1", None, [])]))
    assert topic.tail("--until-end").stdout == "[DONE]\nnull\n"


def test_a_person_watches_an_answer_grow(topic: Topic) -> None:
    """On a screen of its own; what stays on the terminal is the last picture of it."""
    topic.write(text("c1", 0), text("c2", 0))
    arguments = ["c1", "--live", "--until-finish", "--from-beginning", "--bootstrap", topic.bootstrap]
    with OnTerminal("tail", *arguments, "--topic", topic.name) as terminal:
        terminal.until("  text       a ")
        topic.write(TextDelta("t0", "[red]\x1b[31m", conversation_id="c1", message_id="m1", seq=1))
        terminal.until("  text       a[red]<U+001B>[31m ")
        topic.write(Finish("stop", conversation_id="c1", message_id="m1", seq=2))
        assert terminal.end() == 0
        left = STYLE.sub("", terminal.drawn.decode().rpartition("\x1b[?1049l")[2])
    assert [line.split()[0] for line in left.splitlines()] == ["──", "text", "finish", "3"]
    assert "3 events; this answer 3, " in left


def test_a_screen_is_left_when_its_time_is_over_or_somebody_goes(topic: Topic) -> None:
    """The exit codes are those of a command without a screen."""
    arguments = ["tail", "c1", "--live", "--bootstrap", topic.bootstrap, "--topic", topic.name]
    with OnTerminal(*arguments, "--timeout", "1", "--until-finish") as terminal:
        assert terminal.end() == 1
        assert b"did not come within 1 s" in terminal.drawn.rpartition(b"\x1b[?1049l")[2]
    with OnTerminal(*arguments) as terminal:
        terminal.until("no event yet")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.end() == 130


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["c1", "--live"], "stdout is not one; without --live events are JSON lines"),
        (["c1", "--live", "--raw"], "--live draws answers, --raw prints records"),
        (["--live"], "--live shows one CONVERSATION"),
    ],
)
def test_where_there_is_nothing_to_draw_it_is_said(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what to use instead."""
    assert main(["tail", *arguments]) == 2
    assert words in " ".join(capsys.readouterr().err.split())
