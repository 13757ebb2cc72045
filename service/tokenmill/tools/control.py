"""What people have to say about calls, on the topic `tool-control`; and what they are asked there.

1. Who runs calls asks (`approval-request`). A person grants or refuses (`approval`), naming what was asked by its hash:
   that of the call, of its arguments, and of all that is said of the tool. If any of these is another, so is the hash.
2. Of several answers to one request the first counts.
3. A cancel is for the calls of messages that began before it, whether their calls are known already or not: the order
   of records on two topics says nothing.
"""

from collections import OrderedDict
from hashlib import sha256
from typing import Any, TypeAlias

import msgspec

from tokenmill.errors import NOT_JSON
from tokenmill.tools.call import Call

KEPT = 100_000
"""Of answers, and of cancels: some megabytes. The oldest is forgotten then; no call is left that it could be about."""


class ApprovalRequest(msgspec.Struct, frozen=True, kw_only=True, tag="approval-request", tag_field="type"):
    """A call waits for a word."""

    approval: str
    """The hash that an answer names."""
    conversation_id: str
    message_id: str
    choice: int
    id: str
    """Of the call."""
    name: str
    arguments: dict[str, Any]
    until: int
    """When the call will be given up, in milliseconds since the epoch."""


class Approval(msgspec.Struct, frozen=True, kw_only=True, tag="approval", tag_field="type"):
    """The word."""

    approval: str
    granted: bool
    by: str = ""
    """Who gave it."""
    why: str = ""
    """What the model is told of a refusal."""


class Cancel(msgspec.Struct, frozen=True, kw_only=True, tag="cancel", tag_field="type"):
    """Calls are not wanted any more."""

    conversation_id: str
    message_id: str = ""
    """Empty: those of all messages."""
    by: str = ""


Control: TypeAlias = ApprovalRequest | Approval | Cancel

_decoder: msgspec.json.Decoder[Control] = msgspec.json.Decoder(Control)


def read_control(value: bytes | None) -> Control | None:
    """A record of the topic; None for what is none."""
    try:
        return _decoder.decode(value or b"")
    except NOT_JSON:
        return None


def approval_of(call: Call, fingerprint: str) -> str:
    """What a request for this call is known by; `fingerprint` is the tool's."""
    asked = [call.key.decode(), call.name, call.arguments, fingerprint]
    return sha256(msgspec.json.encode(asked, order="deterministic")).hexdigest()


def request_for(call: Call, fingerprint: str, until: int) -> ApprovalRequest:
    """The record that asks."""
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
    """What has been said, as far as it may still be about a call."""

    def __init__(self) -> None:
        self._approvals: OrderedDict[str, Approval] = OrderedDict()
        self._cancels: OrderedDict[tuple[str, str], int] = OrderedDict()

    def take(self, control: Control, time_ms: int) -> None:
        """A record, and its time in milliseconds since the epoch."""
        if isinstance(control, Approval):
            self._approvals.setdefault(control.approval, control)
        elif isinstance(control, Cancel):
            name = control.conversation_id, control.message_id
            self._cancels[name] = max(time_ms, self._cancels.pop(name, 0))
        for kept in (self._approvals, self._cancels):
            if len(kept) > KEPT:
                kept.popitem(last=False)

    def answer(self, approval: str) -> Approval | None:
        """What was said to a request for approval."""
        return self._approvals.get(approval)

    def cancelled(self, call: Call) -> bool:
        """Whether a call is not wanted any more."""
        return bool(self._cancels) and any(
            call.opened <= self._cancels.get((call.conversation, message), -1) for message in (call.message, "")
        )
