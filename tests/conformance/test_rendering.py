"""Every case of every format through a worker with an output in each dialect: its events alone give the same bytes."""

import msgspec
import pytest
from msgspec import UnsetType

from tests.conformance.answers import all_texts
from tokenmill.dialects import DIALECTS, Renderer
from tokenmill.events import Event, decode_event
from tokenmill.formats import FORMATS, compile_grammar
from tokenmill.parser import MessageParser, Options
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.records import InputRecord, Output

STEP = 7
"""Characters of a chunk: markers and calls are cut."""

SETTINGS = PartitionSettings(
    outputs=(OutputSpec("events"), *(OutputSpec(dialect.name, dialect.name) for dialect in DIALECTS)), dlq="dlq"
)


def published(text: str, options: Options) -> dict[str, list[bytes]]:
    """What a worker publishes of a message, by topic."""
    partition, out = Partition(SETTINGS, "tokens", 0), list[Output]()
    chunks: list[dict[str, object]] = [{"delta": text[at : at + STEP]} for at in range(0, len(text), STEP)]
    chunks = [{"open": options}, *chunks, {"finish_reason": "stop"}]
    for offset, chunk in enumerate(chunks):
        value = msgspec.json.encode({"message_id": "m", "seq": offset} | chunk)
        partition.process([InputRecord("tokens", 0, offset, 1_000 + offset, b"c", value)], out)
    topics: dict[str, list[bytes]] = {name: [] for name in ("dlq", "events", *(dialect.name for dialect in DIALECTS))}
    for each in out:
        topics[each.topic].append(each.value or b"")
    return topics


def rendered(events: list[Event]) -> dict[str, list[bytes]]:
    """What a reader of the events makes of them, by dialect."""
    readers = {dialect.name: Renderer(dialect) for dialect in DIALECTS}
    return {name: [each for event in events for each in reader.render(event)] for name, reader in readers.items()}


def parsed(text: str, options: Options) -> list[Event]:
    """The events of the parser that a program embeds."""
    parser = MessageParser.of(compile_grammar(SETTINGS.resolved(options)), "c\nm\n0")
    events: list[Event] = [*parser.start()]
    for at in range(0, len(text), STEP):
        events += parser.feed(text[at : at + STEP])
    return [*events, *parser.finish("stop")]


def _stamped(event: Event, seq: int, time: int | UnsetType) -> Event:
    return msgspec.structs.replace(event, conversation_id="c", message_id="m", seq=seq, time=time)


@pytest.mark.parametrize("format_name", [format_.name for format_ in FORMATS])
def test_a_dialect_is_a_function_of_events(format_name: str) -> None:
    """Worker and reader of the topic write the same; and the library has the same events, but for their times."""
    for answer in all_texts(format_name):
        options = msgspec.structs.replace(answer.options, placeholder_text="")
        topics = published(answer.text, options)
        assert topics.pop("dlq") == []
        events: list[Event] = [decode_event(value) for value in topics.pop("events")]
        assert rendered(events) == topics, answer.name
        own = zip(parsed(answer.text, options), events, strict=True)
        assert [_stamped(event, seq, like.time) for seq, (event, like) in enumerate(own)] == events
