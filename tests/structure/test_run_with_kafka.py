"""What the page about Kafka says of topics is what `tokenmill topics create` makes."""

import re

from tests.structure.tree import DOCS
from tokenmill.config import Config, Topics
from tokenmill.kafka.topics import SPARE, _settings, all_topics
from tokenmill.limits import KIB

CONFIG = Config(topics=Topics(completions="completions", sessions="sessions"))
"""With all topics, under the names that the page calls them by."""

LONGEST = {
    "`limits.record_bytes`": CONFIG.limits.record_bytes,
    "`limits.output_bytes`": CONFIG.limits.output_bytes,
    "2 * `limits.output_bytes`": 2 * CONFIG.limits.output_bytes,
    "`front.body_kib`": CONFIG.front.body_kib * KIB,
}


def test_the_table_of_topics_has_all_with_their_settings() -> None:
    """Somebody else who makes them needs nothing but the page."""
    text = (DOCS / "howto" / "run-with-kafka.md").read_text()
    (table,) = re.findall(r"^\| topic \|.+\n\| --- .+\n((?:\|.+\n)+)", text, flags=re.MULTILINE)
    said = dict[str, dict[str, str]]()
    for row in table.splitlines():
        topics, policy, kept, segment, longest, times = row.strip("| ").split(" | ")
        settings = {"cleanup.policy": policy.strip("`"), "max.message.bytes": str(LONGEST[longest] + SPARE)}
        others = {"retention.ms": kept, "segment.ms": segment, "message.timestamp.type": times}
        settings |= {name: value.strip("`") for name, value in others.items() if value != "the broker's"}
        said |= dict.fromkeys(re.findall("`([^`]+)`", topics), settings)
    assert said == {topic: _settings(CONFIG, topic) for topic in all_topics(CONFIG)}
