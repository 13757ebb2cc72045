"""The header that names a record's message, for codecs without message ids."""

from tokenmill.errors import Undecodable
from tokenmill.records import Record, header

MESSAGE_ID = "tm-message-id"


def message_id(record: Record) -> str | None:
    """The message that the record's header names, if any. Raises `Undecodable`."""
    value = header(record.headers, MESSAGE_ID) if record.headers else None
    try:
        return value.decode() if value else None
    except UnicodeDecodeError as problem:
        raise Undecodable(f"the header {MESSAGE_ID} is not UTF-8") from problem
