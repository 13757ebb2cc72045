"""`GET /api/chat/{conversation}/stream`: what `useChat` of the AI SDK asks for when a page comes back to a chat.

1. The SDK assembles an answer again, so it is sent from its start, folded: the past is not typed again letter by
   letter. The SDK sends no place, and drops ids.
2. It shows one answer: the open one, the latest if there are several. Without one it gets 204, also after a stop: a
   page must not resume what its user ended.
3. Its transport posts messages to one address, the site's own server, and comes back to another, which
   `prepareReconnectToStreamRequest` names: this one.
"""

from aiohttp import web

from tokenmill.dialects.ai_sdk_ui import AI_SDK_UI
from tokenmill.gateway.auth.admission import Admission
from tokenmill.gateway.http.request_values import conversation_id
from tokenmill.gateway.streams.framing import SSE
from tokenmill.gateway.streams.service import StreamService
from tokenmill.gateway.streams.stream_request import StreamRequest

PATH = "/api/chat/{conversation}/stream"

VERSION = {"x-vercel-ai-ui-message-stream": "v1"}
"""The header by which the SDK recognizes its protocol."""


class AiSdkRoutes:
    """Answers a page that comes back to a chat with the open answer."""

    def __init__(self, serving: StreamService, admission: Admission) -> None:
        self._serving = serving
        self._admission = admission

    def routes(self) -> list[web.RouteDef]:
        """Return the routes for the application."""
        return [web.get(PATH, self.get, allow_head=False)]

    async def get(self, request: web.Request) -> web.StreamResponse:
        """Answer with the open answer, from its start; 204 if there is none."""
        conversation = conversation_id(request.match_info["conversation"])
        wanted = StreamRequest(conversation, AI_SDK_UI, SSE, start="message", folded=True)
        grant = await self._admission.check(request, conversation, "read")
        with self._admission.slot(grant):
            async with self._serving.prepared(wanted, grant.name) as prepared:
                if not prepared.reading.found:
                    return web.Response(status=204)
                wanted = wanted.only(prepared.reading.found[-1])
                return await self._serving.answer(request, wanted, VERSION, self._admission.held(grant), prepared)
