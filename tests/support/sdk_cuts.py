"""A proxy in front of the front that breaks a connection off when its answer begins: the worst time for a retry."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import cast

READ = 65_536


class CuttingProxy(ThreadingTCPServer):
    """Forwards to a port. The first connections are cut when the first bytes of an answer have come."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port: int, cuts: int, shown: int) -> None:
        """`shown`: how many bytes of such an answer the client still gets."""
        super().__init__(("127.0.0.1", 0), _Forwarding)
        self.target = port
        self.shown = shown
        self.requests = 0
        """How many the client has sent."""
        self._cuts = cuts
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def cut(self) -> bool:
        """Whether this answer is one to be cut."""
        with self._lock:
            self.requests += 1
            return self.requests <= self._cuts


class _Forwarding(BaseRequestHandler):
    """One connection."""

    def handle(self) -> None:
        proxy, client = cast("CuttingProxy", self.server), cast("socket.socket", self.request)
        with suppress(OSError), socket.create_connection(("127.0.0.1", proxy.target)) as front:
            asking = threading.Thread(target=_forward, args=(client, front), daemon=True)
            asking.start()
            begun = front.recv(READ)
            if proxy.cut():
                client.sendall(begun[: proxy.shown])
                client.shutdown(socket.SHUT_RDWR)
                return
            while begun:
                client.sendall(begun)
                begun = front.recv(READ)


def _forward(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(READ):
            target.sendall(data)


@contextmanager
def cutting(port: int, cuts: int = 1, shown: int = 0) -> Iterator[CuttingProxy]:
    """The proxy."""
    with CuttingProxy(port, cuts, shown) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()
