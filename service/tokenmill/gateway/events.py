"""`GET /v1/conversations/{conversation}/events`: all messages of a conversation, from where the client says."""

from aiohttp import web

from tokenmill.gateway.admission import Admission
from tokenmill.gateway.asked import asked
from tokenmill.gateway.serving import Serving

PATH = "/v1/conversations/{conversation}/events"


class Events:
    """The route."""

    def __init__(self, serving: Serving, admission: Admission) -> None:
        self._serving = serving
        self._admission = admission

    def routes(self) -> list[web.RouteDef]:
        """For the application. A HEAD would open a stream that nobody reads."""
        return [web.get(PATH, self.get, allow_head=False)]

    async def get(self, request: web.Request) -> web.StreamResponse:
        """The conversation's events as a stream."""
        wanted = asked(request, request.match_info["conversation"])
        grant = await self._admission.check(request, wanted.conversation, "read")
        with self._admission.place(grant):
            async with self._serving.begun(wanted, grant.name) as begun:
                return await self._serving.answer(request, wanted, {}, self._admission.held(grant), begun)
