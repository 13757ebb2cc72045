"""The mode in front of reasoning in which the stream begins: the label behind the opening that the prompt ends with."""

from collections.abc import Sequence

from tokenmill.events import AnyEvent
from tokenmill.parser.markers import Marker, Scanner
from tokenmill.parser.rules import Rules
from tokenmill.parser.run import Run
from tokenmill.parser.state import State


class LabelMode:
    """At the first character of a region: a label, which is swallowed, or the region's text."""

    def __init__(self, label: Sequence[Marker], region: int) -> None:
        self._scanner = Scanner([(marker, True) for marker in label])
        self._region = region

    def quick(self, rules: Rules, state: State, text: str) -> list[AnyEvent] | None:  # noqa: ARG002 -- other modes ask it
        return None

    def step(self, run: Run, buffer: str, position: int) -> int:
        hit = self._scanner.at(buffer, position, final=run.final)
        if hit is not None and hit.value is None:
            run.state.held = buffer[position:]
            return len(buffer)
        run.state.mode = self._region
        if hit is None:
            return position
        run.note("marker", buffer[position : hit.end])
        return hit.end

    def end(self, run: Run) -> None:
        pass
