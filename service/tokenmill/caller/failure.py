"""Why an answer can't be had from a model server: what the client is told, and whether another try may help."""

TOO_MANY, UNAVAILABLE, BAD_GATEWAY, LATE = 429, 503, 502, 504

AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses of a server that may answer otherwise the next time, or at another URL."""

RAW_CHARS = 4_096
"""Of a server's own words."""


class UpstreamFailed(Exception):
    """A model server did not answer, or not as it should.

    `status` is what a client is answered if nothing has come yet: the server's own where it gave one. `kind` is a word
    for the metrics: `refused`, `connect`, `slow`, `broken-off`, `unreadable`, `full` or `late`.
    """

    def __init__(
        self, message: str, kind: str, status: int = BAD_GATEWAY, raw: str = "", *, again: bool = True
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.raw = raw[:RAW_CHARS]
        self.again = again
        """Whether another try may help."""


KINDS = ("refused", "connect", "slow", "broken-off", "unreadable", "full", "late")
"""All kinds."""
