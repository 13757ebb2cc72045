"""The settings of tools."""

from tokenmill.config.base import Positive, Section


class Tools(Section, frozen=True, kw_only=True):
    """Calls of models, run through the Model Context Protocol: `tokenmill tools`."""

    servers_file: str = ""
    """A JSON file with `mcpServers`, in the shape that clients of the protocol share. `${NAME}` in it stands for a
    variable of the environment."""
    connect_s: Positive = 30
    """How long a server may take to start, and to say which tools it has."""
    call_s: Positive = 60
    """How long a call may take. The server is told when that is over."""
