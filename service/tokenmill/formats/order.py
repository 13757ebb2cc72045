"""Several formats at once, in which order: where two begin a call alike, the first of the list reads what follows.

What the first can't read is broken, though a later one would have read it whole: by then it has been told as broken.
"""

from collections.abc import Sequence

import msgspec

from tokenmill.events import Error, ToolCall
from tokenmill.formats import compile_grammar
from tokenmill.parser import Options, Parser


def read_by(options: Options, text: str) -> str | None:
    """The format of those in the list that alone reads more whole calls of an answer than all in their order do."""
    if isinstance(options.format, str):
        return None
    most = calls_in(options, text)
    alone = ((len(calls_in(only(options, name), text)), name) for name in options.format)
    count, name = max(alone, key=lambda found: found[0])
    return name if count > len(most) else None


def only(options: Options, *names: str) -> Options:
    """The same options with these formats."""
    return msgspec.structs.replace(options, format=list(names))


def calls_in(options: Options, text: str) -> list[ToolCall]:
    """The whole calls of an answer."""
    return [event for event in _events(options, text) if isinstance(event, ToolCall) and not event.problem]


def breaks(options: Options, text: str) -> bool:
    """Whether a call of an answer is told as broken."""
    return any(isinstance(event, Error) and event.code == "malformed-call" for event in _events(options, text))


def _events(options: Options, text: str) -> Sequence[object]:
    parser = Parser.of(compile_grammar(options), "order")
    return [*parser.feed(text), *parser.finish()]
