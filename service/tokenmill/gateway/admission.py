"""Who is let in to a route: rights first, then a place among the connections; and for how long."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from aiohttp import web

from tokenmill.gateway.grant import Action, Grant, Rights
from tokenmill.gateway.places import Places
from tokenmill.gateway.rights import authorised
from tokenmill.gateway.stream import Held

NOBODY = Grant(name="", conversations=(), actions=frozenset())
"""Whose connections are not counted."""


class Admission:
    """What every route that reads or writes asks."""

    def __init__(self, rights: Rights, places: Places) -> None:
        self._rights = rights
        self._places = places

    async def check(self, request: web.BaseRequest, conversation: str, action: Action) -> Grant:
        """The grant of whoever may do this. Raises `Refused`."""
        return await authorised(self._rights, request, conversation, action)

    @contextmanager
    def place(self, grant: Grant) -> Iterator[Held]:
        """A place for a connection, and whether its grant still holds. Raises `Refused` if there is none."""
        with self._places.taken(grant):
            yield self.held(grant)

    @contextmanager
    def unnamed_place(self) -> Iterator[None]:
        """A place that only counts for the process: it is not known yet whose it is, or does not matter.

        Raises `Refused` if there is none.
        """
        with self._places.taken(NOBODY):
            yield

    def held(self, grant: Grant) -> Held:
        """Whether a grant still holds, to be asked now and then."""
        return partial(self._rights.holds, grant)
