"""The order of several formats at once: where two begin a call alike, the first in the list reads what follows.

A call that the first can't read is broken, though a later format could read it: by then it was sent as broken.
"""

import msgspec

from tokenmill.events import ToolCall
from tokenmill.formats import compile_grammar
from tokenmill.parser import MessageParser, Options


def better_read_by(options: Options, text: str) -> str | None:
    """Return the one of several formats that alone reads more calls of an answer than all of them in order; mostly
    None.
    """
    if isinstance(options.format, str):
        return None
    together = calls_in(options, text)
    alone = {name: calls_in(msgspec.structs.replace(options, format=name), text) for name in options.format}
    best = max(alone, key=lambda name: alone[name])
    return best if alone[best] > together else None


def calls_in(options: Options, text: str) -> int:
    """Return how many calls of an answer are complete."""
    parser = MessageParser.of(compile_grammar(options), "order")
    events = [*parser.feed(text), *parser.finish()]
    return sum(isinstance(event, ToolCall) and not event.problem for event in events)
