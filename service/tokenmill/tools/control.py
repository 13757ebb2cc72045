"""The topic `tool-control`: what people are asked about calls, and what they answer.

1. A runner asks (`approval-request`). A person grants or refuses (`approval`), and names the question by its hash: that
   of the call, its arguments, and the description of the tool. If one of these changes, so does the hash.
2. Of several answers to one request the first counts.
3. A cancel applies to the calls of messages that began before it, whether the calls have arrived or not: records on two
   topics have no order.
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from hashlib import sha256
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from tokenmill.errors import NOT_JSON
from tokenmill.tools.call import Call

ASKED_S = 86_400.0
"""Seconds that a question is looked back for, at least. How long a call waits is in the runner's own configuration, and
in the question (`until`)."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

KEPT = 100_000
"""Answers, and cancels, that are kept. The oldest is forgotten first: its call is over by then."""

KEPT_BYTES = 16 << 20
"""Bytes of their texts that are kept; 100,000 usual ones have less. Texts may be as long as a record."""


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


class _Newest(Generic[K, V]):
    """The newest entries, bounded by number and by bytes. Unlike `Recent`, it keeps the sum: there may be many."""

    def __init__(self) -> None:
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: K) -> V | None:
        found = self._kept.get(key)
        return found and found[0]

    def put(self, key: K, value: V, texts: Iterable[str]) -> None:
        """Put an entry, in which these texts are, at the newest end."""
        size = sum(len(text.encode(errors="replace")) for text in texts)
        _, freed = self._kept.pop(key, (None, 0))
        self._kept[key] = value, size
        self._bytes += size - freed
        while len(self._kept) > KEPT or self._bytes > KEPT_BYTES:
            _, (_, freed) = self._kept.popitem(last=False)
            self._bytes -= freed


class Orders:
    """Answers and cancels that may still apply to a call."""

    def __init__(self) -> None:
        self._approvals = _Newest[str, Approval]()
        self._cancels = _Newest[tuple[str, str], int]()

    def take(self, control: Control, time_ms: int) -> None:
        """Take a record, and its time in milliseconds since the epoch."""
        if isinstance(control, Approval):
            if self._approvals.get(control.approval) is None:
                self._approvals.put(control.approval, control, (control.approval, control.by, control.why))
        elif isinstance(control, Cancel):
            name = control.conversation_id, control.message_id
            self._cancels.put(name, max(time_ms, self._cancels.get(name) or 0), name)

    def answer(self, approval: str) -> Approval | None:
        """Return the answer to a question, if there is one."""
        return self._approvals.get(approval)

    def cancelled(self, call: Call) -> bool:
        """Whether a call is no longer wanted."""
        if not self._cancels:
            return False
        times = (self._cancels.get((call.conversation, message)) for message in (call.message, ""))
        return any(time is not None and call.opened <= time for time in times)
