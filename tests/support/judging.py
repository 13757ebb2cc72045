"""What the judges need: payloads framed as a gateway would, a server to fetch them from, and a way to run Node."""

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pytest

NODE = Path(__file__).parents[1] / "judges" / "node"
"""The scripts, and the packages that `make install` puts beside them where Node is."""

NODE_S = 60
"""A script takes about a second; a machine with much to do needs longer."""

TEST_S = 60
"""For one test of a suite: they are about what is answered, on a machine that may have other things to do. The default
is five seconds."""

SUITE_S = 240
"""A suite of others waits in many of its tests."""


def sse(payloads: Iterable[bytes], *, named: bool = False) -> bytes:
    """Payloads as server-sent events, line ends LF; `named`: with the `event:` line that some clients ask for."""
    return b"".join(_frame(payload, named=named) for payload in payloads)


def _frame(payload: bytes, *, named: bool) -> bytes:
    event = b"event: %b\n" % json.loads(payload)["type"].encode() if named else b""
    return event + b"data: %b\n\n" % payload


@contextmanager
def serving(body: bytes | Mapping[str, bytes], headers: Mapping[str, str] | None = None) -> Iterator[str]:
    """A server on this machine that answers every request with these bytes, or those under its path; its URL."""
    bodies = {"": body} if isinstance(body, bytes) else body
    answer = {"content-type": "text/event-stream", **(headers or {})}
    handler = type("Handler", (_Handler,), {"bodies": bodies, "answer": answer})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    """Answers GET and POST alike."""

    bodies: ClassVar[Mapping[str, bytes]]
    answer: ClassVar[Mapping[str, str]]

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        body = self.bodies[self.path.strip("/") if len(self.bodies) > 1 else ""]
        self.send_response(200)
        for name, value in self.answer.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 -- the name that the server looks for

    def log_message(self, *_args: object) -> None:
        """The tests say what they saw."""


def judged(script: str, streams: Mapping[str, Iterable[bytes]], headers: Mapping[str, str] | None = None) -> Any:
    """What a client for Node makes of each stream of payloads: one process reads them all."""
    bodies = {str(number): sse(payloads) for number, payloads in enumerate(streams.values())}
    with serving(bodies, headers) as url:
        answers = run_node(script, *(f"{url}/{number}" for number in bodies))
    return dict(zip(streams, answers, strict=True))


def run_node(script: str, *arguments: str, stdin: str = "") -> Any:
    """What a script of `tests/judges/node` prints, as JSON."""
    command = [node(), str(NODE / script), *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=NODE_S, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def node() -> str:
    """The program `node`. Where it, or what the scripts need, is missing, a test is skipped; in CI it fails."""
    found = shutil.which("node")
    if found is not None and (NODE / "node_modules").is_dir():
        return found
    message = "no Node, or no packages beside the scripts: install Node 20 or later, then `make install`"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


class Verdict(NamedTuple):
    """What became of one test of a suite of others."""

    name: str
    passed: bool
    message: str


def run_vitest(suite: str, only: str, report: Path, **settings: str) -> list[Verdict]:
    """What became of the tests of a suite in `tests/judges/node` whose full names this pattern is found in."""
    vitest = NODE / "node_modules" / "vitest" / "vitest.mjs"
    command = [node(), str(vitest), "run", suite, "--reporter=json", f"--outputFile={report}", "-t", only]
    command.append(f"--testTimeout={TEST_S * 1000}")
    with report.with_suffix(".log").open("w+") as said:  # its own processes keep a pipe open when it is killed
        subprocess.run(
            command, cwd=NODE, env=os.environ | settings, stdout=said, stderr=said, timeout=SUITE_S, check=False
        )
        said.seek(0)
        assert report.exists(), said.read()
    found = (each for file in json.loads(report.read_text())["testResults"] for each in file["assertionResults"])
    return [
        Verdict(each["fullName"], each["status"] == "passed", "".join(each["failureMessages"])[:500])
        for each in found
        if each["status"] in ("passed", "failed")
    ]
