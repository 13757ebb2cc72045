"""The messages that a body has begun and not ended: they have to be ended for it if it breaks off."""

from collections import OrderedDict
from collections.abc import Iterator
from typing import TypeAlias

from tokenmill.codecs import Chunk
from tokenmill.partition.identity import choice_index, opens

ChoiceOf: TypeAlias = tuple[str | None, int]
"""Message id, None for the unnamed one, and choice."""

REMEMBERED = 1_000
"""Choices of messages that are remembered: a body is one answer, and that has 128 choices at most."""


class OpenChoices:
    """The choices that chunks of one body opened, and have not ended yet."""

    def __init__(self) -> None:
        self._open: OrderedDict[ChoiceOf, bool] = OrderedDict()
        self._seen: OrderedDict[str | None, None] = OrderedDict()
        self.message_id: str | None = None
        """The first id that a chunk has."""
        self.began = False
        """Whether any chunk may have opened a message."""

    def note(self, chunk: Chunk) -> bool:
        """Remember a chunk; return whether it may open a message that this body has not named before."""
        message_id = chunk.message_id or None
        self.message_id = self.message_id or message_id
        place = message_id, choice_index(chunk)
        new = message_id not in self._seen and opens(chunk)
        if chunk.control is not None and not isinstance(chunk.choice, int):
            for other in [known for known in self._open if known[0] == message_id]:
                del self._open[other]
        elif chunk.end is True or chunk.control is not None:
            self._open.pop(place, None)
        elif place in self._open or opens(chunk):
            self._open[place] = chunk.seq is not None
            self._forget(self._open)
        if new:
            self.began = True
            self._seen[message_id] = None
            self._forget(self._seen)
        return new

    def __iter__(self) -> Iterator[ChoiceOf]:
        """Yield the choices that no writer can continue: one that numbers its chunks can, after the last accepted."""
        return (place for place, numbered in self._open.items() if not numbered)

    @staticmethod
    def _forget(known: "OrderedDict[ChoiceOf, bool] | OrderedDict[str | None, None]") -> None:
        while len(known) > REMEMBERED:
            known.popitem(last=False)
