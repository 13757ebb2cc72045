"""What comes of a call: a result, or why there is none; and whether it is made at all.

What goes wrong is told apart. The call is not made: the model called what is not there, or with arguments that do not
fit, or too often; the policy or a person says no; the server is not there, or knows us no more; or the call came too
late. It was made: the tool's own error, the protocol's, the way there, or time; or whoever ran it was lost. Behind
`transport`, `timeout` and `in-doubt` nobody knows what the tool did, and behind `cancelled` not how much of it.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from tokenmill.events import ToolProgress, ToolResult
from tokenmill.registry import known_names
from tokenmill.tools.call import Call
from tokenmill.tools.catalogue import Catalogue, Tool
from tokenmill.tools.content import plain

Code: TypeAlias = Literal[
    "unknown-tool",
    "schema-mismatch",
    "limit",
    "denied",
    "cancelled",
    "unavailable",
    "expired",
    "tool",
    "protocol",
    "transport",
    "timeout",
    "in-doubt",
]
"""Why there is no result."""


NOT_MADE: frozenset[Code] = frozenset({"unknown-tool", "schema-mismatch", "limit", "denied", "unavailable", "expired"})
"""Behind these the call was not made."""

NAMED = 20
"""Tools that a model is told of that called one which is not there: it was given the list."""


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came of a call."""

    result: Any = UNSET
    error: str | UnsetType = UNSET
    code: Code | UnsetType = UNSET
    elapsed_ms: int = 0


class Progress(msgspec.Struct, frozen=True):
    """How far a call is."""

    done: float
    total: float | None = None
    message: str | None = None


LOST = Outcome(error="whoever ran the tool was lost: nobody knows what it did", code="in-doubt")
CANCELLED = Outcome(error="the call was cancelled", code="cancelled")
TOO_LATE = Outcome(error="nobody approved of the call in time", code="expired")
DENIED = Outcome(error="this call is not allowed (tools.policy)", code="denied")


def answer_to(call: Call, outcome: Outcome) -> ToolResult:
    """The record of what came of a call."""
    return ToolResult(
        id=call.id,
        name=call.name,
        result=outcome.result,
        error=outcome.error,
        elapsed_ms=outcome.elapsed_ms,
        code=outcome.code,
        conversation_id=call.conversation,
        message_id=call.message,
        choice=call.choice,
    )


def progress_of(call: Call, progress: Progress) -> ToolProgress:
    """The record of how far a call is."""
    return ToolProgress(
        id=call.id,
        name=call.name,
        progress=progress.done,
        total=UNSET if progress.total is None else progress.total,
        message=plain(progress.message) if progress.message else UNSET,
        conversation_id=call.conversation,
        message_id=call.message,
        choice=call.choice,
    )


def checked(catalogue: Catalogue, name: str, arguments: Mapping[str, Any]) -> Tool | Outcome:
    """The tool that is called so, or why the call is not made."""
    tool = catalogue.find(name)
    if tool is None:
        known = known_names(name, [each.public_name for each in catalogue][:NAMED])
        return Outcome(error=f"there is no tool {name!r}; {known}", code="unknown-tool")
    problem = catalogue.mismatch(name, arguments)
    return tool if problem is None else Outcome(error=problem, code="schema-mismatch")
