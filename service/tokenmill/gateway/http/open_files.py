"""The process's limit of open files: each connection is one.

Once none is left, the event loop closes every new connection unread, and reports nothing.
"""

import errno
import logging
import os
import resource
from contextlib import suppress

log = logging.getLogger(__name__)

OTHERS = 100
"""Open files beside those of clients and model servers: connections to Kafka, ports, the event loop's own."""

_NONE_LEFT = frozenset({errno.EMFILE, errno.ENFILE})


def allow_connections(connections: int, settings: str) -> None:
    """Raise the process's limit of open files to what so many connections need, as far as it may.

    Programs start with a limit of 1,024 on many systems, for those that use `select`. `settings` are the keys that
    gave the number: a warning names them if the hard limit is below it.
    """
    needed = connections + OTHERS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        with suppress(OSError, ValueError):  # a system may have a limit beside the hard one
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
            soft = allowed
    if soft != resource.RLIM_INFINITY and soft < needed:
        log.warning(
            "%s: %d connections need %d open files, and this process may have %d: further connections will be closed "
            "unread; raise the hard limit (ulimit -Hn), or lower the number",
            settings,
            connections,
            needed,
            soft,
        )


def report_none_left() -> None:
    """Log a warning if no other file can be opened now."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as problem:
        if problem.errno in _NONE_LEFT:
            log.warning("new connections are closed unread: %s; raise the limit (ulimit -n)", problem.strerror)
