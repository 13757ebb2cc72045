"""Which message a stop is for: a stop that comes late must not end the next answer."""

from tokenmill.gateway.asked import identifier
from tokenmill.gateway.bodies import Stop
from tokenmill.gateway.problems import BAD_REQUEST, CONFLICT, Refused


def which(stop: Stop, known: list[str] | None) -> str | None:
    """The id of the message to stop; None if it has none, or if none is open. Raises `Refused`."""
    if stop.unnamed:
        if stop.message_id is not None:
            raise Refused(BAD_REQUEST, "say message_id or unnamed, not both")
        return None
    if stop.message_id is not None:
        return message_id_of(stop.message_id)
    if known is None:
        raise Refused(BAD_REQUEST, "say which message to stop: its message_id, or unnamed: true if it has none")
    if len(known) > 1:
        raise Refused(CONFLICT, "several messages are open; say the message_id of one", open=known)
    return known[0] if known else None


def message_id_of(text: str) -> str:
    """The id of a message, if it can be one. Raises `Refused`."""
    return identifier(text, "message_id")
