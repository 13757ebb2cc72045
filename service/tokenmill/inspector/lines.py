"""What a page is told of a conversation, a line of JSON each; a saved recording consists of them."""

import msgspec

from tokenmill.events import ToolProgress, ToolResult
from tokenmill.inspector.watched import Step
from tokenmill.parser.values.repair import nested_deeper
from tokenmill.tools.control import ApprovalRequest, Control

INDENTED = 16
"""Levels of the deepest arguments that are shown a line for each value: with more, nearly all of it would be blanks."""


class Line(msgspec.Struct, tag_field="line"):
    """What they have in common."""


class Opened(Line, tag="opened"):
    """A choice of a message: the lines that follow name it by `of`."""

    of: int
    message: str
    choice: int
    formats: list[str] = []
    """Empty: its tokens were not read, only events."""
    prompt: int = 0
    """Characters of the source that are the prompt's."""


class Piece(Line, tag="piece"):
    """A record of tokens, or an event that none of them made."""

    of: int
    time: int
    """The record's, in milliseconds since the epoch."""
    seen: float | None
    """When it came, in seconds; None for what was in the log already."""
    steps: list[Step]


class Published(Line, tag="published"):
    """A worker has published the event of this number among those of its choice."""

    of: int
    number: int
    seen: float | None
    other: msgspec.Raw | None = None
    """What it published in place of what was expected."""


class Unread(Line, tag="unread"):
    """The choice began before what was read, so what was expected of it is a guess and counts no more.

    Its tokens are told as they are from now on, and its events as a worker publishes them, numbered from 0 again.
    """

    of: int
    message: str
    """Its true id: that of a message without one names the record that opened it."""


class Repeated(Line, tag="repeated"):
    """A worker published an event once more, as it may after a crash: readers drop it."""

    of: int


class Rejected(Line, tag="rejected"):
    """A record that a worker puts aside, and why."""

    offset: int
    code: str
    problem: str


class Position(Line, tag="position"):
    """How far was read: the next offset of tokens and of events."""

    partition: int
    tokens: int
    events: int
    behind: bool
    """There is more in the log."""


class AboutCall(Line, tag="said"):
    """What runs tools said of a call, or a person: a question, a word, a result."""

    record: Control | ToolProgress | ToolResult
    text: str = ""
    """Arguments that a person is asked about, to the letter: a page's numbers are not as long as a model's."""
    time: int = 0
    """The record's, in milliseconds since the epoch: ids of calls come again with ids of messages."""


class Ended(Line, tag="ended"):
    """The last line, where it is not the reader who ends."""

    detail: str


def about(record: Control | ToolProgress | ToolResult, time: int) -> AboutCall:
    """The line of what was said of a call at a time."""
    text = ""
    if isinstance(record, ApprovalRequest):
        said = msgspec.json.encode(record.arguments)
        text = (said if nested_deeper(said, INDENTED) else msgspec.json.format(said, indent=2)).decode()
    return AboutCall(record, text, time)
