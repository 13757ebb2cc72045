"""What the library makes of the same answers, for the same clients: a server with nothing but the parser in it."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.judging import sse
from tests.support.sdk_loops import MODELS
from tokenmill import Parser, render
from tokenmill.apis import APIS, Api
from tokenmill.apis.whole import whole_answer

USAGE = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}

PIECE = 5
"""Characters that the parser gets at once."""


def payloads_of(body: dict[str, Any], api: Api, dialect: str) -> Sequence[bytes]:
    """The next turn of the loop, parsed and rendered."""
    ask, model = api.read(body), MODELS[body["model"]]
    parser = Parser(model.format, ask.tools, model=ask.model, include_usage=ask.include_usage)
    raw = model.raw(sum(message["role"] == "tool" for message in ask.messages))
    events = parser.start()
    for at in range(0, len(raw), PIECE):
        events += parser.feed(raw[at : at + PIECE])
    return list(render(events + parser.finish("stop", USAGE), dialect, "conversation", "message"))


class _Handler(BaseHTTPRequestHandler):
    """Answers the three APIs."""

    def do_POST(self) -> None:
        api = next(api for api in APIS if api.path == self.path.partition("?")[0])
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if body.get("stream"):
            self._send("text/event-stream", sse(payloads_of(body, api, api.dialect), named=api.name != "chat"))
        else:
            self._send("application/json", whole_answer(api, {0: payloads_of(body, api, api.whole)}))

    def _send(self, content_type: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """The tests say what they saw."""


@contextmanager
def direct() -> Iterator[str]:
    """The server's address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
