"""The state diagram of a format in Mermaid."""

from tokenmill.inspector import diagram as drawn
from tokenmill.parser.spec import Format

_PLAIN = frozenset(" _./=-|…")
"""Characters without a meaning in Mermaid; the others are written as entities."""


def diagram(format_: Format) -> str:
    """Return the source of the diagram: states first, then the transitions."""
    found = drawn.diagram(format_)
    states = [f'    state "{_titled(state)}" as {state.name}' for state in found.states]
    moves = [
        f"    {move.origin} --> {move.to}{' : ' if move.labels else ''}{' or '.join(map(escaped, move.labels))}"
        for move in found.moves
    ]
    return "\n".join(["stateDiagram-v2", *states, f"    [*] --> {found.start}", *moves])


def _titled(state: drawn.State) -> str:
    """Return what a state is, with the name that `parse --step` and the inspector give it."""
    return state.title if state.name == drawn.TEXT else f"{state.title} ({state.name})"


def escaped(text: str) -> str:
    """Return text without characters that have a meaning in Mermaid."""
    return "".join(sign if sign.isalnum() or sign in _PLAIN else f"#{ord(sign)};" for sign in text)
