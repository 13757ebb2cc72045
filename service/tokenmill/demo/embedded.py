"""`tokenmill front --embedded`: a front and everything that it needs, on one machine, as one command.

1. Broker and Redis are embedded; worker, gateway and front are processes with the user's configuration, in which only
   the sections `[kafka]` and `[redis]`, and some ports, are replaced.
2. Each process is in its own process group: Ctrl-C reaches only this one, which ends the others in order.
3. Nothing is kept: what the broker holds is gone when it ends, so no answer is waited for then.
"""

import os
import signal
import sys
import tempfile
import threading
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import tomli_w
from rich.console import Console

from tokenmill.config import Config
from tokenmill.config.read import FILE_VARIABLE, PREFIX
from tokenmill.demo.broker import embedded_broker
from tokenmill.errors import FatalError
from tokenmill.kafka.topics import all_topics
from tokenmill.servers import RedisServer
from tokenmill.servers.process import Server, answer_of, deaths, free_port, start_all

OURS = ("kafka", "redis")
"""Sections that the children's configuration does not keep."""

LOOPBACK = "127.0.0.1"

SHOWN = 8
"""Models that are named when the addresses are printed."""


class Part(Server):
    """`tokenmill worker`, `gateway` or `front`, with the user's configuration."""

    start_s = 60.0  # as `OurProcess` has it

    def __init__(self, folder: Path, section: str, port: int, environ: Mapping[str, str]) -> None:
        """Take the command, whose `section` has its ports; a `port` of 0 stands for a free one."""
        super().__init__(folder)
        self.name = f"the {section}"
        self.port = port
        self.ops_port = 0
        self._section = section
        self._environ = environ

    def command(self) -> Sequence[str]:
        """Return the command, which is configured by the environment alone."""
        self.ops_port = self.port if self._section == "worker" else free_port()
        return [sys.executable, "-m", "tokenmill", self._section]

    def surroundings(self) -> dict[str, Any]:
        """Return the user's folder, so that files are where the configuration names them."""
        ports = {"port": self.port}
        if self._section != "worker":
            ports |= {"ops_port": self.ops_port}
        bind = "bind" if self._section == "worker" else "ops_bind"
        values = {bind: LOOPBACK, **ports}
        environ = {**self._environ, **{variable(self._section, key): str(value) for key, value in values.items()}}
        return {"env": environ, "process_group": 0}

    def ready(self) -> bool:
        """Whether its own `/readyz` reports it ready."""
        return answer_of(f"http://{LOOPBACK}:{self.ops_port}/readyz") is not None


class Embedded(msgspec.Struct, frozen=True):
    """The running parts and their addresses."""

    bootstrap: str
    redis: RedisServer
    worker: Part
    gateway: Part
    front: Part
    scheme: str

    @property
    def servers(self) -> tuple[Server, ...]:
        """Return all processes that were started."""
        return self.front, self.gateway, self.worker, self.redis

    @property
    def front_url(self) -> str:
        """Return the address for clients of the APIs, without a trailing slash."""
        return f"{self.scheme}://{LOOPBACK}:{self.front.port}"

    @property
    def gateway_url(self) -> str:
        """Return the address for clients of the gateway."""
        return f"{self.scheme}://{LOOPBACK}:{self.gateway.port}"


def run_embedded(config: Config, path: Path | None, console: Console) -> int:
    """Start all parts, print the addresses, and stay until Ctrl-C or SIGTERM: return 0.

    `path` is the file that `config` was read from. Raises `MissingServer` if something does not start, `FatalError` if
    something ends.
    """
    with suppress(KeyboardInterrupt), embedded(config, path, console, os.environ) as running:
        console.print("Ctrl-C ends it, and all that it holds.")
        stay(running.servers)
    return 0


