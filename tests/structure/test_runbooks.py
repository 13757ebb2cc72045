"""Runbooks: every number that can say that something is wrong has one, and they name nothing that there is not."""

import ast
import re

import pytest

from tests.structure.tree import CHECKOUT, PACKAGE
from tokenmill.config import Config
from tokenmill.observe import CALLER_METRICS, FRONT_METRICS, GATEWAY_METRICS, METRICS, TOOLS_METRICS

PAGE = (CHECKOUT / "docs" / "howto" / "runbooks.md").read_text(encoding="utf-8")

SECTIONS = {text.partition("\n")[0]: text for text in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]}

BY_NAME = {
    metric.name: metric for metric in (*METRICS, *GATEWAY_METRICS, *TOOLS_METRICS, *FRONT_METRICS, *CALLER_METRICS)
}

CONFIGURED = ("kafka", "redis", "worker", "parser", "gateway", "tools", "front", "caller", "inspect")

NO_RUNBOOK = {
    "tokenmill_gateway_bytes_sent_total": "load",
    "tokenmill_gateway_frames_sent_total": "load",
    "tokenmill_gateway_heartbeats_total": "load",
    "tokenmill_gateway_writes_total": "load",
    "tokenmill_gateway_window_bytes": "a cache: what it no longer has is read from Kafka",
    "tokenmill_gateway_window_limit_bytes": "its cap",
    "tokenmill_gateway_window_records": "what is in it",
    "tokenmill_chunks_consumed_total": "load",
    "tokenmill_events_produced_total": "load",
    "tokenmill_messages_restored_total": "how fast state comes back",
    "tokenmill_records_produced_total": "load",
    "tokenmill_restore_seconds": "how long a restore took; one that goes on is `tokenmill_replaying_partitions`",
    "tokenmill_front_abandoned_total": "clients go away; what nobody reads is stopped",
    "tokenmill_front_attached_total": "clients try again, and find the answer that is there",
    "tokenmill_front_known_requests": "load",
    "tokenmill_tools_asking": "people are asked, and may take their time; what is too old is answered",
    "tokenmill_chunks_dropped_total": "what producers repeat or send too late; no event is missing",
}
"""Metrics that are about load and work; what is wrong then shows in others."""


def test_every_metric_that_can_alarm_has_a_runbook() -> None:
    """A new metric gets one, or a reason here."""
    assert {name for name in BY_NAME if name not in PAGE} == NO_RUNBOOK.keys()


def test_metrics_and_settings_of_runbooks_exist() -> None:
    """A renamed one would send its reader to nothing."""
    named = set(re.findall(r"tokenmill_[a-z_]+", PAGE))
    assert named - BY_NAME.keys() == set()
    settings = set(re.findall(rf"`((?:{'|'.join(CONFIGURED)})\.[a-z_]+)`", PAGE))
    known = {f"{section}.{key}" for section in CONFIGURED for key in _keys(section)}
    assert settings - known == set()


QUOTED = re.compile(r"`(?!tokenmill |kafka-)([a-z][^`=/$]* [^`=/$]*)`")
"""Several words in a row that are no command: what a log says."""

VARIES = re.compile(r"…|<\w+>|\d+")

OTHERS = {"can only be reset if the group … is inactive"}
"""What Kafka's own tools say."""


def test_what_logs_are_quoted_with_is_in_the_code() -> None:
    """Whoever looks for a line finds it by these words."""
    quotes = set(QUOTED.findall(re.sub(r"\s+", " ", PAGE))) - OTHERS
    assert len(quotes) > 20
    written = "\n".join(_texts())
    assert [quote for quote in quotes if not all(part.strip() in written for part in VARIES.split(quote))] == []


def _texts() -> list[str]:
    """All texts in the package's code, with those that are joined as one."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py"))
    nodes = (node for tree in trees for node in ast.walk(tree))
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def _keys(section: str) -> tuple[str, ...]:
    keys: tuple[str, ...] = getattr(Config(), section).__struct_fields__
    return keys


@pytest.mark.parametrize("page", ["runbooks", "why-was-that-not-a-call"])
def test_records_that_were_written_before_are_read_from_the_first(page: str) -> None:
    """What follows a topic begins behind its end, and shows nothing of what went wrong."""
    text = (CHECKOUT / "docs" / "howto" / f"{page}.md").read_text(encoding="utf-8")
    raw = [command.split() for command in re.findall(r"`(tokenmill tail [^`]*)`", text) if "--raw" in command]
    assert raw != []
    for words in raw:
        assert words[2:7] == ["--raw", "--topic", "tokens", "--from-beginning", "--until-end"]


@pytest.mark.parametrize("title", SECTIONS)
def test_every_runbook_says_what_to_look_at_and_what_to_do(title: str) -> None:
    """And what tells that it is needed: a metric, a log line, an event."""
    section = SECTIONS[title]
    assert "**Look at**" in section
    assert "**Do**" in section or "| do |" in section
    assert "**Means**" in section or "| means |" in section
    assert "`" in section.partition("**")[0]
