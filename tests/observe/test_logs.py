"""Logs as lines that machines read, or people."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from tokenmill.observe import setup_logs


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_json_lines_say_when_what_and_where() -> None:
    """One object a line, with what `extra` gave; an exception keeps its trace in it."""
    stream = io.StringIO()
    setup_logs("json", stream=stream)
    logging.getLogger("tokenmill.worker").warning("%d partitions", 3, extra={"partitions": [1, 2], "odd": {3}.union})
    logging.getLogger("tokenmill.worker").error("failed", exc_info=ValueError("broken\nin two lines"))
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (first["level"], first["logger"], first["message"]) == ("warning", "tokenmill.worker", "3 partitions")
    assert first["partitions"] == [1, 2]
    assert first["time"].endswith("Z")
    assert "ValueError: broken" in second["error"]


def test_plain_lines_are_for_people() -> None:
    """Time, level, logger and message."""
    stream = io.StringIO()
    setup_logs("plain", stream=stream)
    logging.getLogger("tokenmill").info("hello")
    assert stream.getvalue().rstrip().endswith("INFO    tokenmill: hello")


def test_libraries_only_warn() -> None:
    """Their information is about themselves; a level above that holds for them, too."""
    stream = io.StringIO()
    setup_logs("plain", "ERROR", stream)
    logging.getLogger("aiokafka").warning("not shown")
    setup_logs("plain", "DEBUG", stream)
    logging.getLogger("aiokafka").info("not shown either")
    logging.getLogger("aiokafka").warning("shown")
    assert [line.rsplit(": ", 1)[1] for line in stream.getvalue().splitlines()] == ["shown"]
