"""What the live view asks for: a conversation as lines of JSON, and a word about a call that waits for one.

A reader has the rights of who asks, for as long as they hold, and a place among few: each one reads a partition whole.
So has a word, among others: whoever reads may say one.
"""

import asyncio
from collections.abc import Iterable
from contextlib import aclosing, suppress

import msgspec
from aiohttp import web

from tokenmill.config import Config
from tokenmill.dialects.json_text import json_bytes
from tokenmill.errors import Unavailable
from tokenmill.gateway.auth.admission import Admission
from tokenmill.gateway.auth.grant import Held, must_allow
from tokenmill.gateway.http.request_body import decoded, whole_body
from tokenmill.gateway.http.request_values import conversation_id
from tokenmill.gateway.problems import BAD_REQUEST, CONFLICT, UNSUPPORTED, Refused
from tokenmill.gateway.streams.framing import STREAM_HEADERS
from tokenmill.gateway.streams.http_pipe import end_is_seen
from tokenmill.inspector.lines import Ended, Line
from tokenmill.inspector.live_log import LiveLog
from tokenmill.inspector.page import HEADERS
from tokenmill.limits import MIB
from tokenmill.tools.control import Approval
from tokenmill.tools.control_client import questions, say

READERS = 8
"""Of a process at once: each has a consumer, and parses what it reads."""

READERS_EACH = 3
"""Of one name: the others have places, too."""

BACK_S = 7 * 86_400.0
"""The longest look back; `gateway.lookback_records` is another bound."""

KEPT_BYTES = 256 * MIB
"""Lines that a page is told: it keeps them all, to save them. Events and text have caps of their own (`live_log`); what
is said of calls, put aside and repeated has only this one."""

STALL_S = 10.0
"""For how long a page may take nothing."""

FULL = f"the page has {KEPT_BYTES // MIB} MiB of lines, which it keeps; reconnect, and look back less far, to go on"

STREAM = {**HEADERS, **STREAM_HEADERS}
"""Headers of the lines."""


class Word(msgspec.Struct, forbid_unknown_fields=True):
    """What a person says of a call."""

    conversation: str
    approval: str
    granted: bool
    why: str = ""


class LiveRoutes:
    """The routes. `admission` counts readers, `words` those who say one, and neither other connections.

    Without `writes` no word can be said: it would be a record.
    """

    def __init__(self, config: Config, admission: Admission, words: Admission, *, writes: bool) -> None:
        self._config = config
        self._admission = admission
        self._words = words
        self._writes = writes

    def routes(self) -> list[web.RouteDef]:
        """The routes for the application."""
        live, word = web.get("/inspect/api/live", self._live), web.post("/inspect/api/words", self._word)
        return [live, word] if self._writes else [live]

    async def _live(self, request: web.Request) -> web.StreamResponse:
        if not request.query.get("conversation"):
            raise Refused(BAD_REQUEST, "say which conversation: ?conversation=…")
        conversation = conversation_id(request.query["conversation"])
        grant = await self._admission.check(request, conversation, "read")
        held = self._admission.held(grant)
        with self._admission.slot(grant):
            log = LiveLog(self._config, conversation, _back(request.query.get("back", "600")))
            response = web.StreamResponse(headers=STREAM)
            response.content_type = "application/x-ndjson"
            end_is_seen(request, response)
            await response.prepare(request)
            with suppress(ConnectionError, TimeoutError):  # the page left, or takes nothing
                await _tell(response, log, held)
            return response

    async def _word(self, request: web.Request) -> web.Response:
        if request.content_type != "application/json":  # other types any page may send, with a user's cookies
            raise Refused(UNSUPPORTED, "send application/json")
        grant = await self._words.may(request, "approve")
        with self._words.slot(grant):  # to the end: each look is a reader of all that was asked, each word a writer
            word = decoded(await whole_body(request), Word, "the body is not what is asked for")
            must_allow(grant, word.conversation, "approve")
            await self._say(word, grant.name or "inspector")
        return web.Response(status=204, headers=HEADERS)

    async def _say(self, word: Word, by: str) -> None:
        # A word counts by its hash alone: without this look one conversation's rights would open another's calls.
        waiting = {(each.conversation_id, each.approval) for each in await questions(self._config)}
        if (word.conversation, word.approval) not in waiting:
            raise Refused(
                CONFLICT, "no call of this conversation waits for this word; it may have been said, or too late"
            )
        said = Approval(approval=word.approval, granted=word.granted, by=by, why=word.why)
        await say(self._config, [(word.conversation, said)])


async def _tell(response: web.StreamResponse, log: LiveLog, held: Held) -> None:
    """All that there is to tell, and why it ends."""
    kept = 0
    try:
        async with aclosing(log.lines()) as batches:
            async for lines in batches:
                kept += await _write(response, lines)
                if kept > KEPT_BYTES:
                    await _write(response, [Ended(FULL)])
                    return
                if not held():
                    await _write(response, [Ended("the credentials have ended; load the page again to enter new ones")])
                    return
    except Unavailable as problem:
        await _write(response, [Ended(str(problem))])


async def _write(response: web.StreamResponse, lines: Iterable[Line]) -> int:
    """Write lines. Returns how many bytes they have."""
    data = b"".join(json_bytes(line) + b"\n" for line in lines)
    async with asyncio.timeout(STALL_S):
        await response.write(data)
    return len(data)


def _back(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= BACK_S:
        raise Refused(BAD_REQUEST, f"back: so many seconds, at most {BACK_S:.0f}")
    return seconds