@contextmanager
def embedded(config: Config, path: Path | None, console: Console, variables: Mapping[str, str]) -> Iterator[Embedded]:
    """Run all parts, ready, for the length of the block. `variables` are those of the environment."""
    with tempfile.TemporaryDirectory(prefix="tokenmill-front-") as scratch, hang_up(), ExitStack() as running:
        folder = Path(scratch)
        bootstrap = running.enter_context(embedded_broker(all_topics(config)))
        redis = running.enter_context(_Redis(folder / "redis"))
        given = path or (Path(variables[FILE_VARIABLE]) if variables.get(FILE_VARIABLE) else None)
        environ = _environment(config, variables, _file(given, folder), {"kafka": bootstrap, "redis": redis.url})
        worker = Part(folder / "worker", "worker", 0, environ)
        gateway = Part(folder / "gateway", "gateway", config.gateway.port, environ)
        front = Part(folder / "front", "front", config.front.port, environ)
        scheme = "https" if config.gateway.tls_certfile else "http"
        parts = Embedded(bootstrap, redis, worker, gateway, front, scheme)
        with console.status("starting front, worker and gateway"):
            start_all(running, (worker, gateway, front))
        _say_where(console, parts, config)
        yield parts


def stay(servers: Sequence[Server]) -> None:
    """Wait for Ctrl-C, which raises, or until a server ends: `FatalError`."""
    ended = threading.Event()
    for server in servers:
        process = server.process

        def watch(process: Any = process) -> None:
            process.wait()
            ended.set()

        threading.Thread(target=watch, daemon=True).start()
    ended.wait()
    raise FatalError(deaths(servers))


class _Redis(RedisServer):
    """Redis in its own process group."""

    def surroundings(self) -> dict[str, Any]:
        return {**super().surroundings(), "process_group": 0}


@contextmanager
def hang_up() -> Iterator[None]:
    """Treat the end of the terminal as Ctrl-C: the signal does not reach the others."""
    before = signal.getsignal(signal.SIGHUP)
    if before is signal.SIG_DFL:  # otherwise the user wants it to continue, as with `nohup`
        signal.signal(signal.SIGHUP, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def variable(section: str, key: str) -> str:
    """Return the name of a setting's environment variable."""
    return f"{PREFIX}{section}__{key}".upper()


def _file(given: Path | None, folder: Path) -> Path:
    """Write the user's file without the sections that are ours."""
    values = tomllib.loads(given.read_text(encoding="utf-8-sig")) if given else {}
    theirs = {name: value for name, value in values.items() if name not in OURS}
    file = folder / "tokenmill.toml"
    file.write_text(tomli_w.dumps(theirs), encoding="utf-8")
    return file


def _environment(
    config: Config, variables: Mapping[str, str], file: Path, servers: Mapping[str, str]
) -> dict[str, str]:
    """Return the variables of the processes: the user's, except for those that are ours."""
    prefixes = tuple(f"{PREFIX}{section}__".upper() for section in OURS)
    own = {name: value for name, value in variables.items() if not name.upper().startswith(prefixes)}
    values = {
        ("kafka", "bootstrap_servers"): servers["kafka"],
        ("redis", "url"): servers["redis"],
        ("worker", "delivery"): "at-least-once",  # the embedded broker has no offsets in transactions
        ("caller", "drain_s"): str(min(1.0, config.caller.drain_s)),
    }
    return {**own, FILE_VARIABLE: str(file), **{variable(*key): value for key, value in values.items()}}


def _say_where(console: Console, parts: Embedded, config: Config) -> None:
    models = [name for upstream in config.upstreams for name in upstream.models]
    more = f" and {len(models) - SHOWN} more" if len(models) > SHOWN else ""
    rows = {
        "broker": f"{parts.bootstrap}, embedded",
        "redis": parts.redis.url,
        "worker": f"http://{LOOPBACK}:{parts.worker.port}/metrics",
        "gateway": f"{parts.gateway_url}, http://{LOOPBACK}:{parts.gateway.ops_port}/metrics",
        "front": f"{parts.front_url}/v1, http://{LOOPBACK}:{parts.front.ops_port}/metrics",
        "models": ", ".join(models[:SHOWN]) + more if models else "none: the configuration has no [[upstreams]]",
        "logs": f"{parts.front.folder.parent}/*/server.log",
    }
    for name, value in rows.items():
        console.print(f"  {name:<8} {value}", soft_wrap=True)
