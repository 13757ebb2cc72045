"""Messages that get no more chunks."""

from typing import NamedTuple

from tokenmill.records import Headers


class TimeoutControl(NamedTuple):
    """A record for the input topic, for the partition that the message is on: it ends the message when it comes round."""

    key: bytes
    value: bytes
    headers: Headers
