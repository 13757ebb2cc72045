"""How a connection ends that is reset: at once, what was not sent is lost, and the other end hears of an error."""

import socket
import struct

AT_ONCE = struct.pack("ii", 1, 0)
"""For `SO_LINGER`: on, for no time."""


def reset_when_closed(connection: socket.socket) -> None:
    """Closing it will be a reset, and no orderly end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
