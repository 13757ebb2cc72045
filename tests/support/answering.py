"""Answers of a caller over real HTTP, without Kafka behind it: what is written stays in memory."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from tests.support.calling import chat
from tests.support.stage import until
from tests.support.written import Written, told
from tokenmill.apis.ask import Json
from tokenmill.apis.record import RequestRecord
from tokenmill.caller.answer import Answer, Resources
from tokenmill.caller.http import Http
from tokenmill.caller.pool import Pool
from tokenmill.caller.renderer import Renderer
from tokenmill.caller.served import served
from tokenmill.config import Config, Upstream
from tokenmill.gateway.ingest.in_flight import InFlightRecord
from tokenmill.gateway.problems import TOO_LARGE, Refused
from tokenmill.observe.caller_table import Outcome
from tokenmill.records import Headers

TOLD: Json = {"include_usage": True}


class Narrow(Written):
    """Takes no record that is larger than this, as a topic does."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    async def put(
        self, topic: str, partition: int, key: bytes, value: bytes | None, headers: Headers = ()
    ) -> InFlightRecord:
        if len(value or b"") > self._most:
            raise Refused(TOO_LARGE, "the record has too many bytes")
        return await super().put(topic, partition, key, value, headers)


def request(body: Json | None = None, *, seconds: float = 30, message_id: str = "m1") -> RequestRecord:
    """What somebody asks, and for how long the answer may take from now."""
    return RequestRecord(
        message_id=message_id,
        api="chat",
        body=msgspec.Raw(msgspec.json.encode(body or chat(stream_options=TOLD))),
        fingerprint="f",
        until=int((time.time() + seconds) * 1000),
    )


class Desk:
    """Where answers are made."""

    def __init__(self, upstream: Upstream, written: Written, http: Http, renderer: Renderer) -> None:
        self.written = written
        self.resources = Resources(
            served(Config(upstreams=[upstream])), written, written, http, renderer, "tokens", native=False
        )

    @property
    def pool(self) -> Pool:
        """The places of the model `m`."""
        return self.resources.models["m"].pool

    def answer(self, body: Json | None = None, *, attempt: int = 0, **asked: Any) -> Answer:
        """One that has not begun."""
        read = request(body, **asked)
        return Answer(self.resources, "c", read, until_ms=read.until, attempt=attempt)

    async def run(self, body: Json | None = None, **asked: Any) -> tuple[Answer, Outcome]:
        """One to its end, which comes soon."""
        answer = self.answer(body, **asked)
        async with asyncio.timeout(30):
            return answer, await answer.run()

    async def begun(self) -> "tuple[Answer, asyncio.Task[Outcome]]":
        """One of which something has come, and that goes on."""
        answer = self.answer()
        run = asyncio.create_task(answer.run())
        await until(lambda: answer.first_s is not None, "it has begun")
        return answer, run

    def story(self, message_id: str = "m1") -> list[str]:
        """What a worker makes of what was written."""
        return told((record.value, record.headers) for record in self.written.records).get(message_id, [])

    @property
    def text(self) -> str:
        """All raw text, in order."""
        return "".join(chunk.get("delta", "") for chunk in self.written.chunks)

    @property
    def status(self) -> int | None:
        """Of the failure, if it ended as one."""
        return next((chunk["error_status"] for chunk in self.written.chunks if "error_status" in chunk), None)


@asynccontextmanager
async def desk(kind: str, *urls: str, written: Written | None = None, **settings: Any) -> AsyncIterator[Desk]:
    """One of them, for the model `m`, which writes like Hermes, at these URLs."""
    given = {"models": ["m"], "kind": kind, "urls": list(urls), "model": "test-model", "format": "hermes", **settings}
    renderer = Renderer()
    try:
        async with Http() as http:
            yield Desk(msgspec.convert(given, Upstream), written or Written(), http, renderer)
    finally:
        await renderer.close()
