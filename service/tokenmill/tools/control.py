"""The topic `tool-control`: what people are asked about calls, and what they answer.

1. A runner asks (`approval-request`). A person grants or refuses (`approval`), and names the question by its hash: that
   of the call, its arguments, and the description of the tool. If one of these changes, so does the hash.
2. Of several answers to one request the first counts.
3. A cancel applies to the calls of messages that began before it, whether the calls have arrived or not: records on two
   topics have no order.
"""

from collections import OrderedDict
from hashlib import sha256
from typing import Any, TypeAlias

import msgspec

from tokenmill.errors import NOT_JSON
from tokenmill.tools.call import Call

ASKED_S = 86_400.0
"""Seconds that a question is looked back for, at least. How long a call waits is in the runner's own configuration, and
in the question (`until`)."""

KEPT = 100_000
"""Answers, and cancels, that are kept: some megabytes. The oldest is forgotten first: its call is over by then."""


class ApprovalRequest(msgspec.Struct, frozen=True, kw_only=True, tag="approval-request", tag_field="type"):
    """Question about a call."""

    approval: str
    """Hash that an answer names."""
    conversation_id: str
    message_id: str
    choice: int
    id: str
    """Id of the call."""
    name: str
    arguments: dict[str, Any]
    until: int
    """Time at which the call is given up, in milliseconds since the epoch."""


class Approval(msgspec.Struct, frozen=True, kw_only=True, tag="approval", tag_field="type"):
    """Answer to a question."""

    approval: str
    granted: bool
    by: str = ""
    """Person who answered."""
    why: str = ""
    """Reason of a refusal, for the model."""


class Cancel(msgspec.Struct, frozen=True, kw_only=True, tag="cancel", tag_field="type"):
    """Calls are no longer wanted."""

    conversation_id: str
    message_id: str = ""
    """Message whose calls are meant; empty for all messages."""
    by: str = ""


Control: TypeAlias = ApprovalRequest | Approval | Cancel

_decoder: msgspec.json.Decoder[Control] = msgspec.json.Decoder(Control)


def read_control(value: bytes | None) -> Control | None:
    """Read a record of the topic; return None for anything else."""
    try:
        return _decoder.decode(value or b"")
    except NOT_JSON:
        return None


def approval_of(call: Call, fingerprint: str) -> str:
    """Return the hash that identifies a question about this call; `fingerprint` is the tool's."""
    asked = [call.key.decode(), call.name, call.arguments, fingerprint]
    return sha256(msgspec.json.encode(asked, order="deterministic")).hexdigest()


def request_for(call: Call, fingerprint: str, until: int) -> ApprovalRequest:
    """Return the record of a question."""
    return ApprovalRequest(
        approval=approval_of(call, fingerprint),
        conversation_id=call.conversation,
        message_id=call.message,
        choice=call.choice,
        id=call.id,
        name=call.name,
        arguments=call.arguments,
        until=until,
    )


class Orders:
    """Answers and cancels that may still apply to a call."""

    def __init__(self) -> None:
        self._approvals: OrderedDict[str, Approval] = OrderedDict()
        self._cancels: OrderedDict[tuple[str, str], int] = OrderedDict()

    def take(self, control: Control, time_ms: int) -> None:
        """Take a record, and its time in milliseconds since the epoch."""
        if isinstance(control, Approval):
            self._approvals.setdefault(control.approval, control)
        elif isinstance(control, Cancel):
            name = control.conversation_id, control.message_id
            self._cancels[name] = max(time_ms, self._cancels.pop(name, 0))
        for kept in (self._approvals, self._cancels):
            if len(kept) > KEPT:
                kept.popitem(last=False)

    def answer(self, approval: str) -> Approval | None:
        """Return the answer to a question, if there is one."""
        return self._approvals.get(approval)

    def cancelled(self, call: Call) -> bool:
        """Whether a call is no longer wanted."""
        return bool(self._cancels) and any(
            call.opened <= self._cancels.get((call.conversation, message), -1) for message in (call.message, "")
        )
