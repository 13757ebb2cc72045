"""The outcome of a call: a result, or why there is none; and whether the call is made at all.

Codes distinguish failures. The call was not made: there is no such tool, the arguments do not fit, there were too many
calls; the policy or a person refused it; the server is gone, or has forgotten our session; or the call came too late.
The call was made: the tool or the protocol reported an error, the connection broke, time ran out, or the runner was
lost. After `transport`, `timeout` and `in-doubt` nobody knows what the tool did; after `cancelled`, how much of it.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from tokenmill.events import ToolProgress, ToolResult
from tokenmill.observe.tools_table import Code
from tokenmill.registry import known_names
from tokenmill.tools.call import Call
from tokenmill.tools.catalogue import Catalogue, Tool
from tokenmill.tools.content import plain

NOT_MADE: frozenset[Code] = frozenset({"unknown-tool", "schema-mismatch", "limit", "denied", "unavailable", "expired"})
"""Codes of calls that were not made."""

NAMED = 20
"""Tools that are named to a model that called an unknown one: it was given the whole list before."""


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """Outcome of a call."""

    result: Any = UNSET
    error: str | UnsetType = UNSET
    code: Code | UnsetType = UNSET
    elapsed_ms: int = 0


class Progress(msgspec.Struct, frozen=True):
    """Progress of a call."""

    done: float
    total: float | None = None
    message: str | None = None


LOST = Outcome(error="whoever ran the tool was lost: nobody knows what it did", code="in-doubt")
CANCELLED = Outcome(error="the call was cancelled", code="cancelled")
TOO_LATE = Outcome(error="nobody approved of the call in time", code="expired")
DENIED = Outcome(error="this call is not allowed (tools.policy)", code="denied")


def answer_to(call: Call, outcome: Outcome) -> ToolResult:
    """Return the record of a call's outcome."""
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
    """Return the record of a call's progress."""
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
    """Return the tool of this name, or why the call is not made."""
    tool = catalogue.find(name)
    if tool is None:
        known = known_names(name, [each.public_name for each in catalogue][:NAMED])
        return Outcome(error=f"there is no tool {name!r}; {known}", code="unknown-tool")
    problem = catalogue.mismatch(name, arguments)
    return tool if problem is None else Outcome(error=problem, code="schema-mismatch")
