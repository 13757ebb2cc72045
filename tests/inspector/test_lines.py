"""The lines that a page is told. Saved recordings consist of them, so their names and fields stay."""

from typing import Any

import msgspec
import pytest

from tests.support.approvals import asked_about
from tokenmill.events import ToolResult
from tokenmill.inspector import lines
from tokenmill.inspector.lines import (
    Ended,
    Line,
    Opened,
    Piece,
    Position,
    Published,
    Rejected,
    Repeated,
    Unread,
    about,
)
from tokenmill.inspector.watched import Step
from tokenmill.limits import JSON_DEPTH

STEP = Step("text", 0, 1, "x", [], "", "", "text", 9)

RESULT = ToolResult("call", "f", result=1, conversation_id="c", message_id="m")

LINES: list[tuple[Line, dict[str, Any]]] = [
    (Opened(0, "m", 1), {"line": "opened", "of": 0, "message": "m", "choice": 1, "formats": [], "prompt": 0}),
    (
        Piece(0, 5, 0.5, [STEP]),
        {"line": "piece", "of": 0, "time": 5, "seen": 0.5, "steps": [msgspec.to_builtins(STEP)]},
    ),
    (Published(0, 2, None), {"line": "published", "of": 0, "number": 2, "seen": None, "other": None}),
    (Unread(0, "m"), {"line": "unread", "of": 0, "message": "m"}),
    (Repeated(0), {"line": "repeated", "of": 0}),
    (Rejected(7, "orphan", "why"), {"line": "rejected", "offset": 7, "code": "orphan", "problem": "why"}),
    (
        Position(1, 2, 3, behind=True),
        {"line": "position", "partition": 1, "tokens": 2, "events": 3, "behind": True},
    ),
    (about(RESULT, 5), {"line": "said", "record": msgspec.to_builtins(RESULT), "text": "", "time": 5}),
    (Ended("why"), {"line": "ended", "detail": "why"}),
]


@pytest.mark.parametrize(("line", "told"), LINES)
def test_a_line_has_its_name_and_its_fields(line: Line, told: dict[str, Any]) -> None:
    """As the page and its recordings know them."""
    assert msgspec.json.decode(msgspec.json.encode(line)) == told


def test_arguments_that_are_asked_about_take_no_more_for_blanks_than_for_themselves() -> None:
    """A line for each value would begin with as many blanks as it is deep."""
    deep: list[Any] = list(range(1_000))
    for _ in range(JSON_DEPTH - 2):
        deep = [deep]
    for arguments in ({"path": ["/srv"]}, {"a": deep}):
        asked = asked_about(arguments=arguments)
        text = about(asked, 5).text
        assert msgspec.json.decode(text) == arguments
        assert len(text) < lines.INDENTED * len(msgspec.json.encode(arguments))
    assert about(asked, 5).text.count("\n") == 0
