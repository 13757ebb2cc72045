"""A collector of OpenTelemetry, built from its own parts, and what it was told."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.deployment import tool
from tokenmill.servers.process import Server, free_port

SERVICE = """
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{port}"}}}}}}}}
exporters:
  otlphttp:
    endpoint: "http://127.0.0.1:{sink}"
    encoding: json
    compression: none
    sending_queue: {{enabled: false}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    traces: {{receivers: [otlp], exporters: [otlphttp]}}
    metrics: {{receivers: [otlp], exporters: [otlphttp]}}
"""


class Told(NamedTuple):
    """A span as the collector has it."""

    service: str
    name: str
    kind: int
    trace: str
    id: str
    parent: str


class Collector(Server):
    """The process, and what it sends on."""

    name = "the collector"

    def __init__(self, folder: Path, sink: int) -> None:
        super().__init__(folder)
        self._sink = sink
        self.bodies: list[tuple[str, Any]] = []
        """Paths, and what was sent there."""

    @property
    def url(self) -> str:
        """Where it takes OTLP over HTTP."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def spans(self) -> list[Told]:
        """All that it was told."""
        whole = [body for path, body in self.bodies if path == "/v1/traces"]
        return [told for body in whole for of in body["resourceSpans"] for told in _spans(of)]

    @property
    def measured(self) -> set[tuple[str, str]]:
        """Services, and the names of what they measured."""
        whole = [body for path, body in self.bodies if path == "/v1/metrics"]
        return {
            (_values(of["resource"])["service.name"], each["name"])
            for body in whole
            for of in body["resourceMetrics"]
            for scope in of["scopeMetrics"]
            for each in scope["metrics"]
        }

    def command(self) -> Sequence[str]:
        config = self.folder / "collector.yaml"
        config.write_text(SERVICE.format(port=self.port, sink=self._sink))
        return [str(tool("go-program", "collector")), "--config", str(config)]

    def ready(self) -> bool:
        return "Everything is ready" in self.log.read_text()


@contextmanager
def collector(folder: Path) -> Iterator[Collector]:
    """One that runs."""
    sink = ThreadingHTTPServer(("127.0.0.1", free_port()), _Sink)
    thread = threading.Thread(target=sink.serve_forever)
    thread.start()
    try:
        with Collector(folder, sink.server_port) as running:
            sink.told = running.bodies  # type: ignore[attr-defined] # -- what handlers know of it
            yield running
    finally:
        sink.shutdown()
        thread.join()
        sink.server_close()


class _Sink(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.told.append((self.path, json.loads(body)))  # type: ignore[attr-defined] # -- see `collector`
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_args: object) -> None:
        """The tests say what they saw."""


def _spans(of: Any) -> Iterator[Told]:
    service = _values(of["resource"])["service.name"]
    for scope in of["scopeSpans"]:
        for span in scope["spans"]:
            ids = span["traceId"], span["spanId"], span.get("parentSpanId", "")
            yield Told(service, span["name"], span["kind"], *ids)


def _values(of: Any) -> dict[str, Any]:
    return {each["key"]: next(iter(each["value"].values())) for each in of.get("attributes", ())}
