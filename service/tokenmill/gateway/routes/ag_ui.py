"""`POST /ag-ui`: a run of the AG-UI protocol, as its `HttpAgent` asks for it; the conversation is the thread.

1. If the log has a run with the `runId`, it is sent from its start, ended or not. Else it is the open run, the latest
   if there are several; else the next one. It ends with `RUN_FINISHED` or `RUN_ERROR`.
2. The protocol has no places, so every stream begins with `RUN_STARTED`, and the past is folded.
3. A post asks for events, and writes none: messages, tools and state in its body are for the front. Between events the
   stream has comments, which clients skip.
"""

import msgspec
from aiohttp import web

from tokenmill.dialects.ag_ui import AG_UI
from tokenmill.gateway.auth.admission import Admission
from tokenmill.gateway.auth.grant import must_allow
from tokenmill.gateway.http.request_body import decoded, whole_body
from tokenmill.gateway.http.request_values import conversation_id
from tokenmill.gateway.streams.framing import SSE
from tokenmill.gateway.streams.service import StreamService
from tokenmill.gateway.streams.stream_request import StreamRequest
from tokenmill.limits import KEY_BYTES

PATH = "/ag-ui"

NO_RUN = b"\xff"
"""Not an id, as it is not UTF-8: a client that names no run wants the open one."""


class RunAgentInput(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of the body that are read."""

    thread_id: str
    run_id: str = ""


class AgUiRoutes:
    """Answers a run's post with its events."""

    def __init__(self, serving: StreamService, admission: Admission) -> None:
        self._serving = serving
        self._admission = admission

    def routes(self) -> list[web.RouteDef]:
        """Return the routes for the application."""
        return [web.post(PATH, self.post)]

    async def post(self, request: web.Request) -> web.StreamResponse:
        """Answer with a run from its start to its end."""
        grant = await self._admission.may(request, "read")
        held = self._admission.held(grant)
        with self._admission.slot(grant):
            body = decoded(
                await whole_body(request), RunAgentInput, "the body must be a RunAgentInput of AG-UI, as JSON"
            )
            wanted = StreamRequest(conversation_id(body.thread_id), AG_UI, SSE, start="start", folded=True)
            must_allow(grant, wanted.conversation, "read")
            run = body.run_id.encode(errors="replace")
            if not 0 < len(run) <= KEY_BYTES:
                run = NO_RUN
            async with self._serving.prepared(wanted.only(run), grant.name) as prepared:
                open_ = prepared.reading.latest_open()
                if prepared.peeked or open_ is None:  # the log has it, or the next one is waited for
                    wanted = wanted.only(run if prepared.peeked else b"")
                    return await self._serving.answer(request, wanted, {}, held, prepared)
            message, start = open_  # everything before was read already
            wanted = msgspec.structs.replace(wanted, start=start, found=True)
            async with self._serving.prepared(wanted, grant.name) as prepared:
                return await self._serving.answer(request, wanted.only(message), {}, held, prepared)
