"""Calls that wait for a person's word."""

from typing import Any

import msgspec

from tokenmill.tools.control import ApprovalRequest

ASKED = ApprovalRequest(
    approval="hash",
    conversation_id="c",
    message_id="m",
    choice=0,
    id="call",
    name="f",
    arguments={},
    until=0,
)


def asked_about(**members: Any) -> ApprovalRequest:
    """A call that a person is asked about, with these members in place of the usual ones."""
    return msgspec.structs.replace(ASKED, **members)
