"""Counts open connections: of the process, of each name, and of all readers of a site.

A slot is taken before anything is read for a connection, and given back whatever ends it. Names that are refused one
are logged now and then, as metrics have no names.
"""

import logging
import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Final

from tokenmill.gateway.auth.grant import Grant
from tokenmill.gateway.problems import TOO_MANY, Refused, shown

log = logging.getLogger(__name__)

RETRY_S: Final = (2, 10)
"""Bounds, in seconds, of the random pause of a client that found no slot; without it all would come back at once."""

SAID_S: Final = 10.0
"""Seconds between two lines of the log: refused clients come back within seconds, and may be thousands."""


class ConnectionSlot:
    """A connection's slot, held while the block lasts. Entering the block raises `Refused` if no slot is free.

    It is not a generator, which would take a kilobyte for each open connection.
    """

    __slots__ = ("_limits", "_name", "_site")

    def __init__(self, limits: "ConnectionLimits", name: str, site: str) -> None:
        self._limits = limits
        self._name = name
        self._site = site

    def __enter__(self) -> None:
        self._limits.take(self._name, self._site)

    def __exit__(self, *_: object) -> None:
        self._limits.give_back(self._name, self._site)


class ConnectionLimits:
    """Counts open connections, and refuses those over the caps."""

    def __init__(self, connections: int, per_principal: int, now: Callable[[], float] = time.monotonic) -> None:
        self._cap = connections
        self._cap_each = per_principal
        self._cap_site = max(1, connections // 2)
        """Cap on connections with one key's tickets: its holder may get tickets for conversations that do not exist."""
        self._now = now
        self._logged_at = -SAID_S
        self.taken_now = 0
        """Number of open connections."""
        self._by_name: Counter[str] = Counter()
        self._by_site: Counter[str] = Counter()

    def taken(self, grant: Grant) -> ConnectionSlot:
        """Return a slot for a connection; a grant without a name counts only for the process."""
        return ConnectionSlot(self, grant.holder, grant.site)

    def take(self, name: str, site: str = "") -> None:
        """Take a slot, as a reader of a site if there is one. Raises `Refused` if none is free."""
        if self.taken_now >= self._cap:
            raise _full("this process has reached its limit of connections; try again, another one may answer")
        if name and self._by_name[name] >= self._cap_each:
            self._log_full(name, self._cap_each)
            raise _full(f"{self._cap_each} connections are open with these credentials; close one, or try again later")
        if site and self._by_site[site] >= self._cap_site:
            self._log_full(f"all tickets of {site}", self._cap_site)
            raise _full(
                f"{self._cap_site} connections are open with tickets of the same key; close one, or try again later"
            )
        self._count(name, site, 1)

    def give_back(self, name: str, site: str = "") -> None:
        """Give a slot back."""
        self._count(name, site, -1)

    def of(self, name: str) -> int:
        """Return the number of a name's open connections."""
        return self._by_name.get(name, 0)

    def _log_full(self, name: str, cap: int) -> None:
        if self._now() >= self._logged_at + SAID_S:
            self._logged_at = self._now()
            log.warning("refusing further connections for %s: %d are open", shown(name), cap)

    def _count(self, name: str, site: str, more: int) -> None:
        self.taken_now += more
        for taken, whose in ((self._by_name, name), (self._by_site, site)):
            taken[whose] += more
            if not taken[whose]:
                del taken[whose]  # names come from tokens: they would pile up


def _full(detail: str) -> Refused:
    seconds = random.randint(*RETRY_S)  # noqa: S311 -- spreads clients, keeps no secret
    return Refused(TOO_MANY, detail, headers={"retry-after": str(seconds)})
