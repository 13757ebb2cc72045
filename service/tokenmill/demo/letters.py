"""The demo's tool server: it counts letters, which models are bad at. Run as `python -m tokenmill.demo.letters`."""

from mcp.server import MCPServer
from mcp.types import ToolAnnotations

SERVER = MCPServer("letters", log_level="WARNING")


@SERVER.tool(annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True))
def count(word: str, letter: str) -> int:
    """Return how often a word has a letter."""
    return word.lower().count(letter.lower())


if __name__ == "__main__":
    SERVER.run("stdio")
